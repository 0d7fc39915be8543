"""Pools in the store: items, who belongs to which pool, and the answers known beforehand.

Invariant: a pool is imported whole or not at all, and importing it again changes nothing but the user's own columns.
"""

from dataclasses import dataclass

import duckdb
import pyarrow as pa

from budgetplan.errors import NothingToDo


@dataclass(frozen=True, slots=True)
class PoolRow:
    """A pool as the store knows it."""

    pool_id: str
    source: str
    n_rows: int
    n_items: int


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import changed."""

    n_new_items: int
    n_changed_answers: int


def import_pool(
    connection: duckdb.DuckDBPyConnection, pool_id: str, source: str, n_rows: int, table: pa.Table
) -> Imported:
    """Write a pool (`POOL_SCHEMA`); known answers become gold where there is exactly one."""
    connection.register("incoming", table)
    new = connection.execute(
        """INSERT INTO item SELECT item_id, prompt, messages FROM incoming ANTI JOIN item USING (item_id)"""
    ).fetchone()
    connection.execute("DELETE FROM pool_item WHERE pool_id = ?", [pool_id])
    connection.execute(
        "INSERT INTO pool_item SELECT ?, item_id, row, ids, answers, columns FROM incoming ORDER BY row", [pool_id]
    )
    connection.execute(
        "INSERT OR REPLACE INTO pool VALUES (?, ?, ?, ?, now())", [pool_id, source, n_rows, table.num_rows]
    )
    changed = _set_known_answers(connection)
    connection.unregister("incoming")
    return Imported(int(new[0]) if new else 0, changed)


def _set_known_answers(connection: duckdb.DuckDBPyConnection) -> int:
    """Replace earlier known answers of the incoming items; labels (another source) stay as they are."""
    changed = connection.execute(
        """SELECT count(*) FROM incoming JOIN gold USING (item_id)
           WHERE gold.source = 'pool' AND len(answers) > 0 AND NOT (len(answers) = 1 AND answers[1] = gold.answer)"""
    ).fetchone()
    connection.execute(
        """DELETE FROM gold WHERE source = 'pool'
           AND item_id IN (SELECT item_id FROM incoming WHERE len(answers) > 0)"""
    )
    connection.execute(
        """INSERT INTO gold SELECT item_id, answers[1], 'pool', now() FROM incoming
           WHERE len(answers) = 1 AND item_id NOT IN (SELECT item_id FROM gold)"""
    )
    return int(changed[0]) if changed else 0


def find_pool(connection: duckdb.DuckDBPyConnection, pool_id: str) -> PoolRow:
    """The pool with this id."""
    row = connection.execute("SELECT pool_id, source, n_rows, n_items FROM pool WHERE pool_id = ?", [pool_id]).fetchone()
    if row is None:
        raise NothingToDo(f"the store holds no pool {pool_id}.", hint="Import it: budgetplan probe POOL")
    return PoolRow(*row)


def pool_table(connection: duckdb.DuckDBPyConnection, pool_id: str) -> pa.Table:
    """Every item of a pool with prompt, messages, ids, answers, columns and row, in file order."""
    return connection.execute(
        """SELECT item_id, prompt, messages, ids, answers, columns, row
           FROM pool_item JOIN item USING (item_id) WHERE pool_id = ? ORDER BY row, item_id""",
        [pool_id],
    ).to_arrow_table()
