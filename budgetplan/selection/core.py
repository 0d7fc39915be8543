"""The items that a relaxation leaves open, and the integer program over them.

Invariant: items equal in value, weight and group are one integer variable, served in the given order, so the solver
never sees the ties and the rule for equals stays ours.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from budgetplan.selection.rows import Rows
from budgetplan.selection.silence import silent_stdout


@dataclass(frozen=True, slots=True, eq=False)
class Core:
    """Classes of equal items: value, weight, group and number of each, and every item's class."""

    value: NDArray[np.float64]
    weight: NDArray[np.int64]
    group: NDArray[np.intp]
    items: NDArray[np.int64]
    class_of: NDArray[np.intp]

    def lowest(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mark the first `counts[c]` items of every class c, in the given order."""
        order = np.argsort(self.class_of, kind="stable")
        place = np.arange(len(order)) - np.repeat(np.cumsum(self.items) - self.items, self.items)
        taken = np.zeros(len(order), dtype=np.bool_)
        taken[order] = place < counts[self.class_of[order]]
        return taken


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """Items to take of each class, what no choice exceeds (inf: not known), "optimal", "time limit" or "stopped".

    `counts` is None where nothing was found, and `bound` -inf where there is nothing to find.
    """

    counts: NDArray[np.int64] | None
    bound: float
    status: str


def core_of(value: NDArray[np.float64], weight: NDArray[np.int64], group: NDArray[np.intp]) -> Core:
    """Sort the items into classes of equals."""
    order = np.lexsort((group, weight, value))
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (np.diff(value[order]) != 0) | (np.diff(weight[order]) != 0) | (np.diff(group[order]) != 0)
    class_of = np.empty(len(order), dtype=np.intp)
    class_of[order] = np.cumsum(new) - 1
    first = order[new]
    return Core(value[first], weight[first], group[first], np.bincount(class_of), class_of)


def solve(core: Core, capacity: int, rows: Rows, time_limit_seconds: float, relative_gap: float) -> Solved:
    """Take as much value as the capacity and the rows allow."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    if not len(core.value):
        holds = capacity >= 0 and bool((rows.limit >= 0).all())
        return Solved(core.items[:0], 0.0, "optimal") if holds else Solved(None, -np.inf, "optimal")
    divisor = max(int(np.gcd.reduce(core.weight)), 1)
    matrix = np.vstack([core.weight // divisor, rows.coefficient[:, core.group]])
    limits = np.concatenate([[capacity // divisor], rows.limit])
    with silent_stdout():
        result = milp(
            -core.value,
            integrality=np.ones(len(core.value), dtype=np.int64),
            bounds=Bounds(0, core.items),
            constraints=LinearConstraint(matrix, ub=limits),
            options={"time_limit": time_limit_seconds, "mip_rel_gap": relative_gap},
        )
    counts = None if result.x is None else np.rint(result.x).astype(np.int64)
    if result.status == 2:  # infeasible
        return Solved(None, -np.inf, "optimal")
    dual = result.mip_dual_bound
    status = {0: "optimal", 1: "time limit"}.get(result.status, "stopped")
    return Solved(counts, np.inf if dual is None else -float(dual), status)
