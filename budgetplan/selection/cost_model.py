"""What an annotator's time on an item is, learned from measured times.

Invariant: predictions are positive, within the range of those for the timed items, and the same whatever the row order;
a few breaks of hours among the times hardly change them.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

MIN_TIMED = 20
_BELIEVABLE = (1.0, 1e7)  # seconds
_FOLDS = 5
_FAR = 3 * 1.4826  # in median absolute deviations: three standard deviations of a normal distribution
_NEVER_FAR = np.log(4)  # times rounded to minutes may have no spread at all, and twice the usual is no break
_CONVINCING = 2.0  # standard errors by which the features must beat the plain median
_SHRINKAGE = 1.0  # of the standardised weights; matters for a few dozen items only

Kind = Literal["features", "median"]


@dataclass(frozen=True, slots=True)
class Curve:
    """Mean seconds of an item: calibration · exp(typical), typical = intercept + weights · features, kept in range."""

    intercept: float
    weights: tuple[float, ...]
    lowest: float
    highest: float
    calibration: float = 1.0

    def typical(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the logarithm of the typical seconds, one per row of features."""
        log_seconds = self.intercept + features @ np.array(self.weights)
        return np.asarray(np.clip(log_seconds, self.lowest, self.highest), dtype=np.float64)

    def mean_seconds(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the mean seconds, one per row of features."""
        return self.calibration * np.exp(self.typical(features))


@dataclass(frozen=True, slots=True)
class CostModel:
    """Seconds per item, from the prompts' features or, where these do not help, one number for all items.

    `error` and `baseline_error` are median absolute relative errors on items that were not fitted: of this model and of
    one number for all.
    """

    kind: Kind
    n_timed: int
    error: float
    baseline_error: float
    curve: Curve

    def predict(self, prompts: pa.ChunkedArray) -> NDArray[np.float64]:
        """Estimate the mean seconds of every prompt."""
        return self.curve.mean_seconds(_features(prompts))


@dataclass(frozen=True, slots=True, eq=False)
class _HeldOut:
    """Errors on items of folds that were not fitted: absolute of the log of the typical, relative of the mean."""

    log_error: NDArray[np.float64]
    relative_error: float


def fit_cost_model(prompts: pa.ChunkedArray, seconds: NDArray[np.float64]) -> CostModel | None:
    """Fit the times of the items that have one (nan or 0: not measured); None below `MIN_TIMED` of them.

    A time below a second counts as one.

    Huber regression of log seconds on the features, taken only if its absolute log errors on held-out items are smaller
    than the plain median's by two standard errors: few items or no effect give the median.
    """
    timed = np.flatnonzero(np.isfinite(seconds) & (seconds > 0))
    if len(timed) < MIN_TIMED:
        return None
    table = pa.table({"prompt": prompts.take(pa.array(timed)), "seconds": np.clip(seconds[timed], *_BELIEVABLE)})
    table = table.sort_by([("prompt", "ascending"), ("seconds", "ascending")])
    features, log_seconds = _features(table["prompt"]), np.log(table["seconds"].to_numpy())
    by_features, by_median = (_cross_validated(kind, features, log_seconds) for kind in ("features", "median"))
    gain = by_median.log_error - by_features.log_error
    convincing = gain.mean() > _CONVINCING * gain.std(ddof=1) / np.sqrt(len(gain))
    kind: Kind = "features" if convincing else "median"
    return CostModel(
        kind=kind,
        n_timed=len(timed),
        error=(by_features if convincing else by_median).relative_error,
        baseline_error=by_median.relative_error,
        curve=_fitted(kind, features, log_seconds),
    )


def _features(prompts: pa.ChunkedArray) -> NDArray[np.float64]:
    """Describe every prompt by five numbers, the counts as log(1 + n).

    Characters; words; digits and signs of mathematics; lines; whether it lists choices, two lines starting A) or (B).
    """
    choices = pc.count_substring_regex(prompts, r"(?m)^\s*\(?[A-Ja-j][.):]\s")
    counts = (
        pc.utf8_length(prompts),
        pc.count_substring_regex(prompts, r"\S+"),
        pc.count_substring_regex(prompts, r"[0-9=+*/^<>\\-]"),
        pc.count_substring(prompts, "\n"),
    )
    columns = [np.log1p(count.to_numpy()) for count in counts]
    return np.column_stack([*columns, choices.to_numpy() >= 2])


def _cross_validated(kind: Kind, features: NDArray[np.float64], log_seconds: NDArray[np.float64]) -> _HeldOut:
    from sklearn.model_selection import KFold

    typical, mean = np.empty_like(log_seconds), np.empty_like(log_seconds)
    for kept, held_out in KFold(_FOLDS, shuffle=True, random_state=0).split(features):
        curve = _fitted(kind, features[kept], log_seconds[kept])
        typical[held_out] = curve.typical(features[held_out])
        mean[held_out] = curve.mean_seconds(features[held_out])
    relative = np.abs(mean / np.exp(log_seconds) - 1)
    return _HeldOut(np.abs(typical - log_seconds), float(np.median(relative)))


def _fitted(kind: Kind, features: NDArray[np.float64], log_seconds: NDArray[np.float64]) -> Curve:
    """Fit the typical time, then calibrate it to the total.

    The exponential of a typical logarithm is too small for a mean. The calibration is a smearing factor (Duan, 1983) as
    a ratio of totals, measured over fitted, without the items far from their fit: breaks and slips of the hand.
    """
    line = _regression(features, log_seconds) if kind == "features" else _constant(features, log_seconds)
    typical = line.typical(features)
    residual = log_seconds - typical
    distance = np.abs(residual - np.median(residual))
    near = distance <= max(_FAR * np.median(distance), _NEVER_FAR)
    calibration = float(np.exp(log_seconds[near]).sum() / np.exp(typical[near]).sum())
    return replace(line, lowest=float(typical.min()), highest=float(typical.max()), calibration=calibration)


def _constant(features: NDArray[np.float64], log_seconds: NDArray[np.float64]) -> Curve:
    return Curve(float(np.median(log_seconds)), (0.0,) * features.shape[1], -np.inf, np.inf)


def _regression(features: NDArray[np.float64], log_seconds: NDArray[np.float64]) -> Curve:
    from sklearn.linear_model import HuberRegressor
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # slow convergence: what was reached is judged by cross-validation
        huber = HuberRegressor(alpha=_SHRINKAGE, max_iter=1000).fit(scaler.fit_transform(features), log_seconds)
    weights = huber.coef_ / scaler.scale_
    intercept = float(huber.intercept_ - scaler.mean_ @ weights)
    return Curve(intercept, tuple(weights.tolist()), -np.inf, np.inf)
