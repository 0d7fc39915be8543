"""What of a validation is finished: trainings with their measured checkpoints, and how each model did on the tests.

Invariant: a training counts only once its last checkpoint, which is measured last, is measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from budgetplan.records import ModelIdentity
from budgetplan.steps.evaluate import TestSet, n_missing, run_of
from budgetplan.steps.validation_setup import Setup, trained_identity, training_id
from budgetplan.store.connection import Store
from budgetplan.store.validations import TrainingRow, find_training, item_scores, measured_steps
from budgetplan.validation.scores import Scores


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """One model on one test: per item the share of correct samples (nan: none counted), over all of them the rest."""

    share: NDArray[np.float64]
    n: NDArray[np.int64]
    n_correct: NDArray[np.int64]
    truncated_share: float
    mean_tokens: float


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """A finished training: the step and the scores of every measured checkpoint, in order."""

    row: TrainingRow
    seed: int
    steps: list[int]
    scores: list[Measured]
    ood: Measured | None


@dataclass(frozen=True, slots=True, eq=False)
class Finished:
    """The base and, per arm that has any, its trainings; `final` holds the scores after their last steps."""

    base: Measured
    base_ood: Measured | None
    trainings: Mapping[str, Sequence[Training]]
    final: Scores


def read_finished(store: Store, setup: Setup) -> Finished:
    """Read everything that was measured; an arm without a finished training is left out."""
    with store.reading():  # once, for all that is read inside
        base = _measured(store, setup.model.identity, setup.test)
        base_ood = _measured(store, setup.model.identity, setup.ood) if setup.ood else None
        found = {arm.name: _trainings(store, setup, arm.name) for arm in setup.arms.arms}
    trainings = {arm: some for arm, some in found.items() if some}
    last = {arm: np.stack([one.scores[-1].share for one in some]) for arm, some in trainings.items()}
    return Finished(base, base_ood, trainings, Scores(base.share, last, setup.test.n_samples))


def is_done(store: Store, setup: Setup, own_id: str) -> bool:
    """Whether a training is stored and its last checkpoint, which is measured last, is measured in full."""
    with store.reading() as connection:
        training = find_training(connection, own_id)
        measured = measured_steps(connection, own_id)
    if training is None or training.last_step not in measured:
        return False
    identity = trained_identity(setup, own_id, training.last_step)
    return not any(n_missing(store, run_of(store, identity, test), test) for test in setup.tests)


def _measured(store: Store, identity: ModelIdentity, test: TestSet) -> Measured:
    run = run_of(store, identity, test)
    with store.reading() as connection:
        table = item_scores(connection, run.run_id, run.verdicts_by, test.item_ids, test.n_samples)
    n = table["n"].to_numpy()
    tokens = table["mean_tokens"].fill_null(np.nan).to_numpy()
    return Measured(
        share=table["share"].fill_null(np.nan).to_numpy(),
        n=n,
        n_correct=table["n_correct"].to_numpy(),
        truncated_share=float(table["n_truncated"].to_numpy().sum() / max(n.sum(), 1)),
        mean_tokens=float(np.nanmean(tokens)) if np.isfinite(tokens).any() else float("nan"),
    )


def _trainings(store: Store, setup: Setup, arm: str) -> list[Training]:
    """The finished trainings of an arm that were measured after their last step."""
    found = []
    for seed in setup.seeds:
        own_id = training_id(setup, arm, seed)
        with store.reading() as connection:
            row, steps = find_training(connection, own_id), measured_steps(connection, own_id)
        if row is None or row.last_step not in steps:
            continue
        measured = {step: _measured(store, trained_identity(setup, own_id, step), setup.test) for step in steps}
        seen = {step: scores for step, scores in measured.items() if np.isfinite(scores.share).any()}
        if row.last_step not in seen:
            continue
        last = trained_identity(setup, own_id, row.last_step)
        ood = _measured(store, last, setup.ood) if setup.ood else None
        found.append(Training(row, seed, list(seen), list(seen.values()), ood))
    return found
