"""Shortlists in the store: what was chosen, when, under which settings."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from budgetplan.errors import NothingToDo, StoreError
from budgetplan.store.adjudications import ANOTHER_LOOK
from budgetplan.store.connection import scalar


def next_number(connection: duckdb.DuckDBPyConnection) -> int:
    """The number the next shortlist gets, from 1."""
    return int(scalar(connection, "SELECT coalesce(max(number), 0) + 1 FROM shortlist"))


def shortlist_name(number: int) -> str:
    """The id a numbered shortlist goes by, in the store and in file names."""
    return f"sl-{number:04d}"


def save_shortlist(
    connection: duckdb.DuckDBPyConnection,
    number: int,
    settings: dict[str, Any],
    picked: pa.Table,
) -> None:
    """Write a shortlist.

    `settings` has run_id, pool_id, policy, budget and purpose, `picked` item_id, rank, score and cost.
    """
    name = shortlist_name(number)
    if next_number(connection) != number:
        raise StoreError(f"another shortlist became {name} meanwhile.", hint="Run the same command again.")
    connection.execute(
        "INSERT INTO shortlist VALUES (?, ?, ?, ?, ?, ?, ?, now(), ?)",
        [
            name,
            number,
            settings["run_id"],
            settings["pool_id"],
            settings["policy"],
            settings["budget"],
            json.dumps(settings),
            settings["purpose"],
        ],
    )
    connection.register("picked", picked)
    connection.execute(
        """INSERT INTO shortlist_item (shortlist_id, item_id, rank, score, cost)
           SELECT ?, item_id, rank, score, cost FROM picked""",
        [name],
    )
    connection.unregister("picked")


def save_audit(
    connection: duckdb.DuckDBPyConnection, pool_id: str, shortlist_id: str, item_ids: pa.Array, inclusion: float
) -> None:
    """Remember a pool's audit slice as it now is; items of earlier rounds stay in it."""
    connection.register("drawn", pa.table({"item_id": item_ids}))
    connection.execute("DELETE FROM audit_item WHERE pool_id = ? AND item_id IN (SELECT item_id FROM drawn)", [pool_id])
    connection.execute("INSERT INTO audit_item SELECT ?, item_id, ?, ? FROM drawn", [pool_id, shortlist_id, inclusion])
    connection.unregister("drawn")


def audit_size(connection: duckdb.DuckDBPyConnection, pool_id: str) -> int:
    """How many items a pool's audit slice has."""
    return int(scalar(connection, "SELECT count(*) FROM audit_item WHERE pool_id = ?", [pool_id]))


def audit_items(connection: duckdb.DuckDBPyConnection, pool_id: str) -> pa.Table:
    """The items of a pool's audit slice (item_id, inclusion), in no particular order."""
    return connection.sql(
        "SELECT item_id, inclusion FROM audit_item WHERE pool_id = ?", params=[pool_id]
    ).to_arrow_table()


def last_selection(connection: duckdb.DuckDBPyConnection, pool_id: str) -> dict[str, Any]:
    """The settings of the last shortlist that spent a budget on a pool; empty for none."""
    rows = connection.execute(
        "SELECT settings FROM shortlist WHERE pool_id = ? AND purpose = 'selection' ORDER BY number DESC LIMIT 1",
        [pool_id],
    ).fetchall()
    settings: dict[str, Any] = json.loads(rows[0][0]) if rows else {}
    return settings


_OUT = "(SELECT item_id FROM shortlist_item WHERE recalled_at IS NULL)"
_BOUGHT = "(SELECT item_id FROM label WHERE status = 'submitted')"


def available_items(connection: duckdb.DuckDBPyConnection, pool_id: str) -> pa.ChunkedArray | None:
    """Which items of a pool are neither out for annotation nor bought, in file order; None: all of them."""
    if not scalar(connection, f"SELECT count(*) FROM (FROM {_OUT} UNION ALL FROM {_BOUGHT})"):
        return None
    return connection.sql(
        f"""SELECT item_id NOT IN (FROM {_OUT} UNION FROM {_BOUGHT}) AS available
            FROM pool_item WHERE pool_id = ? ORDER BY row, item_id""",
        params=[pool_id],
    ).to_arrow_table()["available"]


@dataclass(frozen=True, slots=True)
class Recalled:
    """Items taken back from the annotators, what they were to cost, and what of the budget became free."""

    shortlist_id: str
    purpose: str
    item_ids: list[str]
    cost: float
    unit: str
    freed: float
    freed_unit: str


def check_shortlist(connection: duckdb.DuckDBPyConnection, shortlist_id: str) -> None:
    """Raise NothingToDo where there is no such shortlist."""
    known = [row.shortlist_id for row in all_shortlists(connection)]
    if shortlist_id not in known:
        raise NothingToDo(
            f"there is no shortlist {shortlist_id}.", hint=f"The shortlists are: {', '.join(known) or 'none yet'}."
        )


def recall_items(connection: duckdb.DuckDBPyConnection, shortlist_id: str, item_ids: list[str]) -> Recalled:
    """Take items of a shortlist back (all that have no label where none is named), so that they can be chosen again."""
    check_shortlist(connection, shortlist_id)
    found = connection.execute(
        "SELECT settings, purpose FROM shortlist WHERE shortlist_id = ?", [shortlist_id]
    ).fetchall()
    settings, purpose = json.loads(found[0][0]), found[0][1]
    rows = connection.execute(
        """SELECT item_id, cost FROM shortlist_item AS i
            WHERE shortlist_id = $id AND recalled_at IS NULL AND NOT EXISTS (
                FROM label AS l WHERE l.item_id = i.item_id AND l.status = 'submitted'
                AND ($purpose = 'selection' OR l.shortlist_id = $id))
            ORDER BY rank""",
        {"id": shortlist_id, "purpose": purpose},
    ).fetchall()
    costs = {item_id: cost for item_id, cost in rows if not item_ids or item_id in item_ids}
    _refuse_others(shortlist_id, item_ids, costs)
    connection.execute(
        "UPDATE shortlist_item SET recalled_at = now() WHERE shortlist_id = ? AND list_contains(?, item_id)",
        [shortlist_id, list(costs)],
    )
    connection.execute(
        "DELETE FROM audit_item WHERE pool_id = ? AND list_contains(?, item_id)", [settings["pool_id"], list(costs)]
    )
    cost, freed_unit = sum(costs.values()), settings.get("left_unit", settings["unit"])
    freed = len(costs) if freed_unit == "items" else cost
    return Recalled(
        shortlist_id=shortlist_id,
        purpose=purpose,
        item_ids=list(costs),
        cost=cost,
        unit=settings["unit"],
        freed=0 if purpose == ANOTHER_LOOK else freed,
        freed_unit=freed_unit,
    )


def _refuse_others(shortlist_id: str, item_ids: list[str], out: Collection[str]) -> None:
    for item_id in item_ids:
        if item_id not in out:
            raise NothingToDo(
                f"{item_id} is not out in {shortlist_id}: not on it (its ids begin with bp-), labelled, or recalled.",
                hint=f"See what is still out: budgetplan status, or the item_id column of {shortlist_id}.csv",
            )
    if not out:
        raise NothingToDo(f"nothing is out in {shortlist_id}.", hint="See what there is: budgetplan status")


@dataclass(frozen=True, slots=True)
class ShortlistRow:
    """A shortlist as the store knows it: of its items some came back labelled, some were recalled."""

    shortlist_id: str
    purpose: str
    policy: str
    budget: str
    n_items: int
    n_labelled: int
    n_recalled: int
    run_id: str
    created_at: str


def all_shortlists(connection: duckdb.DuckDBPyConnection) -> list[ShortlistRow]:
    """Every shortlist, the newest last."""
    rows = connection.execute(
        """SELECT s.shortlist_id, purpose, policy, budget, count(i.item_id),
                  count(i.item_id) FILTER (recalled_at IS NULL AND EXISTS (
                      FROM label AS l WHERE l.item_id = i.item_id AND l.status = 'submitted'
                      AND (purpose = 'selection' OR l.shortlist_id = s.shortlist_id))),
                  count(recalled_at), run_id, created_at::VARCHAR
           FROM shortlist AS s LEFT JOIN shortlist_item AS i USING (shortlist_id)
           GROUP BY ALL ORDER BY s.shortlist_id"""
    ).fetchall()
    return [ShortlistRow(*row) for row in rows]


def out_for_another_look(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """Items that are out for another look, and of which nobody has said anything since."""
    rows = connection.execute(
        """SELECT item_id FROM shortlist_item AS i JOIN shortlist AS s USING (shortlist_id)
           WHERE purpose <> 'selection' AND recalled_at IS NULL AND NOT EXISTS (
               FROM label AS l WHERE l.item_id = i.item_id AND l.shortlist_id = s.shortlist_id)"""
    ).fetchall()
    return {item_id for (item_id,) in rows}
