"""Prices of the budget and of every condition: the linear relaxation of choosing, solved at the size of a pool.

Invariant: whatever the prices, `bound` is at least what any set within the budget and the conditions is worth
(weak duality), so how the prices were found never touches the certificate.

The prices come from a small random sample first, then from larger ones. Where they may move only within a box, most
items cannot change sides, so each step is a linear program over the others alone (a boxstep method: Marsten, Hogan and
Blankenship, 1975), exact once its prices lie inside the box.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetplan.selection.core import core_of
from budgetplan.selection.rows import Rows
from budgetplan.selection.silence import silent_stdout

SAMPLE = 4_000
_GROWTH = 16  # from one sample to the next
_WIDTH = 4.0  # of the box, in standard errors of a sample's prices, roughly
_LEAST_SCALE = 0.1
_FEW, _MANY = 10_000, 80_000  # classes of equal items in one program: at first, and in the end
_LEAST_PART = 0.05
_ROUNDS = 12  # at each size
_TINY = 1e-7
_STEEP = 1e4  # at first no price is above that many of the best item's value


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Items in an order of their own (not the file's), positive values, the capacity and the rows."""

    value: NDArray[np.float64]
    weight: NDArray[np.int64]
    capacity: int
    rows: Rows

    def worth(self, taken: NDArray[np.bool_]) -> float:
        """Add up the values of the taken items."""
        return float(self.value[taken].sum())

    def holds(self, taken: NDArray[np.bool_]) -> bool:
        """Tell whether the marked items are within the capacity and the rows."""
        return int(self.weight[taken].sum()) <= self.capacity and self.rows.hold(self.rows.counts(taken))


@dataclass(frozen=True, slots=True, eq=False)
class Relaxed:
    """The price of a unit of weight, of a unit of every row, each item's value less its prices, and the bound."""

    weight_price: float
    row_prices: NDArray[np.float64]
    gain: NDArray[np.float64]
    bound: float


def priced(problem: Problem, weight_price: float, row_prices: NDArray[np.float64]) -> Relaxed:
    """Value of the Lagrangian dual at these prices (none negative)."""
    rows = problem.rows
    gain = problem.value - weight_price * problem.weight
    gain -= (row_prices @ rows.coefficient)[rows.group]
    bound = weight_price * problem.capacity + float(row_prices @ rows.limit) + float(gain.sum(where=gain > 0))
    return Relaxed(weight_price, row_prices, gain, bound)


def relax(problem: Problem) -> Relaxed:
    """Find the best prices."""
    n = len(problem.value)
    if not n:
        return priced(problem, 0.0, np.zeros(len(problem.rows.limit)))
    sizes = [n]
    while sizes[0] > 2 * SAMPLE:
        sizes.insert(0, max(sizes[0] // _GROWTH, SAMPLE))
    row_unit, mean_weight = _units(problem)
    best = float(problem.value.max(initial=0.0))
    prices, low = np.zeros(len(row_unit) + 1), np.zeros(len(row_unit) + 1)
    high = _STEEP * best / np.concatenate([[mean_weight], row_unit])
    for size in sizes:
        part = _part(problem, size)
        found = _relax_within(part, prices, low, high)
        prices = np.concatenate([[found.weight_price], found.row_prices])
        weight_scale = max(found.weight_price, _LEAST_SCALE * best / mean_weight)
        width = _WIDTH / np.sqrt(size) * np.concatenate([[weight_scale], best / row_unit])
        low, high = np.maximum(prices - width, 0.0), prices + width
    return found


def _units(problem: Problem) -> tuple[NDArray[np.float64], float]:
    rows = np.maximum(np.abs(problem.rows.coefficient).max(axis=1, initial=0), 1).astype(np.float64)
    return rows, max(float(problem.weight.mean()), 1.0) if len(problem.weight) else 1.0


def _part(problem: Problem, size: int) -> Problem:
    """Every so-manieth item and the share of the limits that goes with them; the items are in random order already."""
    n, rows = len(problem.value), problem.rows
    if size >= n:
        return problem
    every = slice(0, n, n // size)
    share = len(range(n)[every]) / n
    limit = np.rint(rows.limit * share).astype(np.int64)
    scaled = Rows(rows.group[every], rows.coefficient, limit, rows.quota)
    return Problem(problem.value[every], problem.weight[every], int(problem.capacity * share), scaled)


def _relax_within(
    problem: Problem, prices: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> Relaxed:
    """Find the best prices from a box on; the box moves and doubles as long as they lie on its border."""
    best = step = priced(problem, prices[0], prices[1:])
    for turn in range(_ROUNDS):
        box = _box_about(problem, step, low, high, min(_FEW << turn, _MANY))
        kept = (step.gain > 0) & ~box.free
        rest = problem.rows.beside(problem.rows.counts(kept)).of(box.free)
        left = problem.capacity - int(problem.weight[kept].sum())
        found = _program(problem.value[box.free], problem.weight[box.free], left, rest, box)
        if found is None:
            break
        step = priced(problem, found.prices[0], found.prices[1:])
        best = min(best, step, key=_bound)
        if found.inside:
            break
        width = box.high - box.low
        low, high = np.maximum(found.prices - width, 0.0), found.prices + width
    return best


@dataclass(frozen=True, slots=True, eq=False)
class _Box:
    """Where prices may move, and the items that may change sides meanwhile."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    free: NDArray[np.bool_]


def _box_about(
    problem: Problem, step: Relaxed, low: NDArray[np.float64], high: NDArray[np.float64], largest: int
) -> _Box:
    """Keep the box where it frees few enough items, else shrink it around the prices."""
    here = np.concatenate([[step.weight_price], step.row_prices])
    reach = np.maximum(high - here, here - low)
    moved = reach[0] * problem.weight + (reach[1:] @ np.abs(problem.rows.coefficient))[problem.rows.group]
    distance = np.abs(step.gain)
    free = distance <= moved
    n_free = int(free.sum())
    classes = len(core_of(problem.value[free], problem.weight[free], problem.rows.group[free]).items)
    if len(problem.value) <= 2 * SAMPLE or classes <= largest:
        return _Box(low, high, free)
    share = distance[free] / np.maximum(moved[free], np.finfo(np.float64).tiny)
    place = n_free * largest // classes
    part = max(float(np.partition(share, place)[place]), _LEAST_PART)
    return _Box(here - part * (here - low), here + part * (high - here), distance <= part * moved)


def _bound(relaxed: Relaxed) -> float:
    return relaxed.bound


@dataclass(frozen=True, slots=True, eq=False)
class _Prices:
    """Of weight, then of each row; `inside` the box, so that a wider one would change nothing."""

    prices: NDArray[np.float64]
    inside: bool


def _program(
    value: NDArray[np.float64],
    weight: NDArray[np.int64],
    capacity: int,
    rows: Rows,
    box: _Box,
) -> _Prices | None:
    """Solve the linear program with prices inside the box; None where the solver fails.

    A limit may be exceeded at its highest price, and what it leaves is bought back at its lowest: these two variables
    per limit are the box of the dual.
    """
    from scipy.optimize import linprog

    core = core_of(value, weight, rows.group)
    matrix = np.vstack([core.weight, rows.coefficient[:, core.group]]).astype(np.float64)
    limits = np.concatenate([[capacity], rows.limit]).astype(np.float64)
    unit = np.maximum(np.abs(matrix).mean(axis=1), 1.0) if matrix.size else np.ones(len(limits))
    matrix, limits, low, high = matrix / unit[:, None], limits / unit, box.low * unit, box.high * unit
    n, eye = len(core.items), np.eye(len(unit))
    upper = np.concatenate([core.items, np.full(2 * len(unit), np.inf)])
    bounds: Any = np.column_stack([np.zeros(len(upper)), upper])  # scipy's stubs want a list of pairs
    with silent_stdout():
        result = linprog(
            np.concatenate([-core.value, high, -low]),
            A_ub=np.hstack([matrix, -eye, eye]),
            b_ub=limits,
            bounds=bounds,
            method="highs-ds",
        )
    if result.x is None:
        return None
    exceeded, bought_back = result.x[n : n + len(unit)], result.x[n + len(unit) :]
    inside = bool(exceeded.max() <= _TINY) and bool(bought_back[low > 0].max(initial=0.0) <= _TINY)
    return _Prices(np.maximum(-result.ineqlin.marginals, 0.0) / unit, inside)
