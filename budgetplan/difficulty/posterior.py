"""From counts to difficulty: p̂, its Beta posterior and the chance of a mixed GRPO group, in columns.

Invariant: items with equal counts get bitwise equal numbers, whatever the row order, so that a tie in the counts stays
a tie in every ranking.
"""

from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from budgetplan.difficulty.horizon import expected_rise, mixed_group_chance

INTERVAL = 0.90
_LOGIT_MEAN_BOUND = 16.0
_LOG_CONCENTRATION_BOUNDS = (-7.0, 9.0)


@dataclass(frozen=True, slots=True)
class Prior:
    """Beta(a, b): how p is spread over the pool."""

    a: float
    b: float

    @property
    def mean(self) -> float:
        """Mean of p over the pool."""
        return self.a / (self.a + self.b)


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """One entry per item; all of them nan where k = 0, since nothing was counted."""

    p_hat: NDArray[np.float64]
    p_mean: NDArray[np.float64]
    p_low: NDArray[np.floating]
    p_high: NDArray[np.floating]
    learnable: NDArray[np.floating]
    learnable_horizon: NDArray[np.floating]

    def filled_from(self, other: Self) -> Self:
        """Take from `other` what an item does not have here."""
        columns = {name: getattr(self, name) for name in (field.name for field in fields(self))}
        return replace(
            self, **{name: np.where(np.isnan(own), getattr(other, name), own) for name, own in columns.items()}
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Counts:
    """The distinct (n, k) pairs with k > 0, how many items have each, and which pair each item has (`counted` ones)."""

    n: NDArray[np.float64]
    k: NDArray[np.float64]
    items: NDArray[np.float64]
    pair_of: NDArray[np.intp]
    counted: NDArray[np.bool_]

    @classmethod
    def of(cls, n_correct: NDArray[np.integer], k: NDArray[np.integer]) -> Self:
        if n_correct.shape != k.shape or np.any(n_correct < 0) or np.any(n_correct > k):
            raise ValueError("counts need 0 <= n_correct <= k for every item")
        counted = k > 0
        base = int(k.max(initial=0)) + 1
        codes = k[counted].astype(np.int64) * base + n_correct[counted]
        if base**2 <= len(codes):  # counting is quicker than sorting
            items = np.bincount(codes, minlength=base**2)
            pairs = np.flatnonzero(items)
            pair_of, items = (np.cumsum(items > 0) - 1)[codes], items[pairs]
        else:
            pairs, pair_of, items = np.unique(codes, return_inverse=True, return_counts=True)
        return cls((pairs % base).astype(float), (pairs // base).astype(float), items.astype(float), pair_of, counted)


def fit_prior(n_correct: NDArray[np.integer], k: NDArray[np.integer]) -> Prior:
    """Fit the pool's Beta prior by beta-binomial maximum likelihood (empirical Bayes); items with k = 0 are ignored.

    The likelihood carries a penalty worth about one item, so that it has a maximum whatever the counts: half a success
    in one trial on the mean, and a log-normal of median 1 and log-deviation 1 on the concentration a + b (six real sets
    had 0.4 to 2.1). It decides only where the counts cannot: no item gives Jeffreys' Beta(.5, .5), K = 1 leaves the
    concentration at 1, all zeros give a mean near .5 / items. On real sets of 125 to 1,318 items it moves a and b by
    0.1 to 2.4 % of themselves.

    The concentration is used as fitted: held-out halves of those six sets fell into the 90 % predictive interval in
    89.1 % of cases (86.7 to 90.0 by set), and in 86.4 % with the concentration halved.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    pairs = _Counts.of(np.asarray(n_correct), np.asarray(k))
    best = minimize(
        _penalised_loss,
        np.zeros(2),
        args=(pairs,),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-_LOGIT_MEAN_BOUND, _LOGIT_MEAN_BOUND), _LOG_CONCENTRATION_BOUNDS],
        options={"ftol": 1e-14, "gtol": 1e-10},
    )
    concentration = float(np.exp(best.x[1]))
    return Prior(concentration * float(expit(best.x[0])), concentration * float(expit(-best.x[0])))


def _penalised_loss(point: NDArray[np.float64], pairs: _Counts) -> tuple[float, NDArray[np.float64]]:
    """Negative penalised log-likelihood per item, and its gradient, at (logit mean, log concentration)."""
    from scipy.special import betaln, expit, psi

    mean, rest, total = float(expit(point[0])), float(expit(-point[0])), float(np.exp(point[1]))
    a, b = total * mean, total * rest
    n, missed, weight = pairs.n, pairs.k - pairs.n, pairs.items
    shared = psi(total) - psi(pairs.k + total)
    slope_a = float(weight @ (psi(n + a) - psi(a) + shared))
    slope_b = float(weight @ (psi(missed + b) - psi(b) + shared))
    value = float(weight @ (betaln(n + a, missed + b) - betaln(a, b)))
    value += 0.5 * np.log(mean) + 0.5 * np.log(rest) - 0.5 * point[1] ** 2
    gradient = np.array([(slope_a - slope_b) * total * mean * rest, slope_a * a + slope_b * b])
    gradient += np.array([0.5 - mean, -point[1]])
    scale = -1.0 / (weight.sum() + 1.0)
    return value * scale, gradient * scale


def estimate(
    n_correct: NDArray[np.integer],
    k: NDArray[np.integer],
    prior: Prior,
    group_size: int = 8,
    passes_per_item: float = 40.0,
) -> Estimates:
    """Turn counts into p̂ (eq. 1), posterior mean, equal-tailed 90 % interval and learnable for groups of `group_size`.

    learnable = E[1 - p^G - (1-p)^G] under the posterior; learnable_horizon the same over a training that meets every
    item `passes_per_item` times and makes it easier. An equal-tailed interval never reaches 0 or 1, so at p̂ = 0 it
    begins a little above 0.
    """
    from scipy.special import betaincinv

    if group_size < 2:
        raise ValueError(f"a group has at least 2 samples, not {group_size}")
    pairs = _Counts.of(np.asarray(n_correct), np.asarray(k))
    a, b = prior.a + pairs.n, prior.b + (pairs.k - pairs.n)
    tail = (1.0 - INTERVAL) / 2.0

    def scattered(per_pair: NDArray[np.floating]) -> NDArray[np.float64]:
        column = np.full(len(pairs.counted), np.nan)
        column[pairs.counted] = per_pair[pairs.pair_of]
        return column

    return Estimates(
        p_hat=scattered(pairs.n / pairs.k),
        p_mean=scattered(a / (a + b)),
        p_low=scattered(betaincinv(a, b, tail)),
        p_high=scattered(betaincinv(a, b, 1.0 - tail)),
        learnable=scattered(mixed_group_chance(a, b, group_size)),
        learnable_horizon=scattered(mixed_group_chance(a, b, group_size, expected_rise(passes_per_item))),
    )


def predicted(
    p: NDArray[np.float64], concentration: float, group_size: int = 8, passes_per_item: float = 40.0
) -> Estimates:
    """Turn predictions of p into the same columns but p̂, which is nan: p ~ Beta(c·p, c·(1 - p)); nan stays nan."""
    from scipy.special import betaincinv

    a, b = concentration * p, concentration * (1.0 - p)
    tail = (1.0 - INTERVAL) / 2.0
    return Estimates(
        p_hat=np.full(len(p), np.nan),
        p_mean=p,
        p_low=betaincinv(a, b, tail),
        p_high=betaincinv(a, b, 1.0 - tail),
        learnable=mixed_group_chance(a, b, group_size),
        learnable_horizon=mixed_group_chance(a, b, group_size, expected_rise(passes_per_item)),
    )
