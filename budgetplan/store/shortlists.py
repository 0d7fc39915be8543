"""Shortlists in the store: what was chosen, when, under which settings."""

import json
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from budgetplan.errors import StoreError
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
    """Write a shortlist; `settings` has run_id, pool_id, policy and budget, `picked` item_id, rank, score, cost."""
    name = shortlist_name(number)
    if next_number(connection) != number:
        raise StoreError(f"another shortlist became {name} meanwhile.", hint="Run the same command again.")
    connection.execute(
        "INSERT INTO shortlist VALUES (?, ?, ?, ?, ?, ?, ?, now())",
        [
            name,
            number,
            settings["run_id"],
            settings["pool_id"],
            settings["policy"],
            settings["budget"],
            json.dumps(settings),
        ],
    )
    connection.register("picked", picked)
    connection.execute("INSERT INTO shortlist_item SELECT ?, item_id, rank, score, cost FROM picked", [name])
    connection.unregister("picked")


@dataclass(frozen=True, slots=True)
class ShortlistRow:
    """A shortlist as the store knows it."""

    shortlist_id: str
    policy: str
    budget: str
    n_items: int
    run_id: str
    created_at: str


def all_shortlists(connection: duckdb.DuckDBPyConnection) -> list[ShortlistRow]:
    """Every shortlist, the newest last."""
    rows = connection.execute(
        """SELECT shortlist_id, policy, budget, count(item_id), run_id, created_at::VARCHAR
           FROM shortlist LEFT JOIN shortlist_item USING (shortlist_id)
           GROUP BY ALL ORDER BY shortlist_id"""
    ).fetchall()
    return [ShortlistRow(*row) for row in rows]
