"""How far a label-free ranking can be trusted, from labelled items drawn at random from the pool (the audit slice).

Invariant: only items drawn at random count, never items labelled because they were picked; what cannot be estimated is
None and has a sentence that says why.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from budgetplan.difficulty.auroc import auroc
from budgetplan.difficulty.calibration_error import calibration_error
from budgetplan.difficulty.interval import Interval
from budgetplan.difficulty.prediction_powered import classical_pool_mean, pool_mean

HARD = 0.2  # an item is hard where p̂ is at most this
FEWEST_ITEMS = 5


@dataclass(frozen=True, slots=True)
class Trust:
    """What the audit slice says of the ranking and of the pool; every interval at 90 %.

    `n_items` are the labelled audit items with counted samples, `n_hard` those of them with p̂ <= HARD. `auroc` is the
    ranking's for p̂ <= HARD on the samples, not for the true p <= HARD: at K = 8 p̂ is itself noisy, and the ranking may
    have seen the same samples. `classical_pool_mean` comes from the audit items alone: what the predictions gain is the
    difference in width.
    """

    n_items: int
    n_hard: int
    auroc: Interval | None
    calibration_error: Interval | None
    pool_mean: Interval | None
    classical_pool_mean: Interval | None
    cannot_tell: tuple[str, ...]


def assess(
    place: NDArray[np.float64],
    p_mean: NDArray[np.float64],
    n_correct: NDArray[np.integer],
    k: NDArray[np.integer],
    weight: NDArray[np.float64],
    pool_p_mean: NDArray[np.float64],
    n_pool: int,
    seed: int = 0,
) -> Trust:
    """Judge a ranking by the audit items, one row each; rows with k = 0 are left out.

    `place` is what the ranking ranks by (low = hard), `p_mean` the predicted p made without the item's own label (nan
    throughout where the ranking is not calibrated), `weight` the inverse inclusion probability, `pool_p_mean` the
    predicted p of every eligible item of the pool (nan where none), `n_pool` the number of these items.
    """
    counted = k > 0
    place, p_mean, weight = place[counted], p_mean[counted], weight[counted]
    n_correct, k = n_correct[counted], k[counted]
    n_items, p_hat = len(k), n_correct / k
    hard = p_hat <= HARD
    n_hard = int(hard.sum())
    if n_items < FEWEST_ITEMS:
        return Trust(n_items, n_hard, None, None, None, None, (_too_few(n_items),))
    ranked, predicted = np.isfinite(place), np.isfinite(p_mean)
    no_auroc = _why_no_auroc(int(ranked.sum()), int(hard[ranked].sum()))
    no_error = _why_no_calibration_error(int(predicted.sum()), n_items)
    return Trust(
        n_items=n_items,
        n_hard=n_hard,
        auroc=None if no_auroc else auroc(hard[ranked], place[ranked], weight[ranked]),
        calibration_error=None
        if no_error
        else calibration_error(p_mean[predicted], p_hat[predicted], weight[predicted], seed),
        pool_mean=pool_mean(p_mean, n_correct, k, weight, pool_p_mean, n_pool),
        classical_pool_mean=classical_pool_mean(n_correct, k, weight, n_pool),
        cannot_tell=tuple(sentence for sentence in (no_auroc, no_error) if sentence),
    )


def _too_few(n_items: int) -> str:
    have = f"only {n_items}" if n_items else "no"
    items = "audit item is labelled and has" if n_items <= 1 else "audit items are labelled and have"
    return (
        f"{have} {items} counted samples: how far the ranking can be trusted cannot be estimated; "
        f"label at least {FEWEST_ITEMS} audit items"
    )


def _why_no_auroc(n_ranked: int, n_hard: int) -> str | None:
    """Say why the AUROC cannot be estimated; None where it can."""
    reason = None
    if n_ranked < FEWEST_ITEMS:
        reason = f"the ranking places only {n_ranked} labelled audit items ({FEWEST_ITEMS} are needed)"
    elif n_hard == 0:
        reason = f"none of the {n_ranked} labelled audit items is hard (p̂ ≤ {HARD})"
    elif n_hard == n_ranked:
        reason = f"all {n_ranked} labelled audit items are hard (p̂ ≤ {HARD})"
    return f"{reason}: the AUROC cannot be estimated; label more audit items" if reason else None


def _why_no_calibration_error(n_predicted: int, n_items: int) -> str | None:
    """Say why the calibration error cannot be estimated; None where it can."""
    if n_predicted == 0:
        return "the ranking predicts no p (it is not calibrated): the calibration error cannot be estimated"
    if n_predicted < FEWEST_ITEMS:
        return (
            f"only {n_predicted} of the {n_items} labelled audit items have a predicted p ({FEWEST_ITEMS} are needed): "
            "the calibration error cannot be estimated; label more audit items"
        )
    return None
