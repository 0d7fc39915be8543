"""When a training can learn nothing: no group of the first ones had rewards that differ.

GRPO's advantage is zero in a group of equal rewards, so hours of such groups change nothing but the bill.
"""

import numpy as np
from numpy.typing import NDArray

GROUPS = 200
UPDATES = 2


class Patience:
    """Sees the rewards of every update in order; `reason` says why to stop, "" while there is none.

    Every process of a training must show it the same groups, so that all stop at the same update.
    """

    def __init__(self) -> None:
        self._groups = self._updates = 0
        self._any_mixed = False
        self._lowest, self._highest = np.inf, -np.inf

    def see(self, rewards: NDArray[np.float64]) -> None:
        """Take the rewards of one update, groups × samples, nan where a sample has none."""
        given = ~np.isnan(rewards)
        highest = np.where(given, rewards, -np.inf).max(axis=1)
        lowest = np.where(given, rewards, np.inf).min(axis=1)
        self._any_mixed |= bool(np.any(highest > lowest))
        self._lowest, self._highest = min(self._lowest, lowest.min()), max(self._highest, highest.max())
        self._groups += len(rewards)
        self._updates += 1

    @property
    def no_reward_yet(self) -> bool:
        """Whether updates were seen and no sample of them had a reward."""
        return self._updates > 0 and self._highest < self._lowest

    @property
    def reason(self) -> str:
        """Why there is nothing to learn, once enough groups were seen."""
        if self._any_mixed or self._groups < GROUPS or self._updates < UPDATES:
            return ""
        return f"no group of the first {self._groups:,} had mixed rewards: {self._kind()}"

    def _kind(self) -> str:
        if self.no_reward_yet:
            return "none had any"
        if self._lowest < self._highest:
            return "each was all wrong or all right"
        return "all right" if self._lowest > 0 else "all wrong"
