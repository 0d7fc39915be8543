"""From the store to what a validation found: scores of every model, effects, learnable %, curves, the verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from budgetplan.records import ModelIdentity
from budgetplan.steps.evaluate import TestSet, run_of
from budgetplan.steps.validated import (
    ArmResult,
    BaseResult,
    Comparison,
    CurvePoint,
    FitPoint,
    LearnableFit,
    ValidationReport,
)
from budgetplan.steps.validation_setup import Setup, trained_identity, training_id
from budgetplan.store.connection import Store
from budgetplan.store.validations import (
    TrainingRow,
    all_gains,
    find_training,
    item_scores,
    measured_steps,
    save_verdict,
    training_groups,
)
from budgetplan.validation.effects import difference, gain
from budgetplan.validation.fit import r_squared
from budgetplan.validation.learnable import Learnable, Predicted, observed, predicted
from budgetplan.validation.pass_at_k import pass_at_k
from budgetplan.validation.scores import Scores
from budgetplan.validation.verdict import Drift, Verdict, verdict

HORIZON_LOG_ODDS = 1.0
"""How much easier items are taken to become over a training, for the prediction over a horizon."""
APART = 1_000_000
"""Added to the steps of each training, so that the updates of several are told apart."""


@dataclass(frozen=True, slots=True, eq=False)
class _Measured:
    """One model on one test: per item the share of correct samples (nan: none counted), over all of them the rest."""

    share: NDArray[np.float64]
    n: NDArray[np.int64]
    n_correct: NDArray[np.int64]
    truncated_share: float
    mean_tokens: float


@dataclass(frozen=True, slots=True, eq=False)
class _Training:
    """A finished training: the step and the scores of every measured checkpoint, in order."""

    row: TrainingRow
    seed: int
    steps: list[int]
    scores: list[_Measured]
    ood: _Measured | None


def report_of(store: Store, setup: Setup) -> ValidationReport:
    """Read what is finished and compute the rest; keeps gains and verdict in the store."""
    names = [arm.name for arm in setup.arms.arms]
    with store.reading():  # once, for all that is read inside
        base = _measured(store, setup.model.identity, setup.test)
        base_ood = _measured(store, setup.model.identity, setup.ood) if setup.ood else None
        trainings = {name: _trainings(store, setup, name) for name in names}
    trainings = {name: some for name, some in trainings.items() if some}
    final = Scores(base.share, {name: _final(some) for name, some in trainings.items()}, setup.test.n_samples)
    found = _verdict(setup, final, trainings, base)
    with store.writing() as connection:
        save_verdict(connection, setup.validation_id, _kept(final, trainings, found))
    curves = _curves(trainings)
    with store.reading() as connection:
        arms = tuple(
            _arm_result(connection, setup, name, some, final, curves[name]) for name, some in trainings.items()
        )
        fit = _fit(connection)
    return ValidationReport(
        validation_id=setup.validation_id,
        model=setup.run.model,
        recipe=setup.recipe.name,
        steps=setup.recipe.steps,
        seeds=setup.seeds,
        n_test=len(setup.test.item_ids),
        n_samples=setup.test.n_samples,
        greedy=setup.choices.greedy,
        k_of_pass=setup.choices.k_of_pass,
        base=BaseResult(_percent(base.share), base.truncated_share, base.mean_tokens, _pass(base_ood, setup)),
        arms=arms,
        impossible=setup.arms.impossible,
        comparisons=_comparisons(setup.control, final),
        fit=fit,
        verdict=found,
        said=setup.said,
        pictures=(),
    )


def _measured(store: Store, identity: ModelIdentity, test: TestSet) -> _Measured:
    run = run_of(store, identity, test)
    with store.reading() as connection:
        table = item_scores(connection, run.run_id, run.verdicts_by, test.item_ids, test.n_samples)
    n = table["n"].to_numpy()
    tokens = table["mean_tokens"].fill_null(np.nan).to_numpy()
    return _Measured(
        share=table["share"].fill_null(np.nan).to_numpy(),
        n=n,
        n_correct=table["n_correct"].to_numpy(),
        truncated_share=float(table["n_truncated"].to_numpy().sum() / max(n.sum(), 1)),
        mean_tokens=float(np.nanmean(tokens)) if np.isfinite(tokens).any() else float("nan"),
    )


def _trainings(store: Store, setup: Setup, arm: str) -> list[_Training]:
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
        found.append(_Training(row, seed, list(seen), list(seen.values()), ood))
    return found


def _final(trainings: Sequence[_Training]) -> NDArray[np.float64]:
    return np.stack([training.scores[-1].share for training in trainings])


def _arm_result(
    connection: duckdb.DuckDBPyConnection,
    setup: Setup,
    arm: str,
    trainings: Sequence[_Training],
    final: Scores,
    curve: tuple[CurvePoint, ...],
) -> ArmResult:
    last = [training.scores[-1] for training in trainings]
    ood = [_pass(training.ood, setup) for training in trainings if training.ood is not None]
    return ArmResult(
        arm=arm,
        n_items=len(setup.items[arm]),
        n_seeds=len(trainings),
        percent=_percent(final.trained[arm]),
        gain=gain(final, arm),
        gain_by_seed=tuple(_percent(scores.share - final.base) for scores in last),
        predicted_start=predicted_learnable(setup, arm, 0.0),
        predicted_horizon=predicted_learnable(setup, arm, HORIZON_LOG_ODDS),
        learnable=_learnable(connection, [training.row.training_id for training in trainings]),
        curve=curve,
        truncated_share=float(np.mean([scores.truncated_share for scores in last])),
        mean_tokens=float(np.mean([scores.mean_tokens for scores in last])),
        pass_at_k=float(np.mean([share for share in ood if share is not None])) if ood else None,
        stopped={training.seed: training.row.stopped for training in trainings if training.row.stopped},
        training_hours=sum(training.row.seconds for training in trainings) / 3600,
    )


def predicted_learnable(setup: Setup, arm: str, horizon: float) -> Predicted | None:
    """What an arm's posteriors say of its groups, over all seeds; None where no item was sampled."""
    a, b = setup.posteriors[arm]
    n_groups = setup.recipe.steps * setup.recipe.prompts_per_update * len(setup.seeds)
    return predicted(a, b, setup.recipe.group_size, n_groups, horizon=horizon) if len(a) else None


def _learnable(connection: duckdb.DuckDBPyConnection, training_ids: Sequence[str]) -> Learnable | None:
    """Learnable % over the groups of all trainings of an arm."""
    groups = training_groups(connection, training_ids)
    if not groups.num_rows:
        return None
    number = pc.index_in(groups["training_id"], value_set=pa.array(list(training_ids), pa.string()))
    steps = pc.add(groups["step"].cast(pa.int64()), pc.multiply(number.cast(pa.int64()), APART))
    return observed(groups.set_column(groups.schema.get_field_index("step"), "step", steps))


def _curves(trainings: Mapping[str, Sequence[_Training]]) -> dict[str, tuple[CurvePoint, ...]]:
    """Each arm's accuracy by step; bands know items and seeds, as the gains do."""
    curves: dict[str, list[CurvePoint]] = {name: [] for name in trainings}
    for step in sorted({step for some in trainings.values() for training in some for step in training.steps}):
        at_step = {name: _at(some, step) for name, some in trainings.items()}
        at_step = {name: shares for name, shares in at_step.items() if len(shares)}
        levels = Scores(np.zeros(next(iter(at_step.values())).shape[1]), at_step, 1)
        for name in at_step:
            level = gain(levels, name)
            curves[name].append(CurvePoint(step, level.points, level.low, level.high))
    return {name: tuple(points) for name, points in curves.items()}


def _at(trainings: Sequence[_Training], step: int) -> NDArray[np.float64]:
    """Scores after a step, one row per training; a training that ended before keeps its last ones."""
    rows = []
    for training in trainings:
        before = [place for place, own in enumerate(training.steps) if own <= step]
        if step in training.steps or (training.row.stopped and before):
            rows.append(training.scores[before[-1]].share)
    return np.stack(rows) if rows else np.zeros((0, 0))


def _verdict(
    setup: Setup, final: Scores, trainings: Mapping[str, Sequence[_Training]], base: _Measured
) -> Verdict | None:
    """The first arm against the control; None where either is missing."""
    first = setup.arms.arms[0].name
    if setup.control is None or setup.control == first or not {first, setup.control} <= trainings.keys():
        return None
    drift = {
        name: Drift(
            truncation_before=base.truncated_share,
            truncation_after=float(np.mean([training.scores[-1].truncated_share for training in some])),
            tokens_before=base.mean_tokens,
            tokens_after=float(np.mean([training.scores[-1].mean_tokens for training in some])),
        )
        for name, some in trainings.items()
    }
    smaller = min(len(setup.items[first]), len(setup.items[setup.control]))
    return verdict(final, first, setup.control, arm_items=smaller, drift=drift)


def _comparisons(control: str | None, final: Scores) -> tuple[Comparison, ...]:
    if control is None or control not in final.trained:
        return ()
    return tuple(Comparison(arm, control, difference(final, arm, control)) for arm in final.trained if arm != control)


def _kept(final: Scores, trainings: Mapping[str, Sequence[_Training]], found: Verdict | None) -> dict[str, object]:
    return {
        "claim": found.claim if found else None,
        "sentence": found.sentence if found else None,
        "gains": [
            {
                "training_id": training.row.training_id,
                "arm": arm,
                "points": _percent(training.scores[-1].share - final.base),
            }
            for arm, some in trainings.items()
            for training in some
        ],
    }


def _fit(connection: duckdb.DuckDBPyConnection) -> LearnableFit | None:
    """Learnable % against gain, over every finished training of the store; None under three."""
    points = [
        FitPoint(one.model, one.arm, seen.groups, one.points)
        for one in all_gains(connection)
        if (seen := _learnable(connection, [one.training_id])) is not None
    ]
    if len(points) < 3:
        return None
    learnable, gains = [point.learnable for point in points], [point.gain for point in points]
    rises = bool(np.cov(learnable, gains)[0, 1] >= 0)
    return LearnableFit(r_squared(learnable, gains), len(points), tuple(points), rises)


def _pass(measured: _Measured | None, setup: Setup) -> float | None:
    """pass@k over the items of which enough samples counted, in percent."""
    if measured is None:
        return None
    return _percent(pass_at_k(measured.n, measured.n_correct, setup.choices.k_of_pass))


def _percent(shares: NDArray[np.float64]) -> float:
    return 100.0 * float(np.nanmean(shares)) if np.isfinite(shares).any() else float("nan")
