"""The pool's mean p from a few labelled items drawn at random and a prediction for every item.

Invariant: wrong predictions cost precision at most, never validity: the labelled items correct them.
"""

import math

import numpy as np
from numpy.typing import NDArray

from budgetplan.difficulty.interval import Interval
from budgetplan.difficulty.posterior import INTERVAL

_UNSEEN_RESIDUAL = 0.5
_LEAST_SPREAD = 1e-9


def pool_mean(
    p_mean: NDArray[np.float64],
    n_correct: NDArray[np.integer],
    k: NDArray[np.integer],
    weight: NDArray[np.float64],
    pool_p_mean: NDArray[np.float64],
    n_pool: int,
) -> Interval:
    """Estimate the mean p over `n_pool` items by prediction-powered inference (PPI++) with power tuning.

    mean p̂ + λ (mean prediction of the pool - mean prediction of the labelled), λ = cov / var kept in [0, 1]:
    Angelopoulos, Duchi and Zrnic (2023, arXiv 2311.01453, section 6), with the rest of the pool as their unlabelled
    set; it is also the difference estimator of survey sampling. A λ below 0 would be fitted to what cross-fitting does
    to useless predictions: leaving an item out moves its prediction away from it. Missing predictions count as average
    ones; where none varies, λ = 0: the classical estimate. In `p_mean` and `pool_p_mean` alike they must be made
    without the item's own label.

    The variance is that of two-stage sampling (Cochran, Sampling Techniques, section 10.4): items drawn without
    replacement, then K samples of each, so a labelled pool leaves the sampling noise alone. One unseen item half off
    joins the residuals, and t quantiles serve: without it, coverage fell to .7 with 30 items on pools of mean .03.
    Simulated coverage at 30 and 67 items: .89 to .93, on pools of mean .1 and .03 .87 to .99.
    """
    n = len(k)
    weight = weight / weight.sum()
    p_hat = n_correct / k
    known = pool_p_mean[np.isfinite(pool_p_mean)]
    average = float(known.mean()) if len(known) else 0.0
    predicted = np.where(np.isfinite(p_mean), p_mean, average)
    power = _power(p_hat, predicted, weight) if len(known) and np.ptp(known) > _LEAST_SPREAD else 0.0

    residual = p_hat - power * predicted
    corrected = float(weight @ residual)
    fitted = 1 + (power > 0)
    squares = weight**2 @ (residual - corrected) ** 2 + (_UNSEEN_RESIDUAL / n) ** 2
    variance = _unseen_share(n, n_pool) * squares * n / (n + 1 - fitted)
    variance += float(weight @ _sampling_variance(n_correct, k)) / max(n_pool, n)
    value, half_width = corrected + power * average, _t_quantile(n - fitted) * math.sqrt(variance)
    return Interval.clipped(value, value - half_width, value + half_width)


def classical_pool_mean(
    n_correct: NDArray[np.integer], k: NDArray[np.integer], weight: NDArray[np.float64], n_pool: int
) -> Interval:
    """Estimate the same from the labelled items alone."""
    return pool_mean(np.full(len(k), np.nan), n_correct, k, weight, np.empty(0), n_pool)


def _power(p_hat: NDArray[np.float64], predicted: NDArray[np.float64], weight: NDArray[np.float64]) -> float:
    """Choose the λ that makes the variance least: weighted cov(p̂, prediction) / var(prediction), kept in [0, 1]."""
    centred = predicted - weight @ predicted
    spread = float(weight @ centred**2)
    return float(np.clip(weight @ (centred * p_hat) / spread, 0.0, 1.0)) if spread > _LEAST_SPREAD else 0.0


def _unseen_share(n: int, n_pool: int) -> float:
    """Finite population correction."""
    return 1.0 - min(n / max(n_pool, 1), 1.0)


def _sampling_variance(n_correct: NDArray[np.integer], k: NDArray[np.integer]) -> NDArray[np.float64]:
    """Variance of each p̂ given its p, by Jeffreys' estimate of p, since p̂(1 - p̂) is 0 at 0, at 1 and for K = 1."""
    smoothed = (n_correct + 0.5) / (k + 1.0)
    variance: NDArray[np.float64] = smoothed * (1.0 - smoothed) / k
    return variance


def _t_quantile(degrees: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1.0 + INTERVAL) / 2.0))
