"""What the user named, told apart by content, as one relation of rows: `row` and `doc`, a JSON object as text."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb
import pyarrow as pa

from budgetplan.errors import PoolError
from budgetplan.pool.broken import shorten
from budgetplan.pool.documents import document_table
from budgetplan.pool.fields import Fields, Request, holds_prompts
from budgetplan.pool.files import first_lines, missing_file, read_text_bytes, starts_with
from budgetplan.pool.hub import HUB_PREFIX, find_saved_dataset, hub_table, saved_table
from budgetplan.pool.lines import line_table
from budgetplan.pool.tabular import DELIMITERS, csv_table, parquet_relation, row_query

TextFormat = Literal["lines", "document", "csv"]
_LINES_SUFFIXES = {".jsonl", ".ndjson"}
_CSV_SUFFIXES = {".csv", ".tsv"}


@dataclass(frozen=True, slots=True)
class Source:
    """One open file: `view` can be queried again and again; rows are physical lines where `by_line`."""

    name: str
    view: str
    by_line: bool

    def place(self, row: int) -> str:
        """Say where a row stands, as an editor or a person finds it."""
        return f"{self.name}:{row}" if self.by_line else f"{self.name} row {row}"


def open_source(con: duckdb.DuckDBPyConnection, name: str, part: int, request: Request) -> Source:
    """Create the view of source number `part`; raise PoolError where it cannot be read."""
    query, by_line = _row_query(con, name, f"source_{part}", request)
    view = f"doc_{part}"
    try:
        con.execute(f"CREATE TEMP VIEW {view} AS {query}")
    except duckdb.Error as error:
        raise unreadable(name, error) from error
    return Source(name, view, by_line)


def unreadable(name: str, error: duckdb.Error) -> PoolError:
    """Wrap what DuckDB says about a file."""
    return PoolError(f"{name}: cannot be read: {str(error).splitlines()[0]}")


def _row_query(con: duckdb.DuckDBPyConnection, name: str, table: str, request: Request) -> tuple[str, bool]:
    path = Path(name)
    if name.startswith(HUB_PREFIX):
        con.register(table, hub_table(name, request.command))
        return row_query(con, table), False
    if saved := find_saved_dataset(name):
        con.register(table, saved_table(saved, name, request.command))
        return row_query(con, table), False
    if not path.exists():
        raise missing_file(path, name)
    if starts_with(path, b"PAR1"):
        return _parquet_query(con, path, name), False
    content = read_text_bytes(path, name)
    match _text_format(con, path, content, request.given, name):
        case "lines":
            con.register(table, line_table(content))
            return f"SELECT row, doc FROM {table}", True
        case "document":
            con.register(table, document_table(con, content, request.given, name))
            return f"SELECT row, doc FROM {table}", False
        case "csv":
            con.register(table, csv_table(content, name))
            return row_query(con, table), False


def _parquet_query(con: duckdb.DuckDBPyConnection, path: Path, name: str) -> str:
    try:
        return row_query(con, parquet_relation(path))
    except duckdb.Error as error:
        raise unreadable(name, error) from error


def _text_format(
    con: duckdb.DuckDBPyConnection, path: Path, content: pa.Buffer, given: Fields, name: str
) -> TextFormat:
    """Look at the first lines; the suffix only decides where they leave it open."""
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    lines = first_lines(content, 2)
    if lines[0][0] in "[{":
        return _json_format(con, lines, given, suffix)
    if suffix in _LINES_SUFFIXES:
        return "lines"
    if suffix == ".json":
        return "document"
    if suffix in _CSV_SUFFIXES or any(mark in lines[0] for mark in DELIMITERS) or holds_prompts([lines[0]], given):
        return "csv"
    raise PoolError(
        f"{name}: neither JSON Lines, JSON, CSV, TSV nor Parquet; it begins with: {shorten(lines[0])}",
        hint=f"One prompt a line becomes a pool with: jq -Rc '{{prompt: .}}' {shlex.quote(name)} > pool.jsonl",
    )


def _json_format(con: duckdb.DuckDBPyConnection, lines: list[str], given: Fields, suffix: str) -> TextFormat:
    """Tell rows from one document, which spans lines, or is a list, or an object without a prompt of its own."""
    keys = con.sql("SELECT try(json_keys(?))", params=[lines[0]]).fetchall()[0][0]
    if keys is None:
        spans_lines = lines[0][0] == "[" or (suffix not in _LINES_SUFFIXES and (suffix == ".json" or lines[0] == "{"))
        return "document" if spans_lines else "lines"
    return "lines" if len(lines) > 1 or holds_prompts(keys, given) else "document"
