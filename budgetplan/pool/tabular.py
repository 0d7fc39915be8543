"""Files with columns: CSV and TSV as text, Parquet and Arrow by their types. Every row becomes one JSON object."""

import csv
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from budgetplan.errors import PoolError
from budgetplan.pool.files import first_lines, open_text
from budgetplan.pool.workspace import identifier, literal

if TYPE_CHECKING:
    import _csv

_ROWS_PER_BATCH = 8192
DELIMITERS = "\t,;"


def csv_table(content: pa.Buffer, source: str) -> pa.Table:
    """Read every cell as text, so that `0012` and `1/2` stay what they are; blank lines are no rows."""
    reader = _reader(content)
    with _unlimited_cells():
        try:
            names = _header(next(reader), source)
            schema = pa.schema([(name, pa.string()) for name in names])
            batches: list[pa.RecordBatch] = []
            while rows := list(islice(reader, _ROWS_PER_BATCH)):
                n_before = sum(batch.num_rows for batch in batches)
                batches.append(_batch([row for row in rows if row], schema, n_before, source))
        except csv.Error as error:
            place = f"{source}:{_line_of_broken_row(content)}"
            raise PoolError(
                f"{place}: broken CSV in the row that begins here: {error}.",
                hint='A quote inside a quoted cell is written twice: "".',
            ) from None
    return pa.Table.from_batches(batches, schema=schema)


def row_query(con: duckdb.DuckDBPyConnection, relation: str) -> str:
    """A query for `row` (from 1) and `doc` (the columns as a JSON object) of a table, view or table function."""
    columns = con.sql(f"DESCRIBE SELECT * FROM {relation}").fetchall()
    pairs = ", ".join(f"{literal(name)}, {_json_value(name, kind)}" for name, kind, *_ in columns)
    return f"SELECT row_number() OVER () AS row, json_object({pairs})::VARCHAR AS doc FROM {relation}"


def parquet_relation(path: Path) -> str:
    """The table function that reads a Parquet file."""
    return f"read_parquet({literal(str(path))})"


def _json_value(name: str, kind: str) -> str:
    """NaN is how pandas writes a missing number; JSON has neither it nor 32-bit floats."""
    column = identifier(name)
    if kind == "FLOAT":
        return f"CASE WHEN isfinite({column}) THEN {column}::VARCHAR::DOUBLE END"
    return f"CASE WHEN isfinite({column}) THEN {column} END" if kind == "DOUBLE" else column


def _reader(content: pa.Buffer) -> "_csv.Reader":
    return csv.reader(open_text(content), delimiter=_delimiter(content), strict=True)


def _delimiter(content: pa.Buffer) -> str:
    header = first_lines(content, 1)[0]
    return max(DELIMITERS, key=header.count) if any(mark in header for mark in DELIMITERS) else ","


def _header(cells: list[str], source: str) -> list[str]:
    """Name the columns; pandas leaves its index column without a name."""
    names = [cell.strip() or f"column{number}" for number, cell in enumerate(cells, start=1)]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise PoolError(f"{source}: two columns are named '{min(twice)}'.", hint="Rename one of them.")
    return names


def _batch(rows: list[list[str]], schema: pa.Schema, n_before: int, source: str) -> pa.RecordBatch:
    width = len(schema)
    if any(len(row) != width for row in rows):
        index, row = next((index, row) for index, row in enumerate(rows) if len(row) != width)
        raise PoolError(
            f"{source} row {n_before + index + 1}: {len(row)} cells where the header has {width}: {row[0][:60]!r}…",
            hint="A cell with a comma, a quote or a line break stands in double quotes.",
        )
    columns = [pa.array(cells, pa.string()) for cells in zip(*rows, strict=True)] or [pa.array([], pa.string())] * width
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _line_of_broken_row(content: pa.Buffer) -> int:
    reader = _reader(content)
    line = 1
    with suppress(csv.Error):
        while True:
            next(reader)
            line = reader.line_num + 1
    return line


@contextmanager
def _unlimited_cells() -> Iterator[None]:
    """Lift the limit of 131,072 characters a cell, which is the csv module's and global."""
    limit = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(limit)
