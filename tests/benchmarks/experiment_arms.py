"""Which arm gains most on the embedded example, in two pools: all six policies, five seeds each.

    python tests/benchmarks/experiment_arms.py --pool reach
    python tests/benchmarks/experiment_arms.py --pool beyond --seeds 5 --out tests/benchmarks/results

`reach`: 1,000 items of one to three moves, all of them moves that the base model has seen. `beyond`: the same, but a
quarter of the items has six moves, more than it was ever trained on. Every arm trains all weights on 100 items for 60
updates of 16 prompts x 8 samples and is measured on 400 items x 4 samples. Takes about an hour a pool on one core; with
--folder a killed run goes on where it stopped. It demonstrates and does not decide: one small model, one made task.
"""

import argparse
import json
import os
import platform
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from budgetplan import Project
from budgetplan.demo.files import demo_settings
from budgetplan.demo.task import LETTERS, MOVES, STATE_SIZE, Exercise, Split, make_pool
from budgetplan.steps.validated import ArmResult, ValidationReport

ARMS = ("hard", "easy", "middle", "learnable", "base-wrong", "random")
CONTROL = "random"
BEYOND_SHARE = 4
"""One item in so many is beyond reach."""
BEYOND_MOVES = 6
RECIPE = {"steps": 60, "learning_rate": 2e-4, "beta": 0.05, "prompts_per_update": 16, "evaluate_every": 30}


def rows_of(pool: str, n: int, split: Split, seed: int) -> list[dict[str, Any]]:
    """Draw items with different prompts, of one split."""
    n_beyond = n // BEYOND_SHARE if pool == "beyond" else 0
    rows = [dict(row) for row in make_pool(n - n_beyond, seed, split)]
    return rows + _beyond_reach(n_beyond, split, seed)


def _beyond_reach(n: int, split: Split, seed: int) -> list[dict[str, Any]]:
    drawn = random.Random(seed)
    rows: dict[str, dict[str, Any]] = {}
    while len(rows) < n:
        exercise = Exercise(
            "".join(drawn.sample(LETTERS, STATE_SIZE)), tuple(drawn.choices(list(MOVES), k=BEYOND_MOVES))
        )
        if exercise.split == split:
            rows[exercise.prompt] = {
                "id": f"beyond-{len(rows)}",
                "prompt": exercise.prompt,
                "answer": exercise.answer,
                "n_moves": BEYOND_MOVES,
            }
    return list(rows.values())


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def run(
    pool: str, arms: Sequence[str], n_seeds: int, recipe: dict[str, Any], n_pool: int, n_test: int, folder: Path
) -> ValidationReport:
    """Probe the pool and validate the policies on it; a folder that holds a part of it is gone on with."""
    project = Project(db=folder / "store.duckdb", **demo_settings())
    project.probe(write(folder / "pool.jsonl", rows_of(pool, n_pool, "train", 0)))
    test = write(folder / "test.jsonl", rows_of(pool, n_test, "test", 1))
    return project.validate(
        arms=tuple(arms),
        control=CONTROL,
        budget="10%",
        n_seeds=n_seeds,
        changes=recipe,
        lora=False,
        test=str(test),
        out=folder / "pictures",
    )


def document_of(report: ValidationReport, pool: str, recipe: dict[str, Any], seconds: float) -> dict[str, Any]:
    """What came out, in points and percent."""
    assert report.verdict is not None
    return {
        "pool": pool,
        "machine": {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count(), "gpu": None},
        "recipe": report.recipe,
        "changes": recipe,
        "n_test": report.n_test,
        "seeds": len(report.seeds),
        "base": round(report.base.percent, 2),
        "arms": {arm.arm: _arm(arm) for arm in report.arms},
        "against random": {
            made.arm: [round(made.effect.points, 2), round(made.effect.low, 2), round(made.effect.high, 2)]
            for made in report.comparisons
        },
        "r_squared": round(report.fit.r_squared, 3) if report.fit else None,
        "verdict": report.verdict.sentence,
        "seconds": round(seconds),
    }


def _arm(arm: ArmResult) -> dict[str, Any]:
    assert arm.learnable is not None
    assert arm.predicted_start is not None
    assert arm.predicted_horizon is not None
    return {
        "gain": [round(number, 2) for number in (arm.gain.points, arm.gain.low, arm.gain.high)],
        "by seed": [round(points, 2) for points in arm.gain_by_seed],
        "learnable predicted at the start": round(arm.predicted_start.percent, 1),
        "learnable predicted over the horizon": round(arm.predicted_horizon.percent, 1),
        "learnable observed": round(arm.learnable.groups, 1),
        "updates with a learnable group": round(arm.learnable.updates, 1),
        "curve": [[point.step, round(point.percent, 2)] for point in arm.curve],
    }


def _arms(text: str) -> tuple[str, ...]:
    arms = tuple(text.split(","))
    if unknown := sorted({*arms} - {*ARMS}):
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {','.join(ARMS)}")
    if CONTROL not in arms[1:]:
        raise argparse.ArgumentTypeError(f"{CONTROL} has to be among them, and not the first")
    return arms


def main() -> None:
    """Run one pool and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pool", choices=("reach", "beyond"), default="reach")
    parser.add_argument("--arms", type=_arms, default=ARMS, help=f"of {','.join(ARMS)}, and {CONTROL} among them")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=RECIPE["steps"])
    parser.add_argument("--items", type=int, default=1000, help="items of the pool")
    parser.add_argument("--test-items", type=int, default=400)
    parser.add_argument("--folder", type=Path, help="keep the store and the trainings here [default: thrown away]")
    parser.add_argument("--out", type=Path, help="also write it into this folder")
    arguments = parser.parse_args()
    recipe = RECIPE | {"steps": arguments.steps, "evaluate_every": min(RECIPE["evaluate_every"], arguments.steps)}
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as thrown_away:
        folder = arguments.folder or Path(thrown_away)
        folder.mkdir(parents=True, exist_ok=True)
        report = run(
            arguments.pool, arguments.arms, arguments.seeds, recipe, arguments.items, arguments.test_items, folder
        )
    document = document_of(report, arguments.pool, recipe, time.monotonic() - started)
    text = json.dumps(document, indent=1)
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / f"arms-{arguments.pool}.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
