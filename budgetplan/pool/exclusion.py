"""Items that must stay out of every shortlist, such as a test split, named by a value in a column of the user's own.

An item is out if any of its rows says so: a prompt that stands in both splits is a test prompt.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from budgetplan.errors import ConfigError, PoolError
from budgetplan.pool.workspace import every, literal, pointer, workspace
from budgetplan.records import DUPLICATES_KEY


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
    with workspace() as con:
        con.register("item", table.select(["columns", "ids"]))
        known = _known_columns(con)
        for exclusion in exclusions:
            if exclusion.column not in known:
                raise PoolError(
                    f"--exclude {exclusion.column}={exclusion.value}: no item has a column '{exclusion.column}'; "
                    f"there is: {', '.join(known)}.",
                    hint=f"For example: --exclude {known[0]}=VALUE",
                )
        for exclusion in exclusions:
            if not con.sql(f"SELECT count(*) FROM item WHERE {_test(exclusion)}").fetchall()[0][0]:
                raise PoolError(
                    f"--exclude {exclusion.column}={exclusion.value}: no item has this value.",
                    hint="Nothing would be kept out. Look at the values of this column in your file.",
                )
        tests = " OR ".join(_test(exclusion) for exclusion in exclusions) or "false"
        return (
            con.sql(f"SELECT coalesce({tests}, false) AS is_out FROM item").to_arrow_table()["is_out"].combine_chunks()
        )


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
