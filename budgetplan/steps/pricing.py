"""What each item of a pool costs, from the settings and the user's own columns."""

from budgetplan.config import Settings
from budgetplan.errors import BudgetError
from budgetplan.selection.candidates import Candidates
from budgetplan.selection.costs import Costs, parse_cost_column, parse_cost_per_item, unpriced
from budgetplan.store.connection import Store
from budgetplan.store.pools import own_column, own_column_names


def item_costs(store: Store, pool_id: str, settings: Settings, candidates: Candidates) -> Costs:
    """Costs from `--cost-column`, from `--cost-per-item`, or else one item each."""
    if settings.cost_column and settings.cost_per_item:
        raise BudgetError("--cost-column and --cost-per-item are both given.", hint="Give one of them.")
    if settings.cost_per_item:
        return parse_cost_per_item(settings.cost_per_item, len(candidates))
    if not settings.cost_column:
        return unpriced(len(candidates))
    with store.reading() as connection:
        names = own_column_names(connection, pool_id)
        if settings.cost_column not in names:
            raise BudgetError(
                f"--cost-column {settings.cost_column}: the pool has no such column "
                f"(it has: {', '.join(names) or 'none'}).",
                hint="Name one of those, or give one cost for all: --cost-per-item 4usd",
            )
        values = own_column(connection, pool_id, settings.cost_column)
    return parse_cost_column(settings.cost_column, values, candidates.item_id, candidates.eligible, settings.cost_unit)
