"""An estimate with its 90 % interval.

Invariant: 0 <= low <= value <= high <= 1, all finite.
"""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Interval:
    """A share or an error between 0 and 1; `low` and `high` bound it with 90 % confidence, 5 % on either side."""

    value: float
    low: float
    high: float

    @classmethod
    def clipped(cls, value: float, low: float, high: float) -> Self:
        """Clip all three to [0, 1]."""
        value = min(max(float(value), 0.0), 1.0)
        return cls(value, min(max(float(low), 0.0), value), max(min(float(high), 1.0), value))
