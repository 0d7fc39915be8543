"""A JSON file that is one document: a list of rows, or an object that holds one (as BIG-Bench's `examples`)."""

import shlex

import duckdb
import pyarrow as pa

from budgetplan.errors import PoolError
from budgetplan.pool.broken import broken_json
from budgetplan.pool.fields import Fields, holds_prompts
from budgetplan.pool.files import as_one_string
from budgetplan.pool.workspace import pointer


def document_table(con: duckdb.DuckDBPyConnection, content: pa.Buffer, given: Fields, source: str) -> pa.Table:
    """Columns `row` (from 1, in the order of the list) and `doc` (the row as JSON)."""
    con.register("document", pa.table({"doc": as_one_string(content)}))
    try:
        kind = con.sql("SELECT try(json_type(doc)) FROM document").fetchall()[0][0]
        if kind is None:
            raise _broken(content, source)
        rows = _rows_expression(con, kind, given, source)
        return con.sql(
            f"SELECT unnest(range(1, len(rows) + 1)) AS row, unnest(rows)::VARCHAR AS doc "
            f"FROM (SELECT {rows} AS rows FROM document)"
        ).to_arrow_table()
    finally:
        con.unregister("document")


def _rows_expression(con: duckdb.DuckDBPyConnection, kind: str, given: Fields, source: str) -> str:
    if kind == "ARRAY":
        return "json_extract(doc, '$[*]')"
    if kind != "OBJECT":
        raise PoolError(f"{source}: neither a list of rows nor an object that holds one.")
    keys = con.sql("SELECT json_keys(doc) FROM document").fetchall()[0][0]
    lists = [] if holds_prompts(keys, given) else [key for key in keys if _is_list_of_objects(con, key)]
    if len(lists) > 1:
        raise PoolError(
            f"{source}: an object with several lists of rows: {', '.join(lists)}.",
            hint=f"Keep one: jq -c '.{lists[0]}[]' {shlex.quote(source)} > pool.jsonl",
        )
    return f"json_extract(json_extract(doc, {pointer(lists[0])}), '$[*]')" if lists else "[doc::JSON]"


def _is_list_of_objects(con: duckdb.DuckDBPyConnection, key: str) -> bool:
    query = f"SELECT json_type(json_extract(json_extract(doc, {pointer(key)}), '$[0]')) FROM document"
    return bool(con.sql(query).fetchall()[0][0] == "OBJECT")


def _broken(content: pa.Buffer, source: str) -> PoolError:
    text = content.to_pybytes().decode()
    line, reason, excerpt = broken_json(text)
    return PoolError(f"{source}:{line}: broken JSON: {reason}: {excerpt}", hint="Mend that place and run it again.")
