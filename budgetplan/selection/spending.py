"""What a budget amounts to on this pool.

Invariant: a budget that cannot buy a single item, exceeds what is left to buy or is in another unit than the costs
never gets through; the error names the amounts and the way on.
"""

import math
from fractions import Fraction

from budgetplan.errors import BudgetError, counted
from budgetplan.selection.amounts import HOURS, ITEMS, SHARE, Amount
from budgetplan.selection.budget import Budget
from budgetplan.selection.candidates import Candidates
from budgetplan.selection.costs import Costs, unpriced

_MICRO = 10**6  # amounts are written with six decimals


def costs_under(budget: Budget, costs: Costs) -> Costs:
    """What the budget is spent in: whole items where it counts items, else the costs."""
    return unpriced(len(costs.quanta)) if budget.kind == "items" else costs


def affordable_items(budget: Budget, costs: Costs, candidates: Candidates) -> int:
    """How many items of average cost the budget buys."""
    paid_in = costs_under(budget, costs)
    pool = int(paid_in.quanta[candidates.eligible].sum())
    return capacity_of(budget, paid_in, candidates) * int(candidates.eligible.sum()) // max(pool, 1)


def capacity_of(budget: Budget, costs: Costs, candidates: Candidates) -> int:
    """Turn the budget into whole quanta of the costs' unit; a share is one of the summed cost of all eligible items."""
    pool = int(costs.quanta[candidates.eligible].sum())
    left = int(costs.quanta[candidates.eligible & candidates.available].sum())
    if budget.unit not in (SHARE, costs.unit):
        raise _wrong_unit(budget, costs)
    capacity = math.floor(budget.amount * (pool if budget.unit == SHARE else costs.quanta_per_unit))
    if 0 < left < capacity:  # what is left for nothing is always bought
        raise _above_what_is_left(budget, costs, pool, left)
    return capacity


def below_cheapest(
    budget: Budget, costs: Costs, candidates: Candidates, cheapest: int, reserved: int = 0
) -> BudgetError:
    """Say that the budget does not reach the item at index `cheapest`, and which one does.

    `reserved` quanta of it go to the audit slice first.
    """
    quanta = int(costs.quanta[cheapest])
    pool = int(costs.quanta[candidates.eligible].sum())
    if budget.unit == SHARE:
        have = f"{budget} of {costs.amount(pool)}"
        enough = Amount(Fraction(math.ceil(100 * Fraction(quanta + reserved, pool)), 100), SHARE)
    else:
        have = str(budget)
        enough = Amount(Fraction(math.ceil(Fraction(quanta + reserved, costs.quanta_per_unit))), costs.unit)
    slice_first = f"the audit slice ({costs.amount(reserved)}) and " if reserved else ""
    return BudgetError(
        f"budget {have} is below {slice_first}the cheapest item "
        f"({candidates.item_id[cheapest].as_py()}, {costs.amount(quanta)}).",
        hint=f"Raise it: budgetplan shortlist --budget {enough.as_argument()}"
        + (", or draw fewer audit items: --audit" if reserved else ""),
    )


def above_for_must(
    budget: Budget, costs: Costs, candidates: Candidates, n_must: int, for_must: int, reserved: int = 0
) -> BudgetError:
    """Say that the budget does not reach for the must-have items, after `reserved` quanta for the audit slice."""
    pool = int(costs.quanta[candidates.eligible].sum())
    total = for_must + reserved
    if budget.unit == SHARE:
        have = f"{budget} of {costs.amount(pool)}"
        enough = Amount(Fraction(math.ceil(100 * Fraction(total, pool)), 100), SHARE)
    else:
        have = str(budget)
        enough = Amount(Fraction(math.ceil(Fraction(total, costs.quanta_per_unit))), costs.unit)
    slice_first = f"the audit slice ({costs.amount(reserved)}) and " if reserved else ""
    what = f"the {counted(n_must, 'must-have item')}"
    return BudgetError(
        f"budget {have} is below {slice_first}{what}"
        + (f" ({costs.amount(for_must)})." if reserved or costs.unit != ITEMS else "."),
        hint=f"Raise it: budgetplan shortlist --budget {enough.as_argument()}, or shorten the list of --must",
    )


def _above_what_is_left(budget: Budget, costs: Costs, pool: int, left: int) -> BudgetError:
    if left == pool:
        return BudgetError(
            f"budget {budget} is above the pool ({costs.amount(pool)}).",
            hint="Lower it: budgetplan shortlist --budget 100%",
        )
    affordable = Amount(Fraction(left * _MICRO // costs.quanta_per_unit, _MICRO), costs.unit)
    return BudgetError(
        f"budget {budget} is above what is left to buy: {costs.amount(left)} "
        f"({costs.amount(pool - left)} of {costs.amount(pool)} bought or out for annotation).",
        hint=f"Lower it: budgetplan shortlist --budget {affordable.as_argument()}",
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
