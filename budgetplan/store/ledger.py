"""The ledger: what was granted, planned and spent, on samples and on labels. Entries are added, never changed.

Invariant: per kind and state the entries add up to what holds now; a correction is an entry of the difference.
"""

from dataclasses import dataclass
from typing import Literal

import duckdb

Kind = Literal["probe", "labels"]
State = Literal["left", "planned", "spent"]
"""`left`: granted to a shortlist and not planned; it adds up to the budget of a shortlist that is given none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """`amount` is in `unit` ("items", "h" or a currency); a planned label's time stands in `seconds` only if in "h"."""

    kind: Kind
    state: State
    reference: str
    seconds: float = 0.0
    tokens: int = 0
    items: int = 0
    amount: float = 0.0
    unit: str = ""


def enter(connection: duckdb.DuckDBPyConnection, entry: Entry) -> None:
    """Add an entry."""
    connection.execute(
        """INSERT INTO ledger (entered_at, kind, state, reference, seconds, tokens, items, amount, unit)
           VALUES (now(), ?, ?, ?, ?, ?, ?, ?, ?)""",
        [
            entry.kind,
            entry.state,
            entry.reference,
            entry.seconds,
            entry.tokens,
            entry.items,
            entry.amount,
            entry.unit,
        ],
    )


def enter_labels_spent(connection: duckdb.DuckDBPyConnection, reference: str) -> None:
    """Enter what the labels that now hold took beyond what was entered before.

    An item is bought once, at the cost it was planned at, as soon as anyone labels it; time counts for every annotator,
    skips included.
    """
    items, seconds = connection.execute(
        "SELECT count(DISTINCT item_id) FILTER (status <> 'skipped'), coalesce(sum(seconds), 0) FROM current_label"
    ).fetchall()[0]
    money = dict(
        connection.execute(
            """SELECT unit, sum(cost) FROM (
                   SELECT DISTINCT ON (item_id) item_id, cost, settings ->> '$.unit' AS unit
                   FROM shortlist_item JOIN shortlist USING (shortlist_id)
                   SEMI JOIN (SELECT item_id FROM current_label WHERE status <> 'skipped') USING (item_id)
                   ORDER BY number)
               WHERE unit NOT IN ('items', 'h') GROUP BY unit"""
        ).fetchall()
    )
    spent = "FROM ledger WHERE kind = 'labels' AND state = 'spent'"
    items_before, seconds_before = connection.execute(
        f"SELECT coalesce(sum(items), 0), coalesce(sum(seconds), 0) {spent}"
    ).fetchall()[0]
    money_before = dict(
        connection.execute(f"SELECT unit, sum(amount) {spent} AND amount <> 0 GROUP BY unit").fetchall()
    )
    if items != items_before or abs(seconds - seconds_before) > 1e-6:
        work = Entry(
            kind="labels",
            state="spent",
            reference=reference,
            items=int(items - items_before),
            seconds=seconds - seconds_before,
        )
        enter(connection, work)
    for unit in sorted(money.keys() | money_before.keys()):
        difference = money.get(unit, 0.0) - money_before.get(unit, 0.0)
        if abs(difference) > 1e-9:
            enter(connection, Entry(kind="labels", state="spent", reference=reference, amount=difference, unit=unit))


@dataclass(frozen=True, slots=True)
class Balance:
    """Everything of one kind and state: items, hours, tokens, and money by currency."""

    kind: str
    state: str
    items: int
    hours: float
    tokens: int
    money: dict[str, float]


def balances(connection: duckdb.DuckDBPyConnection) -> list[Balance]:
    """What was planned and spent, by kind."""
    rows = connection.execute(
        """SELECT kind, state, sum(items)::BIGINT, sum(seconds) / 3600, sum(tokens)::BIGINT
           FROM ledger WHERE state <> 'left' GROUP BY kind, state ORDER BY kind, state"""
    ).fetchall()
    money = connection.execute(
        """SELECT kind, state, unit, sum(amount) FROM ledger WHERE state <> 'left' AND unit NOT IN ('', 'items', 'h')
           GROUP BY ALL ORDER BY unit"""
    ).fetchall()
    return [
        Balance(
            kind, state, items, hours, tokens, {unit: amount for k, s, unit, amount in money if (k, s) == (kind, state)}
        )
        for kind, state, items, hours, tokens in rows
    ]


def left_to_plan(connection: duckdb.DuckDBPyConnection) -> dict[str, float]:
    """What of the budgets granted to shortlists is not planned, by unit."""
    rows = connection.execute(
        """SELECT unit, round(sum(amount), 6) FROM ledger WHERE kind = 'labels' AND state = 'left'
           GROUP BY unit ORDER BY unit"""
    ).fetchall()
    return {str(unit): float(amount) for unit, amount in rows}
