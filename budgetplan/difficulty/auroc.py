"""How well a ranking tells hard items from the others: the area under the ROC curve.

Invariant: the interval never shrinks to a point, not even at AUROC 1 with a handful of items.
"""

import numpy as np
from numpy.typing import NDArray

from budgetplan.difficulty.interval import Interval
from budgetplan.difficulty.posterior import INTERVAL


def auroc(hard: NDArray[np.bool_], place: NDArray[np.float64], weight: NDArray[np.float64]) -> Interval:
    """Estimate the chance that a hard item has a lower place than another one; ties count half.

    `hard` must hold both kinds. The interval is the score type of Newcombe (2006), "Confidence intervals for an effect
    size measure based on the Mann-Whitney statistic, part 2", method 5: the variance of Hanley and McNeil at the true
    AUROC, with both class sizes in its numerator replaced by their mean. Unequal weights count through Kish's effective
    sizes. Simulated coverage with 20 to 67 items and AUROC .65 to .95: .89 to .96; the Bayesian bootstrap had .67
    to .89 there, DeLong on the logit scale .88 to .96.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri

    area = _area(place[hard], weight[hard], place[~hard], weight[~hard])
    n_hard, n_other = _effective_size(weight[hard]), _effective_size(weight[~hard])
    mean_size = (n_hard + n_other) / 2.0 - 1.0
    z_squared = float(ndtri((1.0 + INTERVAL) / 2.0)) ** 2

    def excess(true: float) -> float:
        """Squared distance from the estimate, less what chance explains: negative inside the interval."""
        growth = 1.0 + mean_size * ((1.0 - true) / (2.0 - true) + true / (1.0 + true))
        return (area - true) ** 2 - z_squared * true * (1.0 - true) * growth / (n_hard * n_other)

    # At an estimate of exactly 0 or 1 the estimate itself is a root; start beside it.
    inside = min(max(area, 1e-9), 1.0 - 1e-9)
    low = float(brentq(excess, 0.0, inside)) if area > 0 else 0.0
    high = float(brentq(excess, inside, 1.0)) if area < 1 else 1.0
    return Interval.clipped(area, low, high)


def _area(
    hard: NDArray[np.float64], hard_weight: NDArray[np.float64], rest: NDArray[np.float64], weight: NDArray[np.float64]
) -> float:
    """Weigh the pairs (hard item, another one) with the hard item first; ties count half."""
    order = np.argsort(rest)
    upto = np.append(0.0, np.cumsum(weight[order]))
    below = upto[np.searchsorted(rest[order], hard, side="left")]
    not_above = upto[np.searchsorted(rest[order], hard, side="right")]
    first = upto[-1] - (below + not_above) / 2.0
    return float(hard_weight @ first / (hard_weight.sum() * upto[-1]))


def _effective_size(weight: NDArray[np.float64]) -> float:
    """Count the equally weighted items worth as much: (Σw)² / Σw² (Kish, Survey Sampling, 1965)."""
    return float(weight.sum() ** 2 / (weight**2).sum())
