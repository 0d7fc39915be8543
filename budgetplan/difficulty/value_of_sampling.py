"""Where the next samples are worth most for a shortlist: knowledge gradients against the item at the cut.

Invariant: equal posteriors are worth the same, and equals are served in the order of their keys, so what is asked for
depends on the counts and the keys, never on the row order.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

Score = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.floating]]
"""What an item with posterior Beta(a, b) is worth to the shortlist, larger is better; an expectation over p."""

LOOK_AHEAD = (1, 2, 4, 8)
"""Samples that an item may get before it crosses the cut: one alone often moves nothing."""
_SIMULATIONS = 40
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """One entry per item: the posterior Beta(a, b) of p, the samples taken, and what one more adds to a + b.

    `weight` is 1 where samples are judged, and less where their outcomes are only predicted.
    """

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    taken: NDArray[np.int64]
    weight: NDArray[np.float64]

    def of(self, rows: NDArray[np.intp]) -> Self:
        """The same for some of the items."""
        return replace(self, a=self.a[rows], b=self.b[rows], taken=self.taken[rows], weight=self.weight[rows])

    def distinct(self) -> tuple[Self, NDArray[np.intp]]:
        """The different entries, and which of them each item has."""
        columns = np.stack([self.a, self.b, self.weight])
        kinds, which = np.unique(columns, axis=1, return_inverse=True)
        a, b, weight = kinds
        return replace(self, a=a, b=b, weight=weight, taken=np.zeros(len(a), np.int64)), which.reshape(-1)


def value_of_sampling(sampled: Sampled, score: Score, n_picks: int) -> NDArray[np.float64]:
    """How much one more sample of each item is expected to raise the summed score of the best `n_picks`.

    E[max(s', t) - max(s, t)], s the item's score, s' after more samples, t the score of the best item outside for one
    that would be picked and of the last one picked for the others (Frazier, Powell and Dayanik 2008); per sample, at
    the best of a few numbers of samples to look ahead (Frazier and Powell 2010). All 0 where everything is picked.
    """
    if n_picks >= len(sampled.a):
        return np.zeros(len(sampled.a))
    kinds, which = sampled.distinct()
    now = np.asarray(score(kinds.a, kinds.b), dtype=np.float64)
    last_in, first_out = -np.partition(-now[which], [n_picks - 1, n_picks])[n_picks - 1 : n_picks + 1]
    rival = np.where(now >= last_in, first_out, last_in)
    best = np.zeros(len(now))
    for ahead in LOOK_AHEAD:
        right = np.arange(ahead + 1)
        chance = _chance_of_right(kinds, ahead)
        a = kinds.a[:, None] + kinds.weight[:, None] * right
        b = kinds.b[:, None] + kinds.weight[:, None] * (ahead - right)
        after = np.maximum(score(a, b), rival[:, None])
        best = np.maximum(best, ((chance * after).sum(axis=1) - np.maximum(now, rival)) / ahead)
    return np.where(best > _ROUNDING, best, 0.0)[which]


def _chance_of_right(kinds: Sampled, ahead: int) -> NDArray[np.float64]:
    """Beta-binomial: how likely each number of right samples among the next `ahead` is; kinds by ahead + 1."""
    from scipy.special import betaln, gammaln

    right = np.arange(ahead + 1)
    ways = gammaln(ahead + 1) - gammaln(right + 1) - gammaln(ahead - right + 1)
    a, b = kinds.a[:, None], kinds.b[:, None]
    chance: NDArray[np.float64] = np.exp(ways + betaln(a + right, b + ahead - right) - betaln(a, b))
    return chance


def worth_most(
    value: NDArray[np.float64], taken: NDArray[np.int64], key: NDArray[np.uint64], n_samples: int, most_per_item: int
) -> NDArray[np.intp]:
    """Name the items that get one more sample each: the most valuable, equals by fewer samples, then by key.

    Items that have `most_per_item` samples, or to which more is worth nothing, get none.
    """
    open_to = np.flatnonzero((taken < most_per_item) & (value > 0))
    order = np.lexsort((key[open_to], taken[open_to], -value[open_to]))
    chosen: NDArray[np.intp] = open_to[order[:n_samples]]
    return chosen


def expected_loss(sampled: Sampled, score: Score, n_picks: int, k: int, seed: int) -> float:
    """How much better per pick the best `n_picks` would be expected to be after K samples of every item.

    By simulation from the posterior: what the items below K would still show, and which would then be picked.
    """
    if n_picks >= len(sampled.a):
        return 0.0
    generator = np.random.default_rng(seed)
    now = np.asarray(score(sampled.a, sampled.b), dtype=np.float64)
    picked = np.argpartition(-now, n_picks - 1)[:n_picks]
    lacking = np.maximum(k - sampled.taken, 0)
    losses = []
    for _ in range(_SIMULATIONS):
        right = generator.binomial(lacking, generator.beta(sampled.a, sampled.b))
        then = replace(sampled, a=sampled.a + sampled.weight * right, b=sampled.b + sampled.weight * (lacking - right))
        kinds, which = then.distinct()
        after = np.asarray(score(kinds.a, kinds.b), dtype=np.float64)[which]
        best = -np.partition(-after, n_picks - 1)[:n_picks]
        losses.append(float(best.mean() - after[picked].mean()))
    return max(float(np.mean(losses)), 0.0)  # rounding aside, it cannot be less
