"""How far a ranking without answers can be trusted: the audit slice's labels against predictions made without them."""

from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from budgetplan.difficulty.calibration import SCALED, Calibration
from budgetplan.difficulty.trust import Trust, assess
from budgetplan.steps.estimates import PoolEstimates
from budgetplan.steps.signals import RunSignals
from budgetplan.steps.unanswered import Unanswered
from budgetplan.store.shortlists import audit_items

_OF_ANSWERS = ("agreement", "answer_entropy", "reference_agreement")


@dataclass(frozen=True, slots=True)
class WithoutAnswers:
    """What the ranking of the items without an answer rests on; `trust` is what the audit slice says of it.

    `equality` says how answers were compared, `reference` names the model whose answers took part, `single_pass` says
    that no item has more than one sample to look at, `cannot_tell` what the signals of this pool cannot show.
    """

    equality: str
    reference: str | None
    single_pass: bool
    cannot_tell: tuple[str, ...]
    calibration: Calibration | None
    trust: Trust


def without_answers(connection: duckdb.DuckDBPyConnection, estimates: PoolEstimates) -> WithoutAnswers | None:
    """What the ranking of items without an answer rests on; None where every answer is known."""
    if estimates.unanswered is None:
        return None
    signals, calibrated = estimates.unanswered.signals, estimates.unanswered.calibrated
    return WithoutAnswers(
        equality=signals.equality,
        reference=signals.reference,
        single_pass=signals.single_pass,
        cannot_tell=(*_cannot_tell(estimates.unanswered), *_without_answer(signals)),
        calibration=calibrated.calibration if calibrated else None,
        trust=_trust(connection, estimates, estimates.unanswered),
    )


def _cannot_tell(unanswered: Unanswered) -> tuple[str, ...]:
    """Say which signals are the same for all items, so that they place none before another."""
    features = unanswered.signals.features
    place = unanswered.place[features.sampled]
    if not len(place):  # a single pass whose every sample failed
        return ()
    if len(place) == 1:
        return ("only one item has samples, so there is nothing to rank it against",)
    if not np.ptp(place):
        return (f"the signals are the same for all {len(place):,} items, so only chance orders them",)
    if not unanswered.signals.single_pass and not _differ(features.of(_OF_ANSWERS)[features.sampled]):
        said = f"the samples of an item agree to the same degree on all {len(place):,} items"
        return (f"{said}, so only wording, log-probabilities and the lengths of prompts and texts tell them apart",)
    return ()


def _without_answer(signals: RunSignals) -> tuple[str, ...]:
    """Say when most samples say nothing, so that there is little to agree on."""
    without = pc.mean(pc.add(signals.table["no_answer_rate"], signals.table["truncation_rate"])).as_py() or 0.0
    if without <= 0.5:
        return ()
    return (f"{without:.0%} of the samples have no answer: look at some, at the template, and at --max-tokens",)


def _differ(standardised: NDArray[np.float64]) -> bool:
    """Whether any column has a deviation, which is then 1."""
    return bool(np.abs(standardised).max() > 0.5)


def _trust(connection: duckdb.DuckDBPyConnection, estimates: PoolEstimates, unanswered: Unanswered) -> Trust:
    """Judge the ranking by the audit items that have judged samples.

    An item is placed without its label, also where that label is now known: as long as calibration only rescales the
    cold start, by that, which knows no label (pooling folds with different intercepts would lower the AUROC by .1 and
    more), else by the prediction that did not see it. Without the whole pool in the draw (items were excluded, or taken
    back since), predictions are of other items too, and the pool's mean follows from the audit items alone.
    """
    table, n_items = estimates.table, estimates.table.num_rows
    audit = audit_items(connection, estimates.pool.pool_id).sort_by("item_id")
    rows, weight = pc.index_in(audit["item_id"], table["item_id"]).to_numpy(), 1.0 / audit["inclusion"].to_numpy()
    n_pool = round(weight.sum()) if len(rows) else n_items
    blind = unanswered.blind
    predicted = np.full(n_items, np.nan) if blind is None else blind
    rescaled = unanswered.calibrated and unanswered.calibrated.calibration.model == SCALED
    place = unanswered.place if blind is None or rescaled else blind
    return assess(
        place=place[rows],
        p_mean=predicted[rows],
        n_correct=table["n_correct"].to_numpy()[rows],
        k=table["k"].to_numpy()[rows],
        weight=weight,
        pool_p_mean=predicted if n_pool == n_items else np.full(n_items, np.nan),
        n_pool=n_pool,
    )
