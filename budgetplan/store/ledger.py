"""The ledger: what was granted, planned and spent, on samples and on labels. Entries are added, never changed.

Invariant: per kind and state the entries add up to what holds now; a correction is an entry of the difference.
"""

from dataclasses import dataclass
from typing import Literal

import duckdb

Kind = Literal["probe", "labels", "training", "evaluation"]
State = Literal["left", "planned", "spent", "removed"]
"""`left`: granted to a shortlist and not planned; it adds up to the budget of a shortlist that is given none.
`removed`: spent on labels that were removed since, so that no later label is taken for already paid."""


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


_SPENT = """
    WITH work AS (
        SELECT item_id, status, seconds FROM label
        QUALIFY row_number() OVER (PARTITION BY item_id, annotator, coalesce(native_id, shortlist_id, '')
                                   ORDER BY coalesce(labeled_at, ingested_at) DESC, arrival DESC, place DESC) = 1),
    bought AS (SELECT DISTINCT item_id FROM work WHERE status = 'submitted'),
    prices AS (
        SELECT DISTINCT ON (item_id) item_id, cost, settings ->> '$.unit' AS unit
        FROM shortlist_item JOIN shortlist USING (shortlist_id)
        WHERE purpose = 'selection' ORDER BY recalled_at IS NOT NULL, number)
    SELECT '' AS unit, (SELECT count(*) FROM bought) AS items,
           (SELECT coalesce(sum(seconds), 0) FROM work) AS seconds, 0.0 AS amount
    UNION ALL
    SELECT unit, 0, 0, sum(cost) FROM prices SEMI JOIN bought USING (item_id)
    WHERE unit NOT IN ('items', 'h') GROUP BY unit"""
"""What all labels took.

An item is bought once, at what it was planned to cost, as soon as someone labels it; time counts for every annotator
and annotation, skips included.
"""


def enter_labels_spent(connection: duckdb.DuckDBPyConnection, reference: str, state: State = "spent") -> None:
    """Enter what the labels in the store took beyond what was entered before; "removed" for what they no longer show.

    What was paid stays spent when a person's records are removed.
    """
    now = {unit: amounts for unit, *amounts in connection.execute(_SPENT).fetchall()}
    entered = {
        unit: amounts
        for unit, *amounts in connection.execute(
            """SELECT unit, sum(CASE state WHEN 'spent' THEN items ELSE -items END),
                      sum(CASE state WHEN 'spent' THEN seconds ELSE -seconds END),
                      sum(CASE state WHEN 'spent' THEN amount ELSE -amount END)
               FROM ledger WHERE kind = 'labels' AND state IN ('spent', 'removed') GROUP BY unit"""
        ).fetchall()
    }
    sign = 1 if state == "spent" else -1
    for unit in sorted(now.keys() | entered.keys()):
        before, after = entered.get(unit, [0, 0.0, 0.0]), now.get(unit, [0, 0.0, 0.0])
        items, seconds, amount = (sign * round(a - b, 6) for a, b in zip(after, before, strict=True))
        if items or seconds or amount:
            enter(
                connection,
                Entry(
                    kind="labels",
                    state=state,
                    reference=reference,
                    items=int(items),
                    seconds=seconds,
                    amount=amount,
                    unit=unit,
                ),
            )


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
           FROM ledger WHERE state IN ('planned', 'spent') GROUP BY kind, state ORDER BY kind, state"""
    ).fetchall()
    money = connection.execute(
        """SELECT kind, state, unit, sum(amount) FROM ledger
           WHERE state IN ('planned', 'spent') AND unit NOT IN ('', 'items', 'h')
           GROUP BY ALL ORDER BY unit"""
    ).fetchall()
    return [
        Balance(
            kind, state, items, hours, tokens, {unit: amount for k, s, unit, amount in money if (k, s) == (kind, state)}
        )
        for kind, state, items, hours, tokens in rows
    ]


def left_to_plan(connection: duckdb.DuckDBPyConnection, pool_id: str) -> dict[str, float]:
    """What of the budgets granted to a pool's shortlists is not planned, by unit, the last used unit first."""
    rows = connection.execute(
        """SELECT unit, round(sum(amount), 6) FROM ledger
           SEMI JOIN (SELECT shortlist_id AS reference FROM shortlist WHERE pool_id = ?) USING (reference)
           WHERE kind = 'labels' AND state = 'left' GROUP BY unit ORDER BY max(entered_at) DESC, unit""",
        [pool_id],
    ).fetchall()
    return {str(unit): float(amount) for unit, amount in rows}
