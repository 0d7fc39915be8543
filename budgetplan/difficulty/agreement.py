"""How far an item's samples agree with each other: the signal for items whose answer nobody knows.

Invariant: computed from answer counts alone, never from a known answer.
"""

import numpy as np
from numpy.typing import NDArray


def agreement(
    item: NDArray[np.integer], samples: NDArray[np.integer], counted: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Share of each item's counted samples that gave its most frequent answer.

    `item` and `samples` have one entry per distinct answer of an item: the item's index, and how many of its samples
    gave that answer. `counted` has one entry per item: all its samples that did not fail, those without an answer
    included, so a sample with no answer agrees with none. nan where nothing was counted, 0 where no sample answered.
    """
    most = np.zeros(len(counted), dtype=np.int64)
    np.maximum.at(most, item, samples)
    if np.any(most > counted):
        raise ValueError("an answer was given by more samples than the item has")
    share = np.full(len(counted), np.nan)
    np.divide(most, counted, out=share, where=np.asarray(counted) > 0)
    return share
