"""Items that must stay out of every shortlist, such as a test split, named by a value in a column of the user's own.

An item is out if any of its rows says so: a prompt that stands in both splits is a test prompt.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from budgetplan.errors import ConfigError, PoolError
from budgetplan.pool.workspace import every, literal, pointer, workspace
from budgetplan.records import DUPLICATES_KEY

_FEW_VALUES = 8


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Leave out what has this value, compared as text, in this column."""

    column: str
    value: str


def parse_exclusion(text: str) -> Exclusion:
    """Read `COLUMN=VALUE`; the value may be empty or hold further equals signs."""
    column, equals, value = text.partition("=")
    if not equals or not column.strip():
        raise ConfigError(f"--exclude {text!r} is not COLUMN=VALUE.", hint="For example: --exclude split=test")
    return Exclusion(column.strip(), value.strip())


def excluded(table: pa.Table, exclusions: Sequence[Exclusion]) -> pa.BooleanArray:
    """Say for each row of a pool's table (its `columns` and `ids`) whether any exclusion names it.

    The column `id` means the user's ids. Raises PoolError for a column that no item has.
    """
    out = pa.array(np.zeros(table.num_rows, dtype=np.bool_))
    for marks in valued(table, exclusions, "--exclude"):
        out = pc.or_(out, marks)
    return out


def valued(table: pa.Table, wanted: Sequence[Exclusion], option: str) -> list[pa.BooleanArray]:
    """For each column and value: say of every row of a pool's table whether it has it, in any of its duplicates.

    Raises PoolError, naming the option, for a column or a value that no item has.
    """
    with workspace() as con:
        con.register("item", table.select(["columns", "ids"]))
        known = _known_columns(con)
        for one in wanted:
            if one.column not in known:
                raise PoolError(
                    f"{option} {one.column}={one.value}: no item has a column '{one.column}'; "
                    f"there is: {', '.join(known)}.",
                    hint=f"For example: {option} {known[0]}=VALUE",
                )
        marks = [
            con.sql(f"SELECT coalesce({_test(one)}, false) AS has_it FROM item").to_arrow_table()["has_it"]
            for one in wanted
        ]
        for one, has_it in zip(wanted, marks, strict=True):
            if not pc.any(has_it).as_py():
                raise PoolError(
                    f"{option} {one.column}={one.value}: no item has this value.", hint=_values(con, one.column)
                )
    return [has_it.combine_chunks() for has_it in marks]


def _values(con: duckdb.DuckDBPyConnection, column: str) -> str:
    """Name the most frequent values of a column."""
    value = "unnest(ids)" if column == "id" else f"json_extract_string(columns, {pointer(column)})"
    found = con.sql(
        f"""SELECT value, count(*) AS n FROM (SELECT {value} AS value FROM item) WHERE value IS NOT NULL
            GROUP BY value ORDER BY n DESC, value LIMIT {_FEW_VALUES}"""
    ).fetchall()
    return f"Its most frequent values: {', '.join(f'{value} ({n:,})' for value, n in found)}."


def _known_columns(con: duckdb.DuckDBPyConnection) -> list[str]:
    later = f"json_extract(columns, {every(DUPLICATES_KEY)})"
    found = con.sql(f"""
        SELECT unnest(json_keys(columns)) AS name FROM item
        UNION SELECT unnest(json_keys(later)) FROM (SELECT unnest({later}) AS later FROM item)""").fetchall()
    return sorted({name for (name,) in found if name != DUPLICATES_KEY} | {"id"})


def _test(exclusion: Exclusion) -> str:
    value = literal(exclusion.value)
    if exclusion.column == "id":
        return f"list_contains(ids, {value})"
    first = f"json_extract_string(columns, {pointer(exclusion.column)}) = {value}"
    later = f"list_contains(json_extract_string(columns, {every(DUPLICATES_KEY, exclusion.column)}), {value})"
    return f"coalesce({first}, false) OR {later}"
