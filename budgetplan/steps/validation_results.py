"""From what is finished to what a validation found: effects, learnable %, curves, the verdict."""

from collections.abc import Mapping, Sequence

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from budgetplan.difficulty.horizon import mixed_group_chance
from budgetplan.steps.validated import (
    ArmResult,
    BaseResult,
    Comparison,
    CurvePoint,
    FitPoint,
    LearnableFit,
    ValidationReport,
)
from budgetplan.steps.validation_finished import Finished, Measured, Training, read_finished
from budgetplan.steps.validation_setup import Setup
from budgetplan.store.connection import Store
from budgetplan.store.validations import all_gains, save_verdict, training_groups
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


def report_of(store: Store, setup: Setup) -> ValidationReport:
    """Read what is finished and compute the rest; keeps gains and verdict in the store."""
    finished = read_finished(store, setup)
    found = _verdict(setup, finished)
    with store.writing() as connection:
        save_verdict(connection, setup.validation_id, _kept(finished, found))
    with store.reading() as connection:
        arms, fit = _arm_results(connection, setup, finished), _fit(connection)
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
        base=_base_result(setup, finished),
        arms=arms,
        impossible=setup.arms.impossible,
        comparisons=_comparisons(setup.control, finished.final),
        fit=fit,
        verdict=found,
        said=setup.said,
        pictures=(),
    )


def _base_result(setup: Setup, finished: Finished) -> BaseResult:
    base = finished.base
    return BaseResult(_percent(base.share), base.truncated_share, base.mean_tokens, _pass(finished.base_ood, setup))


def _arm_results(connection: duckdb.DuckDBPyConnection, setup: Setup, finished: Finished) -> tuple[ArmResult, ...]:
    curves = _curves(finished.trainings)
    return tuple(
        _arm_result(connection, setup, arm, some, finished.final, curves[arm])
        for arm, some in finished.trainings.items()
    )


def _arm_result(
    connection: duckdb.DuckDBPyConnection,
    setup: Setup,
    arm: str,
    trainings: Sequence[Training],
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
    if not len(a):
        return None
    return predicted(a, b, setup.recipe.group_size, n_groups, mixed_group_chance, horizon=horizon)


def _learnable(connection: duckdb.DuckDBPyConnection, training_ids: Sequence[str]) -> Learnable | None:
    """Learnable % over the groups of all trainings of an arm."""
    groups = training_groups(connection, training_ids)
    if not groups.num_rows:
        return None
    number = pc.index_in(groups["training_id"], value_set=pa.array(list(training_ids), pa.string()))
    steps = pc.add(groups["step"].cast(pa.int64()), pc.multiply(number.cast(pa.int64()), APART))
    return observed(groups.set_column(groups.schema.get_field_index("step"), "step", steps))


def _curves(trainings: Mapping[str, Sequence[Training]]) -> dict[str, tuple[CurvePoint, ...]]:
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


def _at(trainings: Sequence[Training], step: int) -> NDArray[np.float64]:
    """Scores after a step, one row per training; a training that ended before keeps its last ones."""
    rows = []
    for training in trainings:
        before = [place for place, own in enumerate(training.steps) if own <= step]
        if step in training.steps or (training.row.stopped and before):
            rows.append(training.scores[before[-1]].share)
    return np.stack(rows) if rows else np.zeros((0, 0))


def _verdict(setup: Setup, finished: Finished) -> Verdict | None:
    """The first arm against the control; None where either is missing."""
    first, base, trainings = setup.arms.arms[0].name, finished.base, finished.trainings
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
    return verdict(finished.final, first, setup.control, arm_items=smaller, drift=drift)


def _comparisons(control: str | None, final: Scores) -> tuple[Comparison, ...]:
    if control is None or control not in final.trained:
        return ()
    return tuple(Comparison(arm, control, difference(final, arm, control)) for arm in final.trained if arm != control)


def _kept(finished: Finished, found: Verdict | None) -> dict[str, object]:
    return {
        "claim": found.claim if found else None,
        "sentence": found.sentence if found else None,
        "gains": [
            {
                "training_id": training.row.training_id,
                "arm": arm,
                "points": _percent(training.scores[-1].share - finished.base.share),
            }
            for arm, some in finished.trainings.items()
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


def _pass(measured: Measured | None, setup: Setup) -> float | None:
    """pass@k over the items of which enough samples counted, in percent."""
    if measured is None:
        return None
    return _percent(pass_at_k(measured.n, measured.n_correct, setup.choices.k_of_pass))


def _percent(shares: NDArray[np.float64]) -> float:
    return 100.0 * float(np.nanmean(shares)) if np.isfinite(shares).any() else float("nan")
