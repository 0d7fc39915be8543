"""Rows written as the files a pool may come in."""

import csv
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]


def write_csv(name: str, rows: list[Row], delimiter: str = ",") -> None:
    with Path(name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def write_parquet(name: str, rows: list[Row]) -> None:
    pq.write_table(pa.Table.from_pylist(rows), name)
