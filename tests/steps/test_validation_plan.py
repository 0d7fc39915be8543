"""The dry run knows what is finished: hours are those of the rest, and the rest is what a real run then does."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted import Answer, ScriptedEngine, scripted, write_pool
from scripted_training import Academy, academy, answering

from budgetplan import Interrupted, Project
from budgetplan.steps.validated import Left
from budgetplan.store.connection import scalar
from budgetplan.validation.checkpoints import CHECKPOINTS, mark_whole
from budgetplan.validation.progress_file import write_finished

__all__ = ["academy", "scripted", "write_pool"]

N_ITEMS = 200
TWO_SEEDS: dict[str, Any] = {
    "arms": ("hard", "random"),
    "n_seeds": 2,
    "changes": {"steps": 4, "evaluate_every": 2, "prompts_per_update": 2},
}


@pytest.fixture
def probed(
    tmp_path: Path,
    write_pool: Callable[..., Path],
    scripted: Callable[[Answer], ScriptedEngine],
    monkeypatch: pytest.MonkeyPatch,
) -> Project:
    """A pool with answers, of which a fifth is held out."""
    monkeypatch.chdir(tmp_path)
    project = Project(
        db=tmp_path / "store.duckdb", model="tiny", engine="transformers", template="none", k=4, verifier="exact"
    )
    scripted(answering(0.5, "rev-tiny"))
    words = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()
    rows = [{"prompt": f"Say {words[i % 10]} {words[i // 10 % 10]} {i}", "answer": str(i)} for i in range(N_ITEMS)]
    project.probe(write_pool(rows))
    return project


def n_samples(project: Project) -> int:
    with project.store.reading() as connection:
        return int(scalar(connection, "SELECT count(*) FROM completion"))


def test_what_is_finished_is_counted_and_costs_nothing(probed: Project, academy: Academy) -> None:
    before = probed.plan_validation(**TWO_SEEDS)
    assert before.left == Left(4, 0, 4 * 4, 1 + 4 * 2, 0, (1 + 4 * 2) * before.n_test * 4)
    academy.trained.clear()  # of the timing
    probed.validate(**TWO_SEEDS)
    done = probed.plan_validation(**TWO_SEEDS, gpu_price="2usd")
    assert done.left == Left(0, 4, 0, 0, 1 + 4 * 2, 0)
    assert (done.training_hours, done.evaluation_hours, done.money) == (0.0, 0.0, "0.00 usd")
    assert math.isnan(done.seconds_per_update)
    assert len(academy.trained) == 4  # nothing was timed
    one_more = probed.plan_validation(**TWO_SEEDS | {"n_seeds": 3})
    assert one_more.left == Left(2, 4, 2 * 4, 2 * 2, 1 + 4 * 2, 2 * 2 * one_more.n_test * 4)
    assert one_more.training_hours == pytest.approx(2 * 4 * 2.0 / 3600)


def test_samples_that_lack_are_those_that_are_then_taken(
    probed: Project, academy: Academy, write_pool: Callable[..., Path]
) -> None:
    probed.validate(**TWO_SEEDS)
    far = write_pool([{"prompt": f"Olympiad {i}", "answer": str(i)} for i in range(15)], "far.jsonl")
    more = TWO_SEEDS | {"n_samples": 6, "ood": str(far), "k_of_pass": 3}
    plan = probed.plan_validation(**more)
    # Of each training the last checkpoint is left; it and the base lack samples of the test, and all of --ood.
    assert plan.left == Left(0, 4, 0, 2 * (1 + 4), 0, (1 + 4) * (plan.n_test * 2 + 15 * 3))
    assert plan.evaluation_hours > 0
    before = n_samples(probed)
    probed.validate(**more)
    assert n_samples(probed) - before == plan.left.n_samples
    assert probed.plan_validation(**more).left.n_samples == 0


def test_a_training_that_was_begun_or_has_ended_early_counts_from_there(probed: Project, academy: Academy) -> None:
    def stop_at_the_third(_: Any) -> None:
        if len(academy.trained) == 2:
            raise KeyboardInterrupt

    academy.before = stop_at_the_third
    with pytest.raises(Interrupted):
        probed.validate(**TWO_SEEDS)
    academy.before = lambda _: None
    plan = probed.plan_validation(**TWO_SEEDS)
    n_each = plan.n_test * 4
    assert plan.left == Left(2, 2, 8, 4, 5, 4 * n_each)
    with probed.store.reading() as connection:
        begun = scalar(connection, "SELECT training_id FROM validation_arm WHERE arm = 'hard' AND seed = 1")
    folder = probed.store.validation_folder / begun
    half_way = folder / CHECKPOINTS / "checkpoint-2"
    half_way.mkdir(parents=True)
    mark_whole(half_way)
    assert probed.plan_validation(**TWO_SEEDS).left == Left(2, 2, 4 + 2, 4, 5, 4 * n_each)
    write_finished(folder, "all rewards were equal")
    assert probed.plan_validation(**TWO_SEEDS).left == Left(1, 3, 4, 2 + 1, 5, 3 * n_each)
