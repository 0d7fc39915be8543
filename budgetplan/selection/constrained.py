"""The most value within a budget and under conditions on groups: prices first, then an exact core.

Invariant: what is returned holds the capacity and the rows in integer arithmetic, and `bound` is at least the best
possible value.
"""

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from budgetplan.selection.core import Solved, core_of, solve
from budgetplan.selection.feasible import affordable_picks
from budgetplan.selection.knapsack import NEGLIGIBLE_GAP, Packing, fill
from budgetplan.selection.relaxation import Problem, Relaxed, relax
from budgetplan.selection.rows import Rows

_FIRST_CORE = 1_000
_LARGEST_CORE = 64_000
_LEAST_VALUE = 1e-9  # of the best item's: an item of no value is still bought before budget is left over
_SHAVE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class _Best:
    """The best set so far, and what no set exceeds."""

    taken: NDArray[np.bool_]
    objective: float
    bound: float

    @property
    def open_gap(self) -> float:
        return self.bound - self.objective

    @property
    def closed(self) -> bool:
        return self.open_gap <= NEGLIGIBLE_GAP * self.bound


def pack_within(
    value: NDArray[np.float64],
    weight: NDArray[np.int64],
    tie_key: NDArray[np.uint64],
    capacity: int,
    rows: Rows,
    time_limit_seconds: float,
) -> Packing | None:
    """Maximise the summed value under the capacity and the rows; None where nothing holds them.

    An item whose gain at the relaxation's prices is farther from 0 than the distance between bound and best set keeps
    its side of it; the others go to `scipy.optimize.milp`, the nearest first.
    """
    started = time.monotonic()
    order = np.argsort(tie_key, kind="stable")
    order = order[weight[order] <= capacity]
    floor = _LEAST_VALUE * float(value.max(initial=0.0)) or _LEAST_VALUE
    problem = Problem(np.maximum(value[order], floor), weight[order], capacity, rows.of(order))
    first = affordable_picks(problem.weight, capacity, problem.rows)
    if first is None or not problem.holds(first):
        return None
    relaxed = relax(problem)
    best = _Best(first, problem.worth(first), relaxed.bound)
    best, status = _improve(problem, relaxed, best, time.monotonic() + time_limit_seconds)
    whole = completed(problem, best.taken, relaxed.gain)
    taken = np.zeros(len(value), dtype=np.bool_)
    taken[order[whole]] = True
    objective = problem.worth(whole)
    return Packing(taken, objective, max(best.bound, objective), status, time.monotonic() - started)


def _improve(problem: Problem, relaxed: Relaxed, best: _Best, deadline: float) -> tuple[_Best, str]:
    """Solve larger and larger cores until the gap is closed, the core holds all that is open, or time is up."""
    distance, size = np.abs(relaxed.gain), _FIRST_CORE
    while not best.closed:
        is_open = distance <= best.open_gap
        free = is_open.copy()
        if int(free.sum()) > size:
            free &= distance <= np.partition(distance, size)[size]  # equals stay together: they are one variable
        seconds = max(deadline - time.monotonic(), 0.0)
        complete = bool((free == is_open).all())
        found, solved = _with_core(problem, free, (relaxed.gain > 0) & ~free, best.bound, seconds)
        if found is not None and problem.worth(found) > best.objective:
            best = replace(best, taken=found, objective=problem.worth(found))
        if complete:
            best = replace(best, bound=min(best.bound, max(solved.bound, best.objective)))
            return best, "optimal" if best.closed else solved.status
        if seconds == 0.0 or size >= _LARGEST_CORE:
            return best, "time limit" if seconds == 0.0 else "stopped"
        size *= 4
    return best, "optimal"


def _with_core(
    problem: Problem, free: NDArray[np.bool_], kept: NDArray[np.bool_], bound: float, seconds: float
) -> tuple[NDArray[np.bool_] | None, Solved]:
    """Choose among the `free` items beside the `kept` ones: a set that holds everything, if found, and the bound."""
    rows = problem.rows.beside(problem.rows.counts(kept)).of(free)
    rows = replace(rows, may_be_empty=problem.rows.may_be_empty or bool(kept.any()))
    core = core_of(problem.value[free], problem.weight[free], rows.group)
    left = problem.capacity - int(problem.weight[kept].sum())
    worth = problem.worth(kept)
    gap = min(NEGLIGIBLE_GAP / 2 * bound / max(bound - worth, NEGLIGIBLE_GAP * bound), 0.1)
    solved = Solved(None, np.inf, "stopped")
    for shaved in (0.0, _SHAVE):  # the solver works with tolerances; the integers decide what fits
        again = solve(core, left - int(np.ceil(shaved * left)), rows, seconds, gap)
        solved = solved if shaved else replace(again, bound=worth + again.bound)
        if again.counts is None:
            break
        taken = kept.copy()
        taken[free] = core.lowest(again.counts)
        if problem.holds(taken):
            return taken, solved
    return None, solved


def completed(problem: Problem, taken: NDArray[np.bool_], gain: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Add what still fits beside the taken items, best gain first within a group."""
    taken, counts = taken.copy(), problem.rows.counts(taken)
    left = problem.capacity - int(problem.weight[taken].sum())
    for group in range(problem.rows.n_groups):
        room = problem.rows.addable(counts, group)
        others = np.flatnonzero(~taken & (problem.rows.group == group) & (problem.weight <= left))
        if room <= 0 or not others.size:
            continue
        others = others[np.argsort(-gain[others], kind="stable")]
        added = others[fill(problem.weight[others], left)][:room]
        taken[added] = True
        counts[group] += len(added)
        left -= int(problem.weight[added].sum())
    return taken
