"""A file becomes a pool. The pool is its content: the same rows in another order are the same pool."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import duckdb
import pyarrow as pa

from budgetplan.pool.fields import DETECTED, Fields, Request
from budgetplan.pool.merging import Conflict, Conflicts, merge_rows, pool_digest
from budgetplan.pool.rows import POOL_ROW, read_rows
from budgetplan.pool.sources import Source, open_source
from budgetplan.pool.workspace import workspace


@dataclass(frozen=True, slots=True)
class Pool:
    """The items of one or several files, and what reading them found.

    `table` has POOL_SCHEMA, in the order of first appearance; an item with several `answers` is a conflict that nobody
    has decided. `n_duplicates` counts rows merged into an earlier one, `n_conflicts` items with several known answers.
    """

    table: pa.Table
    digest: str
    source: str
    n_rows: int
    n_items: int
    n_duplicates: int
    n_conflicts: int
    conflict_examples: tuple[Conflict, ...]
    fields: Fields


class Loaded(NamedTuple):
    """Open sources, and the fields in use in each."""

    sources: list[Source]
    fields: list[Fields]


def read_pool(source: str, *, fields: Fields = DETECTED, conflicts: Conflicts | None = None) -> Pool:
    """Read a pool from a file, a folder saved by `datasets` (`folder[:split]`) or `hf://name[:split]`.

    Files are told apart by content: JSON Lines, JSON, CSV, TSV, Parquet. `fields` overrides detected names. Of an item
    with several known answers `conflicts="first"` keeps the first, and "drop" leaves the item out. Raises PoolError.
    """
    request = Request(fields, "budgetplan probe", samples=False)
    with workspace() as con:
        sources, used = load_rows(con, [source], request)
        return merged_pool(con, sources, used[0], conflicts)


def load_rows(con: duckdb.DuckDBPyConnection, names: Sequence[str], request: Request) -> Loaded:
    """Fill `pool_row` from every source."""
    con.execute(POOL_ROW)
    sources = [open_source(con, name, part, request) for part, name in enumerate(names)]
    used = [read_rows(con, source, part, request) for part, source in enumerate(sources)]
    return Loaded(sources, used)


def merged_pool(
    con: duckdb.DuckDBPyConnection, sources: list[Source], used: Fields, conflicts: Conflicts | None
) -> Pool:
    """Merge what `load_rows` read."""
    merged = merge_rows(con, sources, conflicts)
    return Pool(
        table=merged.table,
        digest=pool_digest(con),
        source=", ".join(source.name for source in sources),
        n_rows=merged.n_rows,
        n_items=merged.table.num_rows,
        n_duplicates=merged.n_duplicates,
        n_conflicts=merged.n_conflicts,
        conflict_examples=merged.conflict_examples,
        fields=used,
    )
