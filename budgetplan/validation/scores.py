"""What the evaluation measured: one share of correct samples per item, of the base and of every training.

Invariant: all arrays list the same items in the same order; what was not measured is nan, never 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Share of correct samples of every test item: `base[item]` before training, `trained[arm][seed, item]` after.

    Each share is of `n_samples` samples. Arms may have different numbers of seeds: a failed one is absent.
    """

    base: NDArray[np.float64]
    trained: Mapping[str, NDArray[np.float64]]
    n_samples: int

    def __post_init__(self) -> None:
        for arm, shares in self.trained.items():
            if shares.ndim != 2 or shares.shape[1] != len(self.base):
                raise ValueError(f"scores of {arm}: shape {shares.shape}, expected (seeds, {len(self.base)})")

    def n_seeds(self, arm: str) -> int:
        """Count the finished trainings of an arm."""
        return len(self.trained[arm]) if arm in self.trained else 0

    def n_measured(self, arm: str, control: str) -> int:
        """Count the items that every seed of both arms was measured on."""
        return int(np.isfinite(np.concatenate([self.trained[arm], self.trained[control]])).all(axis=0).sum())
