"""Picks in a seeded order under quotas, for the policies that maximise nothing.

Invariant: within a group of items alike in all quotas, the picks come in the seeded order, whatever they cost; only
what no longer fits the budget at the end is skipped.
"""

import numpy as np
from numpy.typing import NDArray

from budgetplan.selection.constrained import completed, pack_within
from budgetplan.selection.relaxation import Problem
from budgetplan.selection.rows import Rows
from budgetplan.selection.ties import uniform

_SOLUTIONS = 12


def draw_within(
    weight: NDArray[np.int64], tie_key: NDArray[np.uint64], capacity: int, rows: Rows, time_limit_seconds: float
) -> NDArray[np.bool_] | None:
    """Take the n first items that hold the rows, for the largest n that the capacity pays, then what still fits.

    "First" is the largest sum of the seeded uniform numbers, at equal cost: without rows that is the seeded order, and
    where a floor or a cap binds it splits the n among the groups. None where that finds nothing.
    """
    if not len(weight):
        return None
    fitting = int(np.searchsorted(np.cumsum(np.sort(weight)), capacity, side="right"))
    low, high, found = 0, fitting + 1, None
    n = min(max(int(capacity // max(float(weight.mean()), 1e-9)), 1), fitting)
    units, value = np.ones(len(weight), dtype=np.int64), uniform(tie_key)
    for _ in range(_SOLUTIONS):
        if not low < n < high:
            break
        packing = pack_within(value, units, tie_key, n, rows, time_limit_seconds)
        cost = int(weight[packing.taken].sum()) if packing else 0
        if packing and cost <= capacity:
            low, found = n, packing.taken
        elif packing:
            high = n
        else:  # the rows cannot be held by so few
            low = n
        guess = round(n * capacity / cost) if cost else (low + high) // 2
        n = guess if low < guess < high else (low + high) // 2
    if found is None:
        return None
    order = np.argsort(tie_key, kind="stable")
    problem = Problem(value[order], weight[order], capacity, rows.of(order))
    taken = np.zeros(len(weight), dtype=np.bool_)
    taken[order] = completed(problem, found[order], value[order])
    return taken
