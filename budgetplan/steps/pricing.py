"""What each item of a pool costs: from the settings, the user's own columns, or the annotators' measured times."""

from dataclasses import dataclass

import duckdb
import numpy as np

from budgetplan.config import Settings
from budgetplan.errors import BudgetError
from budgetplan.selection.amounts import HOURS
from budgetplan.selection.budget import Budget
from budgetplan.selection.candidates import Candidates
from budgetplan.selection.cost_model import MIN_TIMED, CostModel, fit_cost_model
from budgetplan.selection.costs import Costs, parse_cost_column, parse_cost_per_item, unpriced
from budgetplan.store.labels import item_seconds
from budgetplan.store.pools import own_column, own_column_names, prompts

MEASURED = "measured"
"""The `--cost-per-item` that stands for the annotators' own times."""


@dataclass(frozen=True, slots=True, eq=False)
class Pricing:
    """Costs, and the model they come from where they were learned from measured times."""

    costs: Costs
    model: CostModel | None = None


def item_costs(
    connection: duckdb.DuckDBPyConnection,
    pool_id: str,
    settings: Settings,
    candidates: Candidates,
    budget: Budget | None = None,
) -> Pricing:
    """Costs from `--cost-column` or `--cost-per-item`; else measured, if the budget is in time; else one item each."""
    if settings.cost_column and settings.cost_per_item:
        raise BudgetError("--cost-column and --cost-per-item are both given.", hint="Give one of them.")
    if settings.cost_column:
        return Pricing(_own_costs(connection, pool_id, settings, candidates))
    if settings.cost_per_item and settings.cost_per_item != MEASURED:
        return Pricing(parse_cost_per_item(settings.cost_per_item, len(candidates)))
    if settings.cost_per_item == MEASURED or (budget is not None and budget.kind == "time"):
        model = measured_costs(connection, pool_id)
        if model is not None:
            seconds = model.predict(prompts(connection, pool_id))
            return Pricing(Costs(np.rint(1000 * seconds).astype(np.int64), HOURS), model)
    if settings.cost_per_item == MEASURED:
        raise BudgetError(
            f"--cost-per-item {MEASURED}: fewer than {MIN_TIMED} items have labels with a measured time.",
            hint="Say what an item costs: --cost-per-item 5min",
        )
    return Pricing(unpriced(len(candidates)))


def measured_costs(connection: duckdb.DuckDBPyConnection, pool_id: str) -> CostModel | None:
    """What annotators' times say an item takes; None while too few are measured."""
    seconds = item_seconds(connection, pool_id)
    if len(seconds) - seconds.null_count < MIN_TIMED:
        return None
    return fit_cost_model(prompts(connection, pool_id), seconds.to_numpy())


def _own_costs(
    connection: duckdb.DuckDBPyConnection, pool_id: str, settings: Settings, candidates: Candidates
) -> Costs:
    column = str(settings.cost_column)
    names = own_column_names(connection, pool_id)
    if column not in names:
        raise BudgetError(
            f"--cost-column {column}: the pool has no such column (it has: {', '.join(names) or 'none'}).",
            hint="Name one of those, or give one cost for all: --cost-per-item 4usd",
        )
    values = own_column(connection, pool_id, column)
    return parse_cost_column(column, values, candidates.item_id, candidates.eligible, settings.cost_unit)
