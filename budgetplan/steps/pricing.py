"""What each item of a pool costs, from the settings and the user's own columns."""

from budgetplan.config import Settings
from budgetplan.errors import BudgetError
from budgetplan.selection.candidates import Candidates
from budgetplan.selection.costs import Costs, parse_cost_column, parse_cost_per_item, unpriced
from budgetplan.store.connection import Store
from budgetplan.store.pools import item_details


def item_costs(store: Store, pool_id: str, settings: Settings, candidates: Candidates) -> Costs:
    """Costs from `--cost-column`, from `--cost-per-item`, or else one item each."""
    if settings.cost_column and settings.cost_per_item:
        raise BudgetError("--cost-column and --cost-per-item are both given.", hint="Give one of them.")
    if settings.cost_per_item:
        return parse_cost_per_item(settings.cost_per_item, len(candidates))
    if not settings.cost_column:
        return unpriced(len(candidates))
    with store.reading() as connection:
        own = item_details(connection, pool_id, candidates.item_id)
    column = settings.cost_column if settings.cost_column in own.column_names else "user_" + settings.cost_column
    if column not in own.column_names:
        raise BudgetError(
            f"--cost-column {settings.cost_column}: the pool has no such column "
            f"(it has: {', '.join(own.column_names[1:]) or 'none'}).",
            hint="Name one of those, or give one cost for all: --cost-per-item 4usd",
        )
    return parse_cost_column(
        settings.cost_column, own[column], candidates.item_id, candidates.eligible, settings.cost_unit
    )
