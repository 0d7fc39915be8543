"""The most value that a capacity can hold when costs differ: 0/1 knapsack, exact where time allows.

Invariant: what is packed never weighs more than the capacity (integer arithmetic), is worth at least what the greedy
order gives, and `bound` is at least the best possible value, so the gap between the two is honest.
"""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from budgetplan.selection.core import core_of, solve
from budgetplan.selection.rows import unconstrained

NEGLIGIBLE_GAP = 1e-6
_BLOCK = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Packing:
    """`taken` marks the packed items; `status` is "optimal" (gap at most 1e-6), "time limit" or "stopped"."""

    taken: NDArray[np.bool_]
    objective: float
    bound: float
    status: str
    seconds: float

    @property
    def gap(self) -> float:
        """How much better a packing might be at most, relative to the bound."""
        return max(self.bound - self.objective, 0.0) / self.bound if self.bound > 0 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _Sorted:
    """The items that fit at all, by value per weight, best first, equals by their key."""

    value: NDArray[np.float64]
    weight: NDArray[np.int64]
    ratio: NDArray[np.float64]
    capacity: int

    def worth(self, taken: NDArray[np.bool_]) -> float:
        """Add up the values of the taken items."""
        return float(self.value[taken].sum())


def fill(weight: NDArray[np.int64], capacity: int) -> NDArray[np.bool_]:
    """Take items in the given order, skipping those that no longer fit."""
    taken = np.zeros(len(weight), dtype=np.bool_)
    start, block = 0, _BLOCK
    while start < len(weight):
        waiting = start + np.flatnonzero(weight[start : start + block] <= capacity)
        running = np.cumsum(weight[waiting])
        fitting = int(np.searchsorted(running, capacity, side="right"))
        taken[waiting[:fitting]] = True
        capacity -= int(running[fitting - 1]) if fitting else 0
        if fitting < len(waiting):
            start, block = int(waiting[fitting]) + 1, _BLOCK
        else:
            start, block = start + block, 2 * block
    return taken


def pack(
    value: NDArray[np.float64],
    weight: NDArray[np.int64],
    tie_key: NDArray[np.uint64],
    capacity: int,
    time_limit_seconds: float,
) -> Packing:
    """Maximise the summed value under the capacity.

    Greedy by value per weight gives a packing, the fractional (Dantzig) relaxation a bound. An item whose change would
    cost more than the distance between the two keeps its place in the relaxation; the others, the core, go to
    `scipy.optimize.milp`, items equal in value and weight as one integer variable, served lowest `tie_key` first.
    """
    started = time.monotonic()
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(value > 0, value / weight, 0.0)
    order = np.lexsort((tie_key, -ratio))
    order = order[weight[order] <= capacity]
    items = _Sorted(value[order], weight[order], ratio[order], capacity)
    best, status = fill(items.weight, capacity), "optimal"
    bound, price = _relax(items)
    open_gap = bound - items.worth(best)
    if open_gap > NEGLIGIBLE_GAP * bound:
        gain = items.value - price * items.weight
        free = np.abs(gain) < open_gap
        found, core_bound, status = _improve(items, free, (gain > 0) & ~free, time_limit_seconds)
        best, bound = max(best, found, key=items.worth), min(bound, core_bound)
    taken = np.zeros(len(value), dtype=np.bool_)
    taken[order[best]] = True
    objective = items.worth(best)
    return Packing(taken, objective, max(bound, objective), status, time.monotonic() - started)


def _relax(items: _Sorted) -> tuple[float, float]:
    """Solve the fractional relaxation: its value, and the price of a unit of weight in it."""
    running = np.cumsum(items.weight)
    critical = int(np.searchsorted(running, items.capacity, side="right"))
    if critical == len(running):
        return float(items.value.sum()), 0.0
    left = items.capacity - (int(running[critical - 1]) if critical else 0)
    price = float(items.ratio[critical])
    return float(items.value[:critical].sum()) + left * price, price


def _improve(
    items: _Sorted, free: NDArray[np.bool_], kept: NDArray[np.bool_], time_limit_seconds: float
) -> tuple[NDArray[np.bool_], float, str]:
    """Solve the `free` items beside the `kept` ones: what is taken, the bound this proves, the status."""
    weight = items.weight
    core = core_of(items.value[free], weight[free], np.zeros(int(free.sum()), dtype=np.intp))
    left = items.capacity - int(weight[kept].sum())
    solved = solve(core, left, unconstrained(len(core.value)), time_limit_seconds, NEGLIGIBLE_GAP)
    taken = kept.copy()
    if solved.counts is not None:
        taken[free] = core.lowest(solved.counts)
    # The solver works with tolerances; whatever it returns, the integers decide what fits.
    held = np.flatnonzero(taken)
    taken[held] = fill(weight[held], items.capacity)
    rest = np.flatnonzero(~taken)
    taken[rest] = fill(weight[rest], items.capacity - int(weight[taken].sum()))
    return taken, items.worth(kept) + solved.bound, solved.status
