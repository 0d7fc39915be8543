"""Whether any picks hold a set of conditions, and what the cheapest such picks cost.

Invariant: what is found holds the rows in integers. The least cost is exact up to 200 items per group; beyond, runs of
items count at their mean cost, so it may be slightly above the least.
"""

import numpy as np
from numpy.typing import NDArray

from budgetplan.selection.core import Core, solve
from budgetplan.selection.rows import Rows

_RUNS = 200
_NO_LIMIT = float("inf")  # a few hundred variables; out of time would read as impossible


def fewest_picks(rows: Rows) -> NDArray[np.int64] | None:
    """Counts per group that hold the rows with as few picks as possible; None where nothing does."""
    sizes = np.bincount(rows.group, minlength=rows.n_groups)
    return _cheapest(sizes[:, None], np.ones((rows.n_groups, 1), dtype=np.int64), rows)


def affordable_picks(weight: NDArray[np.int64], capacity: int, rows: Rows) -> NDArray[np.bool_] | None:
    """Items that hold the rows within the capacity: as few as possible where that will do, else the cheapest."""
    fewest = fewest_picks(rows)
    if fewest is None:
        return None
    taken = _cheapest_of_each(weight, rows, fewest)
    if int(weight[taken].sum()) <= capacity:
        return taken
    cheapest = cheapest_picks(weight, rows)
    return cheapest if cheapest is not None and int(weight[cheapest].sum()) <= capacity else None


def cheapest_picks(weight: NDArray[np.int64], rows: Rows) -> NDArray[np.bool_] | None:
    """The cheapest items that hold the rows, equals in the given order; None where nothing does."""
    items = np.zeros((rows.n_groups, _RUNS), dtype=np.int64)
    cost = np.zeros((rows.n_groups, _RUNS), dtype=np.int64)
    for group in range(rows.n_groups):
        ordered = np.sort(weight[rows.group == group])
        edges = np.unique(np.linspace(0, len(ordered), min(_RUNS, len(ordered)) + 1).astype(np.intp))
        if len(ordered):
            items[group, : len(edges) - 1] = np.diff(edges)
            cost[group, : len(edges) - 1] = np.add.reduceat(ordered, edges[:-1]) // np.diff(edges)
    counts = _cheapest(items, cost, rows)
    return None if counts is None else _cheapest_of_each(weight, rows, counts)


def _cheapest_of_each(weight: NDArray[np.int64], rows: Rows, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark so many of the cheapest items of each group."""
    taken = np.zeros(len(weight), dtype=np.bool_)
    for group in np.flatnonzero(counts):
        own = np.flatnonzero(rows.group == group)
        taken[own[np.argsort(weight[own], kind="stable")[: counts[group]]]] = True
    return taken


def _cheapest(items: NDArray[np.int64], cost: NDArray[np.int64], rows: Rows) -> NDArray[np.int64] | None:
    """Counts per group at the least cost, given runs of (groups, runs) items at a rising cost each."""
    used = items > 0
    group = np.nonzero(used)[0]
    coefficient, limit, quota = rows.coefficient, rows.limit, rows.quota
    if not rows.may_be_empty:
        coefficient = np.vstack([coefficient, np.full((1, rows.n_groups), -1)])
        limit, quota = np.append(limit, -1), np.append(quota, -1)
    # A cost as value: what is not taken is kept. The scale keeps the solver's tolerances meaningful.
    scale = max(float(cost.max(initial=1)), 1.0)
    core = Core(-cost[used] / scale, np.zeros(len(group), dtype=np.int64), group, items[used], group)
    solved = solve(core, 0, Rows(group, coefficient, limit, quota), _NO_LIMIT, 0.0)
    if solved.counts is None:
        return None
    counts = np.bincount(group, solved.counts, minlength=rows.n_groups).astype(np.int64)
    return counts if rows.hold(counts) else None
