"""The tables of "Hard Examples Are All You Need" (Pikus, Tiwari and Ye, 2025), from the 48 runs behind them.

    python examples/paper_tables.py final_runs_48.csv

The file is the one of github.com/Pikus16/grpo_difficulty. **Best** and _second best_ of a row are marked. A cell of the
paper's Table 1 is the gain over the base as measured beside that run, and these bases differ between the arms of one
model by up to five points; the last table therefore puts all arms of a model over one base.
"""

import argparse
import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean

import numpy as np

from budgetplan.validation.effects import gain
from budgetplan.validation.fit import r_squared
from budgetplan.validation.places import places
from budgetplan.validation.scores import Scores

STRATEGIES = ("easiest", "middle", "hardest", "random")
TASKS = {"gsm8k": "GSM8K", "shuffleobj": "Shuffled objects"}
MODELS = ("Qwen3-4B", "Qwen3-14B", "phi-4")
WEAKER_MODEL = "Llama-3.1-8B-Instruct"
Run = Mapping[str, str]


def gain_points(run: Run, base: float) -> float:
    """Tell the gain in points; the file has no items, so each stands for the mean of all."""
    n_items = int(run["n_test"])
    after = {run["strategy"]: np.full((1, n_items), float(run["final_acc"]))}
    return gain(Scores(np.full(n_items, base), after, n_samples=1), run["strategy"]).points


def gain_in_paper(run: Run) -> float:
    """Tell the gain over the base measured beside the run."""
    return gain_points(run, float(run["base_used"]))


def common_base(runs: Sequence[Run]) -> float:
    """Take the authors' own common base of a model and task, or where they give none the mean of the bases used."""
    given = {float(run["base_common"]) for run in runs if run["base_common"]}
    return given.pop() if len(given) == 1 else mean(float(run["base_used"]) for run in runs)


def bases_used(runs: Sequence[Run]) -> str:
    """List the bases that the arms of one model were measured over."""
    return ", ".join(sorted({f"{float(run['base_used']):.4f}" for run in runs}))


def learnable(run: Run) -> float:
    """Tell the learnable % of a run."""
    return float(run["learnable_pct"])


def marked(values: Sequence[float]) -> list[str]:
    """Print to two decimals, the best in asterisks and the second best in underscores."""
    signs = {1: "**", 2: "_"}
    return [
        f"{signs.get(place, '')}{value:.2f}{signs.get(place, '')}"
        for value, place in zip(values, places(values, decimals=2), strict=True)
    ]


def tables(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the paper's Tables 1 to 3, what it says of Figure 3, and Table 1 over one base."""
    cells: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: STRATEGIES.index(run["strategy"])):
        cells[run["dataset"], run["model"]].append(run)
    main = {(task, model): cells[task, model] for task in TASKS for model in MODELS}
    yield "Table 1: gain in points over the base measured beside each run"
    yield from _table({key: [gain_in_paper(run) for run in cell] for key, cell in main.items()})
    yield "Table 2: learnable %"
    yield from _table({key: [learnable(run) for run in cell] for key, cell in main.items()})
    yield f"Table 3: {WEAKER_MODEL} on GSM8K"
    yield from _table_3(cells["gsm8k", WEAKER_MODEL])
    yield "Figure 3: learnable % against gain"
    yield _fit([run for cell in main.values() for run in cell])
    yield _fit(runs) + "\n"
    yield "Table 1 over one base for all arms of a model"
    over_one_base = {key: [gain_points(run, common_base(cell)) for run in cell] for key, cell in main.items()}
    yield from _table(over_one_base, {key: bases_used(cell) for key, cell in main.items()})


def _table(
    rows: Mapping[tuple[str, str], Sequence[float]], notes: Mapping[tuple[str, str], str] | None = None
) -> Iterator[str]:
    yield _row("", STRATEGIES) + ("   bases used" if notes else "")
    for (task, model), values in rows.items():
        yield _row(f"{TASKS[task]}, {model}", marked(values)) + (f"   {notes[task, model]}" if notes else "")
    yield ""


def _table_3(runs: Sequence[Run]) -> Iterator[str]:
    yield _row("", ("gain", "learnable %"))
    gains, shares = marked([gain_in_paper(run) for run in runs]), marked([learnable(run) for run in runs])
    for run, *row in zip(runs, gains, shares, strict=True):
        yield _row(run["strategy"], row)
    yield ""


def _row(name: str, values: Sequence[str]) -> str:
    return f"{name:<28}" + "".join(f"{value:>12}" for value in values)


def _fit(runs: Sequence[Run]) -> str:
    fit = r_squared([learnable(run) for run in runs], [gain_in_paper(run) for run in runs])
    return f"R² = {fit:.2f} over {len(runs)} runs"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, metavar="FILE.csv")
    with parser.parse_args().runs.open(encoding="utf-8", newline="") as file:
        runs = list(csv.DictReader(file))
    print("\n".join(tables(runs)))


if __name__ == "__main__":
    main()
