"""Arrow rows as JSON objects, one per line.

Invariant: valid JSON under the table's own column names; nan and infinity become null.
"""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc


def finite(table: pa.Table) -> pa.Table:
    """Replace what is no number in float columns by null."""
    columns = [
        pc.if_else(pc.is_finite(column), column, None) if pa.types.is_floating(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def json_lines(table: pa.Table) -> Iterator[list[str]]:
    """Yield the rows in order, in lists of lines."""
    fields = []
    for place, name in enumerate(table.column_names):
        key = name.replace("'", "''")
        fields.append(f"'{key}', c{place}")
    for batch in _selected(finite(table), f"json_object({', '.join(fields)})::VARCHAR"):
        yield batch.column(0).to_pylist()


def as_json_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write each value of a nested column as JSON."""
    batches = _selected(pa.table({"": column}), "to_json(c0)::VARCHAR")
    return pa.chunked_array([batch.column(0) for batch in batches], pa.string())


def _selected(table: pa.Table, expression: str) -> Iterator[pa.RecordBatch]:
    """Evaluate one SQL expression over columns called c0, c1, …: DuckDB would not tell `id` from `ID`."""
    import duckdb

    plain = table.rename_columns([f"c{place}" for place in range(table.num_columns)])
    with duckdb.connect() as connection:
        yield from connection.register("items", plain).sql(f"SELECT {expression} FROM items").to_arrow_reader()
