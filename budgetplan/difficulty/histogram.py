"""The spread of p̂ over the pool, in as few bars as a terminal shows.

Invariant: p̂ = 0 stands alone, since that is where the hard policy ties; the counts of all bins add up to the items
that have a p̂.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_MOST_GRID_STEPS = 20


@dataclass(frozen=True, slots=True)
class Bin:
    """`items` of the pool with low < p̂ <= high (low = high: exactly that p̂)."""

    label: str
    low: float
    high: float
    items: int


def histogram(p_hat: NDArray[np.float64], k: NDArray[np.integer]) -> list[Bin]:
    """Count items by p̂: on its own grid 0, 1/k, … 1 when every item has the same k <= 20, else 0 and ten equal bins."""
    has_p_hat = ~np.isnan(p_hat)
    p_hat, k = p_hat[has_p_hat], k[has_p_hat]
    if not len(k):
        return []
    steps = int(k[0])
    if steps <= _MOST_GRID_STEPS and np.all(k == steps):
        items = np.bincount(np.rint(p_hat * steps).astype(np.int64), minlength=steps + 1)
        return [Bin(f"{n / steps:.2f}", n / steps, n / steps, int(items[n])) for n in range(steps + 1)]
    # Rounding first keeps 0.30000000000000004 in the bin that ends at 0.3.
    items = np.bincount(np.ceil(np.round(p_hat * 10, 9)).astype(np.int64), minlength=11)
    tenths = [Bin(f"{n / 10 - 0.1:.1f}-{n / 10:.1f}", (n - 1) / 10, n / 10, int(items[n])) for n in range(1, 11)]
    return [Bin("0", 0.0, 0.0, int(items[0])), *tenths]
