"""Pools in the store: items, who belongs to which pool, and the answers known beforehand.

Invariant: a pool is imported whole or not at all, and importing it again changes nothing but the user's own columns.
"""

from dataclasses import dataclass

import duckdb
import pyarrow as pa

from budgetplan.errors import NothingToDo
from budgetplan.records import DUPLICATES_KEY
from budgetplan.store.connection import scalar


@dataclass(frozen=True, slots=True)
class PoolRow:
    """A pool as the store knows it."""

    pool_id: str
    source: str
    n_rows: int
    n_items: int


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many."""

    n: int
    of: int


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
    n_new = scalar(
        connection, "INSERT INTO item SELECT item_id, prompt, messages FROM incoming ANTI JOIN item USING (item_id)"
    )
    _forget_verdicts_of_changed_columns(connection)
    connection.execute("DELETE FROM pool_item WHERE pool_id = ?", [pool_id])
    connection.execute(
        "INSERT INTO pool_item SELECT ?, item_id, row, ids, answers, columns FROM incoming ORDER BY row", [pool_id]
    )
    connection.execute(
        "INSERT OR REPLACE INTO pool VALUES (?, ?, ?, ?, now())", [pool_id, source, n_rows, table.num_rows]
    )
    changed = _set_known_answers(connection)
    connection.unregister("incoming")
    return Imported(n_new, changed)


def _forget_verdicts_of_changed_columns(connection: duckdb.DuckDBPyConnection) -> None:
    """A user's own function sees the columns, so its verdicts on items whose columns changed no longer hold."""
    connection.execute(
        """DELETE FROM verdict WHERE contains(verifier, '.py:') AND item_id IN (
               SELECT item_id FROM incoming JOIN pool_item USING (item_id)
               WHERE incoming.columns <> pool_item.columns)"""
    )


def _set_known_answers(connection: duckdb.DuckDBPyConnection) -> int:
    """Bring the known answers of the incoming items up to date; labels (another source) stay as they are.

    Verdicts on items whose gold changed no longer hold, so they go, and the samples are judged again.
    """
    connection.execute(
        """CREATE OR REPLACE TEMP TABLE changed AS
           SELECT item_id, answers, gold.answer AS before FROM incoming LEFT JOIN gold USING (item_id)
           WHERE len(answers) > 0 AND (gold.source IS NULL OR gold.source = 'pool')
             AND gold.answer IS DISTINCT FROM CASE WHEN len(answers) = 1 THEN answers[1] END"""
    )
    for derived in ("verdict", "adjudicated", "answer_group"):
        connection.execute(f"DELETE FROM {derived} WHERE item_id IN (SELECT item_id FROM changed)")
    connection.execute("DELETE FROM gold WHERE item_id IN (SELECT item_id FROM changed)")
    connection.execute("INSERT INTO gold SELECT item_id, answers[1], 'pool', now() FROM changed WHERE len(answers) = 1")
    n_replaced = scalar(connection, "SELECT count(*) FROM changed WHERE before IS NOT NULL")
    connection.execute("DROP TABLE changed")
    return int(n_replaced)


def find_pool(connection: duckdb.DuckDBPyConnection, pool_id: str) -> PoolRow:
    """The pool with this id."""
    rows = connection.execute(
        "SELECT pool_id, source, n_rows, n_items FROM pool WHERE pool_id = ?", [pool_id]
    ).fetchall()
    if not rows:
        raise NothingToDo(f"the store holds no pool {pool_id}.", hint="Import it: budgetplan probe POOL")
    return PoolRow(*rows[0])


def n_answered(connection: duckdb.DuckDBPyConnection) -> Share:
    """How many items of all pools have an answer, known beforehand or from labels."""
    counts = connection.execute("SELECT (SELECT count(*) FROM gold), (SELECT count(*) FROM item)").fetchall()
    return Share(*counts[0])


def answered_items(connection: duckdb.DuckDBPyConnection, pool_id: str) -> int:
    """How many items of a pool have an answer, known beforehand or from labels."""
    return int(
        scalar(connection, "SELECT count(*) FROM pool_item SEMI JOIN gold USING (item_id) WHERE pool_id = ?", [pool_id])
    )


def is_mostly_unanswered(connection: duckdb.DuckDBPyConnection, pool_id: str) -> bool:
    """Whether more than half of a pool's items had no answer beforehand."""
    return bool(
        scalar(connection, "SELECT avg((len(answers) = 0)::INT) > 0.5 FROM pool_item WHERE pool_id = ?", [pool_id])
    )


def item_details(connection: duckdb.DuckDBPyConnection, pool_id: str, item_ids: pa.ChunkedArray) -> pa.Table:
    """The prompts of some items and the user's own columns, in the order asked for.

    Values are text where they were text, else JSON. A column named like one of ours gets the prefix `user_`.
    """
    names = own_column_names(connection, pool_id)
    picks = "".join(
        f", json_extract_string(columns, '/{_pointer(name)}') AS \"{alias}\"" for name, alias in _aliases(names).items()
    )
    wanted = pa.table({"item_id": item_ids, "place": pa.array(range(len(item_ids)))})
    connection.register("wanted", wanted)
    details = connection.sql(
        f"""SELECT prompt{picks} FROM wanted JOIN item USING (item_id)
            JOIN (SELECT item_id, columns FROM pool_item WHERE pool_id = ?) USING (item_id) ORDER BY place""",
        params=[pool_id],
    ).to_arrow_table()
    connection.unregister("wanted")
    return details


def own_items(connection: duckdb.DuckDBPyConnection, pool_id: str) -> set[str]:
    """The ids of a pool's items."""
    rows = connection.execute("SELECT item_id FROM pool_item WHERE pool_id = ?", [pool_id]).fetchall()
    return {item_id for (item_id,) in rows}


def item_prompts(connection: duckdb.DuckDBPyConnection, item_ids: list[str]) -> list[str]:
    """The prompts of some items, in the order asked for."""
    connection.register("asked", pa.table({"item_id": pa.array(item_ids, pa.string())}))
    prompts = dict(connection.execute("SELECT item_id, prompt FROM item SEMI JOIN asked USING (item_id)").fetchall())
    connection.unregister("asked")
    return [prompts[item_id] for item_id in item_ids]


def own_column_names(connection: duckdb.DuckDBPyConnection, pool_id: str) -> list[str]:
    """What the user calls their own columns, in alphabetical order."""
    found = connection.execute(
        "SELECT DISTINCT unnest(json_keys(columns)) AS name FROM pool_item WHERE pool_id = ? ORDER BY name", [pool_id]
    ).fetchall()
    return [name for (name,) in found if name != DUPLICATES_KEY]


def prompts(connection: duckdb.DuckDBPyConnection, pool_id: str) -> pa.ChunkedArray:
    """Every prompt of a pool, in file order."""
    return connection.sql(
        "SELECT prompt FROM pool_item JOIN item USING (item_id) WHERE pool_id = ? ORDER BY row, item_id",
        params=[pool_id],
    ).to_arrow_table()["prompt"]


def own_column(connection: duckdb.DuckDBPyConnection, pool_id: str, name: str) -> pa.ChunkedArray:
    """One of the user's own columns as text, in file order."""
    return connection.sql(
        f"""SELECT json_extract_string(columns, '/{_pointer(name)}') AS value FROM pool_item
            WHERE pool_id = ? ORDER BY row, item_id""",
        params=[pool_id],
    ).to_arrow_table()["value"]


def own_columns_as_json(connection: duckdb.DuckDBPyConnection, pool_id: str) -> pa.Table:
    """The user's own columns in file order, as they came: item_id, ids and `columns`, a JSON object each."""
    return connection.sql(
        "SELECT item_id, ids, columns FROM pool_item WHERE pool_id = ? ORDER BY row, item_id", params=[pool_id]
    ).to_arrow_table()


_OURS = """item_id id other_ids answer prompt k n_correct p_hat p_mean p_low p_high learnable learnable_horizon score
rank cost policy source outcomes agreement answer_entropy n_answers no_answer_rate truncation_rate mean_length
length_spread mean_logprob text_similarity reference_agreement shortlist_id audit picked model_answer messages
gold_source n_labels verifier run_id model"""
RESERVED_COLUMNS = frozenset(_OURS.split())
"""The stable names of our own outputs."""


def _pointer(name: str) -> str:
    """A name as a JSON pointer's last step, inside an SQL string."""
    return name.replace("~", "~0").replace("/", "~1").replace("'", "''")


def _aliases(names: list[str]) -> dict[str, str]:
    """What each of the user's columns is called beside ours, quotes doubled for SQL; no two are the same."""
    aliases: dict[str, str] = {}
    taken = set(RESERVED_COLUMNS) | {name.lower() for name in names if name.lower() not in RESERVED_COLUMNS}
    for name in names:
        alias = name
        if name.lower() in RESERVED_COLUMNS:
            alias = "user_" + name
            while alias.lower() in taken:
                alias = "user_" + alias
            taken.add(alias.lower())
        aliases[name] = alias.replace('"', '""')
    return aliases
