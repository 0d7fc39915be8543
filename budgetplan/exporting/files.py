"""Training sets as one file: Parquet, or JSON Lines where the name asks for them.

Invariant: `datasets.load_dataset` reads back the texts that went in.
"""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from budgetplan.errors import BudgetplanError

_ROWS_AT_ONCE = 1000
_TIME = r"^\d{4}-\d\d-\d\d([ T][\d:]+Z?)?$"


def write_file(table: pa.Table, path: Path) -> None:
    """Write Parquet, or JSON Lines if the path ends in `.jsonl`.

    Parquet keeps the types, JSON Lines leave them to the reader: `load_dataset("json")` of datasets 5.2 turns a column
    of ISO dates into times (so that no answer would ever equal "2024-01-30"), which is refused here; and it fails on a
    file of more than 10 MB in which a column is empty for that long.
    """
    if path.suffix.lower() == ".jsonl":
        _write_json_lines(table, path)
    else:
        write_parquet(table, path)


def write_parquet(table: pa.Table, path: Path) -> None:
    """Write Parquet, whatever the path ends in."""
    import pyarrow.parquet as pq

    pq.write_table(table, path)


def _write_json_lines(table: pa.Table, path: Path) -> None:
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_string(column.type):
            _refuse_times(name, column.drop_null())
    with path.open("w", encoding="utf-8", newline="") as stream:
        for batch in table.to_batches(_ROWS_AT_ONCE):
            stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in batch.to_pylist())


def _refuse_times(name: str, texts: pa.ChunkedArray) -> None:
    if len(texts) and pc.all(pc.match_substring_regex(texts, _TIME)).as_py():
        raise BudgetplanError(
            f'the column "{name}" holds dates like "{texts[0].as_py()}", which are read back from JSON Lines as times.',
            hint="Write Parquet, which keeps them as they are: --out train.parquet",
        )
