"""How good a ranking's picks are, between random ones and the best possible.

Invariant: ties are settled by expectation, so equal inputs give the same number whatever the row order.
"""

import numpy as np
from numpy.typing import NDArray


def pick_quality(place: NDArray[np.float64], truth: NDArray[np.float64], n_picked: int) -> float | None:
    """Say how far picking the lowest places goes from random picks (0) to the best possible (1); below 0 it is worse.

    (mean p of random picks - mean p of the picks) / (mean p of random picks - mean p of the best picks), where `truth`
    is p. Of the items that share the place at the cut, each counts for the share of them that is picked: the mean over
    all orders of the tie. Items without a place (nan) come last. None where random picks are as good as the best.
    """
    if not 0 < n_picked < len(truth) or truth.min() == truth.max():
        return None
    place = np.where(np.isnan(place), np.inf, place)
    cut = np.partition(place, n_picked - 1)[n_picked - 1]
    before, tied = place < cut, place == cut
    share = (n_picked - before.sum()) / tied.sum()
    picked = (truth[before].sum() + share * truth[tied].sum()) / n_picked
    at_random, best = truth.mean(), np.partition(truth, n_picked - 1)[:n_picked].mean()
    return float((at_random - picked) / (at_random - best))
