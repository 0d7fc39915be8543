"""How far predicted probabilities lie from the success rates they stand for.

Invariant: the small-sample estimate's lower bound is 0 until the items rule out perfect calibration with 95 %
confidence, so that noise does not pass for an error of the ranking.
"""

import numpy as np
from numpy.typing import NDArray

from budgetplan.difficulty.interval import Interval
from budgetplan.difficulty.posterior import INTERVAL

_DRAWS = 500
_UNSEEN_RESIDUAL = 0.5
_LEAST_SPREAD = 1e-9


def expected_calibration_error(
    p_mean: NDArray[np.float64],
    p_hat: NDArray[np.float64],
    n_bins: int = 10,
    weight: NDArray[np.float64] | None = None,
) -> float:
    """Average |mean p̂ - mean prediction| over bins of equal width, each counted by its share of the items.

    The standard binned error (Guo et al. 2017, eq. 3) for hundreds of items; with few it is far too large
    (`calibration_error` says by how much). Items without both numbers are ignored; 0 where none has them.
    """
    weight = np.ones(len(p_mean)) if weight is None else weight
    usable = np.isfinite(p_mean) & np.isfinite(p_hat)
    p_mean, p_hat, weight = p_mean[usable], p_hat[usable], weight[usable]
    if not len(p_mean):
        return 0.0
    # Rounding first keeps 0.30000000000000004 in the bin that ends at 0.3.
    bins = np.maximum(np.ceil(np.round(p_mean * n_bins, 9)).astype(np.int64) - 1, 0)
    gaps = np.bincount(bins, weight * (p_hat - p_mean))
    return float(np.abs(gaps).sum() / weight.sum())


def calibration_error(
    p_mean: NDArray[np.float64], p_hat: NDArray[np.float64], weight: NDArray[np.float64], seed: int = 0
) -> Interval:
    """Estimate the mean |true success rate at a prediction - prediction| from a few dozen items.

    The same quantity as the binned error, with a straight line in place of the bins: p̂ - prediction is regressed on the
    prediction, and the mean |line| over the items is corrected for its upward bias by a bootstrap over items (Bayesian:
    Rubin 1981), as Kumar, Liang and Ma (2019, "Verified uncertainty calibration") correct the binned one. Mean |bias|
    over six simulated kinds of (mis)calibration, K = 8: .017 at 30 items and .015 at 67 (.040 and .027 where there is
    no error), against .058 and .031 (.125 and .089) for ten equal bins and .028 and .020 for Kumar's with five bins. A
    line misses part of a curved error: .03 to .04 of .111 in the worst of the six.

    The upper bound is the bootstrap's 95 % point; the lower one is the estimate less the 95 % point of the bootstrap's
    mean distance from the fitted line, by the triangle inequality, since percentiles of a mean of absolute values never
    reach 0. Simulated coverage: .95 to 1.00, with the curved error at 67 items .85. One unseen item half off joins
    every draw, so that equal residuals do not give an interval without width.
    """
    rng = np.random.default_rng(seed)
    n = len(p_mean)
    weight = weight * (n / weight.sum())
    residual = p_hat - p_mean
    line = _line(p_mean, residual, weight, p_mean)
    # The bootstrap's spread is that of the residuals around a line with two fitted coefficients: n - 2 degrees.
    inflation = np.sqrt(n / (n - 2.0))
    sizes, distances = np.empty(_DRAWS), np.empty(_DRAWS)
    for draw in range(_DRAWS):  # one at a time: memory stays at one column, however many items
        unseen = rng.integers(n)
        at = np.append(p_mean, p_mean[unseen])
        y = np.append(residual, line[unseen] + rng.choice((-_UNSEEN_RESIDUAL, _UNSEEN_RESIDUAL)))
        drawn = _line(at, y, np.append(weight, 1.0) * rng.standard_exponential(n + 1), p_mean)
        moved = (drawn - line) * inflation
        sizes[draw] = weight @ np.abs(line + moved) / n
        distances[draw] = weight @ np.abs(moved) / n
    upper = (1.0 + INTERVAL) / 2.0
    plug_in = float(weight @ np.abs(line)) / n
    value = 2.0 * plug_in - float(sizes.mean())
    return Interval.clipped(value, plug_in - float(np.quantile(distances, upper)), float(np.quantile(sizes, upper)))


def _line(
    x: NDArray[np.float64], y: NDArray[np.float64], weight: NDArray[np.float64], at: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Fit y on x by weighted least squares and read the line off `at`; level where x does not vary."""
    total = weight.sum()
    x_mean, y_mean = weight @ x / total, weight @ y / total
    spread = weight @ (x - x_mean) ** 2
    slope = weight @ ((x - x_mean) * y) / spread if spread > _LEAST_SPREAD * total else 0.0
    fitted: NDArray[np.float64] = y_mean + slope * (at - x_mean)
    return fitted
