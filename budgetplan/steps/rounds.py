"""Rounds: what earlier shortlists took, what of their budgets is left, and taking items back."""

from collections.abc import Set
from fractions import Fraction

import duckdb
import numpy as np
from numpy.typing import NDArray

from budgetplan.config import Settings
from budgetplan.errors import BudgetError, NothingToDo
from budgetplan.selection.amounts import CURRENCIES, HOURS, ITEMS, Amount
from budgetplan.selection.budget import Budget, BudgetKind, parse_budget
from budgetplan.store.adjudications import ANOTHER_LOOK
from budgetplan.store.connection import Store
from budgetplan.store.ledger import Entry, enter, left_to_plan
from budgetplan.store.shortlists import Recalled, available_items, last_selection, recall_items

_KINDS: dict[str, BudgetKind] = {ITEMS: "items", HOURS: "time", **dict.fromkeys(CURRENCIES, "money")}


def available(connection: duckdb.DuckDBPyConnection, pool_id: str, n_items: int) -> NDArray[np.bool_]:
    """Mark the items of a pool that are neither bought nor out for annotation, in file order."""
    marks = available_items(connection, pool_id)
    return np.ones(n_items, dtype=np.bool_) if marks is None else np.asarray(marks.to_numpy())


def budget_of(connection: duckdb.DuckDBPyConnection, pool_id: str, given: str | None) -> Budget:
    """The budget as given, or what the pool's earlier shortlists left of theirs, in the unit of the last one."""
    if given is not None:
        return parse_budget(given)
    granted = left_to_plan(connection, pool_id)
    left = [(unit, amount) for unit, amount in granted.items() if amount > 0]
    if not left:
        raise BudgetError(
            "nothing is left of the budgets given so far." if granted else "no budget was given.",
            hint="Give one: budgetplan shortlist --budget 10%",
        )
    unit, amount = left[0]
    exact = Fraction(amount).limit_denominator(10**6)
    return Budget(_KINDS[unit], exact, f"what is left ({Amount(exact, unit)})", unit if unit in CURRENCIES else None)


CARRIED_ON = ("policy", "cost_column", "cost_unit", "cost_per_item")


def carried_on(connection: duckdb.DuckDBPyConnection, pool_id: str, settings: Settings, given: Set[str]) -> Settings:
    """Go on under the last shortlist's policy and costs, but for the settings that were given."""
    last = last_selection(connection, pool_id)
    kept = {name: last[name] for name in CARRIED_ON if name in last and name not in given}
    if given & set(CARRIED_ON[1:]):
        kept = {name: value for name, value in kept.items() if name == CARRIED_ON[0]}
    return settings.model_copy(update=kept)


def await_labels(connection: duckdb.DuckDBPyConnection, pool_id: str) -> None:
    """Raise NothingToDo where the last shortlist was a batch whose labels the rest was to wait for."""
    last = last_selection(connection, pool_id)
    if last.get("batch", 1.0) < 1.0:
        raise NothingToDo(
            f"no label of the last batch ({last['shortlist_id']}) is back, and the rest of the budget waits for them.",
            hint="Bring them in: budgetplan ingest FILE, or spend the rest now: budgetplan shortlist --batch 100%",
        )


def recall(store: Store, shortlist_id: str, item_ids: list[str]) -> Recalled:
    """Take items back from the annotators; they can be chosen again, and their budget is free."""
    with store.writing() as connection:
        recalled = recall_items(connection, shortlist_id, item_ids)
        enter_planned(connection, shortlist_id, -len(recalled.item_ids), -recalled.cost, recalled.unit)
        if recalled.purpose != ANOTHER_LOOK:  # which was planned from no budget
            enter_left(connection, shortlist_id, recalled.freed, recalled.freed_unit)
    return recalled


def enter_planned(connection: duckdb.DuckDBPyConnection, shortlist_id: str, items: int, cost: float, unit: str) -> None:
    """Enter what labels are planned to cost, in items, hours or money; less than 0 for what was taken back."""
    entry = Entry(
        kind="labels",
        state="planned",
        reference=shortlist_id,
        items=items,
        seconds=3600 * cost if unit == HOURS else 0.0,
        amount=cost if unit in CURRENCIES else 0.0,
        unit=unit if unit in CURRENCIES else "",
    )
    enter(connection, entry)


def enter_left(connection: duckdb.DuckDBPyConnection, shortlist_id: str, amount: float, unit: str) -> None:
    """Enter what of a budget is not planned; less than 0 where it was planned after all."""
    enter(connection, Entry(kind="labels", state="left", reference=shortlist_id, amount=amount, unit=unit))
