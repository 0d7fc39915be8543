"""Item tables as files for programs and people: CSV, JSON Lines, Parquet.

Invariant: the suffix alone decides the format; numbers stay numbers, nan is written as no value, and no text in a CSV
file is a formula.
"""

from pathlib import Path

import pyarrow as pa

from budgetplan.annotation.formulas import guarded
from budgetplan.annotation.json_lines import as_json_text, finite, json_lines
from budgetplan.annotation.landing import Unfinished
from budgetplan.errors import ConfigError

SUFFIXES = (".csv", ".jsonl", ".parquet")


def check_suffix(path: Path) -> None:
    """Raise ConfigError unless `write_table` knows the suffix; worth asking before the work is done."""
    if path.suffix.lower() not in SUFFIXES:
        raise ConfigError(
            f'--out: no table format has the ending "{path.suffix}".',
            hint=f"End the file's name in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}.",
        )


def write_table(table: pa.Table, path: Unfinished) -> None:
    """Write the table to a file from `landing`, in row order, UTF-8; lists and structs are JSON text in CSV."""
    check_suffix(path)
    match path.suffix.lower():
        case ".csv":
            _write_csv(table, path)
        case ".jsonl":
            with path.open("w", encoding="utf-8", newline="") as stream:
                stream.writelines("\n".join(lines) + "\n" for lines in json_lines(table))
        case _:
            import pyarrow.parquet as pq

            pq.write_table(finite(table), path)


def _write_csv(table: pa.Table, path: Unfinished) -> None:
    import pyarrow.csv as pa_csv

    columns = [_as_cells(column) for column in finite(table).columns]
    names = guarded(pa.array(table.column_names, pa.string())).to_pylist()
    pa_csv.write_csv(pa.table(columns, names=names), path)


def _as_cells(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_nested(column.type):
        column = as_json_text(column)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return guarded(column)
    return column
