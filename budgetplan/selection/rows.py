"""Linear conditions on how many items of each group are picked.

Invariant: coefficients, limits and counts are integers, so whether a set holds them is never a matter of rounding.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """`coefficient[r] @ counts <= limit[r]`, where `counts[g]` items are picked of group g.

    `group` is each item's group, `quota[r]` the place of the quota that row r comes from. Unless `may_be_empty`, at
    least one item is to be picked.
    """

    group: NDArray[np.intp]
    coefficient: NDArray[np.int64]
    limit: NDArray[np.int64]
    quota: NDArray[np.intp]
    may_be_empty: bool = True

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return int(self.coefficient.shape[1])

    def counts(self, marks: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Count the marked items of each group."""
        return np.bincount(self.group[marks], minlength=self.n_groups).astype(np.int64)

    def hold(self, counts: NDArray[np.int64]) -> bool:
        """Tell whether so many items of each group meet all rows."""
        return bool((self.coefficient @ counts <= self.limit).all()) and (self.may_be_empty or bool(counts.any()))

    def beside(self, counts: NDArray[np.int64]) -> "Rows":
        """What the rows leave once so many items of each group are picked."""
        return replace(self, limit=self.limit - self.coefficient @ counts, may_be_empty=True)

    def of(self, index: NDArray[np.intp] | NDArray[np.bool_]) -> "Rows":
        """The same conditions over some of the items."""
        return replace(self, group=self.group[index])

    def of_quotas(self, wanted: NDArray[np.intp]) -> "Rows":
        """Only the rows of some quotas."""
        kept = np.isin(self.quota, wanted)
        return replace(self, coefficient=self.coefficient[kept], limit=self.limit[kept], quota=self.quota[kept])

    def addable(self, counts: NDArray[np.int64], group: int) -> int:
        """How many more items of one group fit beside `counts`, for which the rows hold."""
        column = self.coefficient[:, group]
        rising = column > 0
        left = (self.limit - self.coefficient @ counts)[rising] // column[rising]
        return int(left.min()) if left.size else len(self.group)


def unconstrained(n_items: int) -> Rows:
    """No conditions: every item in one group."""
    none = np.zeros(0, dtype=np.intp)
    return Rows(np.zeros(n_items, dtype=np.intp), np.zeros((0, 1), np.int64), np.zeros(0, np.int64), none)
