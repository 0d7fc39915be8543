"""What each policy ranks by.

Invariant: a policy's order is a function of the scores and the seeded keys, so it does not change with the row order.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from budgetplan.selection.candidates import Candidates
from budgetplan.selection.policy import Policy
from budgetplan.selection.ties import keyed, uniform

_NOISE_DECIMALS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """One entry per item: the number a policy ranks by, and what it is worth to the knapsack."""

    policy: Policy
    score: NDArray[np.float64]  # nan: the policy cannot rank this item
    value: NDArray[np.float64]  # in [0, 1], larger is better; 0 where the item is no candidate
    tie_key: NDArray[np.uint64]
    candidate: NDArray[np.bool_]

    def ranking(self) -> NDArray[np.intp]:
        """Order all candidates, best first, equals by their key."""
        return self.best_first(np.flatnonzero(self.candidate))

    def best_first(self, index: NDArray[np.intp]) -> NDArray[np.intp]:
        """Order the candidates at `index`, best first, equals by their key."""
        ordered: NDArray[np.intp] = index[np.lexsort((self.tie_key[index], -self.value[index]))]
        return ordered


def score(candidates: Candidates, policy: Policy, seed: int) -> Scores:
    """Score the eligible items that are still available by one policy.

    hard, easy: the place between hard and easy (`Candidates.location`). middle: distance to the median of that place
    over the eligible items; at equal K that is the order by distance to the median p̂ (section 2.3 of the paper).
    random: a seeded uniform number, for every such item. base-wrong: 0 for the items whose first sample was not correct
    or, where no answer is known, is predicted not to be, all equal, so that keys decide. learnable, horizon: as
    estimated; items with signals only have none.
    """
    keys = keyed(candidates.id_hashes, seed, policy)
    eligible, place = candidates.eligible, candidates.location
    match policy:
        case Policy.HARD:
            ranked_by, value = place, 1.0 - place
        case Policy.EASY:
            ranked_by, value = place, place
        case Policy.MIDDLE:
            ranked_by = _distance_to_median(place, eligible)
            value = 1.0 - ranked_by
        case Policy.RANDOM:
            ranked_by = value = uniform(keys)
        case Policy.BASE_WRONG:
            ranked_by = np.where(candidates.first_wrong, 0.0, np.nan)
            value = 1.0 - ranked_by
        case Policy.LEARNABLE:
            ranked_by = value = np.where(candidates.estimated, candidates.learnable, np.nan)
        case Policy.HORIZON:
            ranked_by = value = np.where(candidates.estimated, candidates.learnable_horizon, np.nan)
    is_candidate = eligible & candidates.available & ~np.isnan(ranked_by)
    return Scores(
        policy=policy,
        score=np.where(is_candidate, ranked_by, np.nan),
        value=np.where(is_candidate, value, 0.0),
        tie_key=keys,
        candidate=is_candidate,
    )


def _distance_to_median(place: NDArray[np.float64], eligible: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Rounded, since .4 and .6 are equally far from .5 only up to floating point."""
    known = place[eligible & ~np.isnan(place)]
    return np.round(np.abs(place - np.median(known)), _NOISE_DECIMALS) if known.size else place
