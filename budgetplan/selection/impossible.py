"""Why quotas cannot be kept: which of them contradict each other, or what the cheapest picks that keep them cost.

Invariant: the quotas named are a smallest conflict: without any one of them, the others could be kept.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from budgetplan.errors import BudgetError
from budgetplan.selection.amounts import ITEMS, Amount
from budgetplan.selection.costs import Costs
from budgetplan.selection.feasible import cheapest_picks, fewest_picks
from budgetplan.selection.quotas import Quotas, too_few
from budgetplan.selection.rows import Rows


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """Quotas as conditions on what can be picked, the pool rows behind it, and what may be spent on it, in quanta.

    `paid` quanta of the budget go to must-have items (`must`) and the audit slice.
    """

    quotas: Quotas
    rows: Rows
    index: NDArray[np.intp]
    must: NDArray[np.intp]
    weight: NDArray[np.int64]
    capacity: int
    paid: int


def why_not(ask: Ask, costs: Costs) -> BudgetError:
    """Explain an ask that nothing meets."""
    for row, n in zip(range(len(ask.rows.limit)), ask.rows.quota, strict=True):
        alone = ask.rows.of_quotas(ask.rows.quota[row : row + 1])
        there, floor = int(ask.quotas.member[n, ask.index].sum()), ask.quotas.asked[n].low
        beside = int(ask.quotas.member[n, ask.must].sum())
        if floor and not floor.is_share and floor.amount > there + beside and fewest_picks(alone) is None:
            return too_few(ask.quotas.asked[n], there, beside)
    if fewest_picks(ask.rows) is None:
        return _contradiction(ask)
    return _too_dear(ask, costs)


def _contradiction(ask: Ask) -> BudgetError:
    """Leave out one quota after the other, as long as the rest cannot be kept."""
    conflict = np.arange(len(ask.quotas.asked))
    for n in conflict.copy():
        fewer = conflict[conflict != n]
        if fewest_picks(ask.rows.of_quotas(fewer)) is None:
            conflict = fewer
    named = [str(ask.quotas.asked[n]) for n in conflict]
    beside = f" beside the {len(ask.must):,} must-have items" if len(ask.must) else ""
    if len(named) == 1:
        there = int(ask.quotas.member[conflict[0], ask.index].sum())
        return BudgetError(
            f"{named[0]} cannot be kept{beside}: of the {len(ask.index):,} items that can be picked, "
            f"{there:,} have this value.",
            hint=f"Widen it, or leave it away: {ask.quotas.asked[conflict[0]].place}",
        )
    return BudgetError(
        f"no picks keep these quotas together{beside}: {', '.join(named)}.",
        hint=f"Widen one of them, or leave one away, for example {named[-1]}",
    )


def _too_dear(ask: Ask, costs: Costs) -> BudgetError:
    cheapest = cheapest_picks(ask.weight, ask.rows)
    spent = int(ask.weight[cheapest].sum()) if cheapest is not None else ask.capacity + 1
    per_unit = costs.quanta_per_unit
    enough = Amount(Fraction(math.ceil(Fraction(spent + ask.paid, per_unit))), costs.unit)
    named = ", ".join(str(quota) for quota in ask.quotas.asked)
    items = "" if costs.unit == ITEMS or cheapest is None else f" ({int(cheapest.sum()):,} of them)"
    return BudgetError(
        f"the cheapest items{items} that keep the quotas cost {costs.amount(spent)}, and "
        f"{costs.amount(ask.capacity)} can be spent on picks: {named}.",
        hint=f"Raise it: budgetplan shortlist --budget {enough.as_argument()}, or widen a quota",
    )
