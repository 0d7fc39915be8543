"""How well one column follows another on a straight line (Figure 3 of the paper: learnable % and gain).

Invariant: what was not measured (nan) is left out, and too little to fit gives nan, never a number.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def r_squared(x: Sequence[float] | NDArray[np.float64], y: Sequence[float] | NDArray[np.float64]) -> float:
    """Tell the share of the variance of `y` that a line over `x` explains; nan under 3 points or without spread."""
    points = np.array([x, y], dtype=np.float64)
    points = points[:, np.isfinite(points).all(axis=0)]
    if points.shape[1] < 3 or (np.ptp(points, axis=1) == 0).any():
        return math.nan
    return float(np.corrcoef(points)[0, 1] ** 2)
