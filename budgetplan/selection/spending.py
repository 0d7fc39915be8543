"""What a budget amounts to on this pool.

Invariant: a budget that cannot buy a single item, exceeds the pool or is in another unit than the costs never gets
through; the error names the amounts and the way on.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from budgetplan.errors import BudgetError
from budgetplan.selection.amounts import HOURS, ITEMS, SHARE, Amount
from budgetplan.selection.budget import Budget
from budgetplan.selection.candidates import Candidates
from budgetplan.selection.costs import Costs


def capacity_of(budget: Budget, costs: Costs, eligible: NDArray[np.bool_]) -> int:
    """Turn the budget into whole quanta of the costs' unit; a share is one of the summed cost of all eligible items."""
    pool = int(costs.quanta[eligible].sum())
    if budget.unit == SHARE:
        return math.floor(budget.amount * pool)
    if budget.unit != costs.unit:
        raise _wrong_unit(budget, costs)
    capacity = math.floor(budget.amount * costs.quanta_per_unit)
    if capacity > pool:
        raise BudgetError(
            f"budget {budget} is above the pool ({costs.amount(pool)}).",
            hint="Lower it: budgetplan shortlist --budget 100%",
        )
    return capacity


def below_cheapest(budget: Budget, costs: Costs, candidates: Candidates, cheapest: int) -> BudgetError:
    """Say that the budget does not reach the item at index `cheapest`, and which one does."""
    quanta = int(costs.quanta[cheapest])
    pool = int(costs.quanta[candidates.eligible].sum())
    if budget.unit == SHARE:
        have = f"{budget} of {costs.amount(pool)}"
        enough = Amount(Fraction(math.ceil(100 * Fraction(quanta, pool)), 100), SHARE)
    else:
        have = str(budget)
        enough = Amount(Fraction(math.ceil(Fraction(quanta, costs.quanta_per_unit))), costs.unit)
    return BudgetError(
        f"budget {have} is below the cheapest item ({candidates.item_id[cheapest].as_py()}, {costs.amount(quanta)}).",
        hint=f"Raise it: budgetplan shortlist --budget {enough.as_argument()}",
    )


def _wrong_unit(budget: Budget, costs: Costs) -> BudgetError:
    example = "5min" if budget.unit == HOURS else f"4{budget.unit}"
    again = (
        f"budgetplan shortlist --budget {Amount(budget.amount, budget.unit).as_argument()} --cost-per-item {example}"
    )
    if costs.unit == ITEMS:
        return BudgetError(
            f"budget {budget} needs a cost per item, and none is known.", hint=f"Say what an item costs: {again}"
        )
    return BudgetError(
        f"budget {budget} is in {budget.unit}, but the costs are in {costs.unit}.",
        hint=f"Give the budget in {costs.unit}, or a cost in {budget.unit}: {again}",
    )
