"""Many rows, one item per prompt: the table `pool_row` becomes the pool. Rows of one prompt merge in file order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import duckdb
import pyarrow as pa

from budgetplan.errors import PoolError
from budgetplan.pool.sources import Source
from budgetplan.pool.workspace import literal
from budgetplan.records import DUPLICATES_KEY, POOL_SCHEMA, ItemId

Conflicts = Literal["first", "drop"]

ROWS_PER_BATCH = 8192
_N_EXAMPLES = 3

_MERGE = f"""
CREATE TABLE item AS
WITH opening AS (SELECT item_id, min(place) AS place, count(*) AS n_rows FROM pool_row GROUP BY item_id),
answering AS (SELECT item_id, answer, min(place) AS place FROM pool_row WHERE answer IS NOT NULL GROUP BY ALL),
naming AS (SELECT item_id, id, min(place) AS place FROM pool_row WHERE id IS NOT NULL GROUP BY ALL),
repeating AS (
    SELECT item_id, columns, min(pool_row.place) AS place FROM pool_row JOIN opening USING (item_id)
    WHERE n_rows > 1 GROUP BY item_id, columns),
answers AS (SELECT item_id, list(answer ORDER BY place) AS answers FROM answering GROUP BY item_id),
ids AS (SELECT item_id, list(id ORDER BY place) AS ids FROM naming GROUP BY item_id),
repeats AS (SELECT item_id, list(columns::JSON ORDER BY place)[2:] AS later FROM repeating GROUP BY item_id)
SELECT place, item_id, coalesce(answers, []) AS answers, coalesce(ids, []) AS ids,
    CASE WHEN len(later) > 0 THEN json_object({literal(DUPLICATES_KEY)}, later) END AS later
FROM opening LEFT JOIN answers USING (item_id) LEFT JOIN ids USING (item_id) LEFT JOIN repeats USING (item_id)
"""
"""One narrow row per item; the texts are joined to it only on the way out."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """One prompt with more than one known answer; `places` are all its rows."""

    item_id: ItemId
    ids: tuple[str, ...]
    places: tuple[str, ...]
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Merged:
    """The table, and what merging found. `n_conflicts` counts items, whatever was decided about them."""

    table: pa.Table
    n_rows: int
    n_duplicates: int
    n_conflicts: int
    conflict_examples: tuple[Conflict, ...]


def merge_rows(con: duckdb.DuckDBPyConnection, sources: Sequence[Source], conflicts: Conflicts | None) -> Merged:
    """Merge `pool_row` into a table of POOL_SCHEMA, in the order in which the items first appear.

    With "first" an item keeps only its first known answer, with "drop" an item of several answers is left out, and with
    None it keeps them all. Raises PoolError where one id stands for two prompts.
    """
    con.execute(_MERGE)
    _refuse_shared_ids(con, sources)
    n_rows, n_items = con.sql("SELECT (SELECT count(*) FROM pool_row), (SELECT count(*) FROM item)").fetchall()[0]
    n_conflicts = con.sql("SELECT count(*) FROM item WHERE len(answers) > 1").fetchall()[0][0]
    examples = _examples(con, sources) if n_conflicts else ()
    if conflicts == "first":
        con.execute("UPDATE item SET answers = answers[1:1] WHERE len(answers) > 1")
    elif conflicts == "drop":
        con.execute("DELETE FROM item WHERE len(answers) > 1")
    table = _table(con)
    if not table.num_rows:
        raise PoolError(
            f"{sources[0].name}: every prompt has conflicting answers.", hint="Keep them with --conflicts first."
        )
    return Merged(table, n_rows, n_rows - n_items, n_conflicts, examples)


def pool_digest(con: duckdb.DuckDBPyConnection) -> str:
    """The pool's content, whatever the order of its rows: item_ids, each with its sorted answers."""
    query = "SELECT sha256(string_agg(item_id || to_json(list_sort(answers)), chr(10) ORDER BY item_id)) FROM item"
    return str(con.sql(query).fetchall()[0][0])


def _table(con: duckdb.DuckDBPyConnection) -> pa.Table:
    batches = con.sql("""
        SELECT item.item_id, prompt, messages, answers, ids,
            CASE WHEN later IS NULL THEN columns ELSE json_merge_patch(columns, later) END AS columns, row
        FROM item JOIN pool_row USING (place)
        ORDER BY place""").to_arrow_reader(ROWS_PER_BATCH)
    return batches.read_all().cast(POOL_SCHEMA)


def _refuse_shared_ids(con: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> None:
    shared = con.sql("""
        SELECT id FROM pool_row WHERE id IS NOT NULL GROUP BY id HAVING min(item_id) <> max(item_id)
        ORDER BY min(place)""").fetchall()
    if not shared:
        return
    name = shared[0][0]
    rows = con.sql(
        "SELECT arg_min(part, place), arg_min(row, place) FROM pool_row WHERE id = ? "
        "GROUP BY item_id ORDER BY min(place) LIMIT 2",
        params=[name],
    ).fetchall()
    first, second = (sources[part].place(row) for part, row in rows)
    others = f" ({len(shared) - 1:,} more ids like it)" if len(shared) > 1 else ""
    raise PoolError(
        f"{second}: the id '{name}' already belongs to another prompt, at {first}{others}.",
        hint="Give each prompt its own id, name another field with --id-field NAME, or use none with --id-field ''.",
    )


def _examples(con: duckdb.DuckDBPyConnection, sources: Sequence[Source]) -> tuple[Conflict, ...]:
    found = con.sql(f"""
        SELECT item_id, any_value(ids), list((part, row) ORDER BY pool_row.place), any_value(answers)
        FROM pool_row JOIN (FROM item WHERE len(answers) > 1 ORDER BY place LIMIT {_N_EXAMPLES}) USING (item_id)
        GROUP BY item_id ORDER BY min(pool_row.place)""").fetchall()
    return tuple(
        Conflict(ItemId(item), tuple(ids), tuple(sources[part].place(row) for part, row in rows), tuple(answers))
        for item, ids, rows, answers in found
    )
