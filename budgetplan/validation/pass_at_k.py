"""pass@k: the chance that at least one of k samples is correct, from n samples of the item.

Invariant: unbiased, and exact for any n and c that fit in a float: no factorial is formed.
"""

import numpy as np
from numpy.typing import NDArray


def pass_at_k(n: NDArray[np.integer], c: NDArray[np.integer], k: int) -> NDArray[np.float64]:
    """Estimate pass@k of every item from `c` correct samples out of `n`; nan where n < k.

    1 - C(n - c, k) / C(n, k) (Chen et al. 2021, arXiv 2107.03374, equation 1), as the product over j < k of
    1 - c / (n - j).
    """
    if k < 1:
        raise ValueError(f"k is {k}, must be at least 1")
    n, c = np.broadcast_arrays(np.asarray(n, dtype=np.float64), np.asarray(c, dtype=np.float64))
    left = np.maximum(n[..., None] - np.arange(k), 1.0)
    drawn = np.minimum(c[..., None] / left, 1.0)
    with np.errstate(divide="ignore"):  # log of 0: some sample must be correct
        none_correct = np.log1p(-drawn).sum(axis=-1)
    return np.where(n < k, np.nan, -np.expm1(none_correct))
