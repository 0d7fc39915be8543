import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from budgetplan.records import LABELS_SCHEMA
from budgetplan.store.connection import Store
from budgetplan.store.labels import LabelSource, add_labels, changes, watch_changes
from budgetplan.store.shortlists import save_shortlist, shortlist_name

Take = Callable[..., dict[tuple[str, str], str]]


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Store(tmp_path / "store.duckdb").writing() as connection:
        yield connection


@pytest.fixture
def take(connection: duckdb.DuckDBPyConnection) -> Take:
    """Take rows in as one file of its own (or a known one, by `sha256`); returns what changed, by item and annotator.

    A row is the keys that matter: by default it is ana's answer 4.
    """
    n_files = 0

    def taken(*rows: dict[str, Any], sha256: str | None = None, tool: str = "jsonl") -> dict[tuple[str, str], str]:
        nonlocal n_files
        n_files += 1
        source = LabelSource(sha256 or f"file {n_files}", f"{n_files}.jsonl", tool)
        watch_changes(connection)
        add_labels(connection, source, label_table(*rows))
        return {(row["item_id"], row["annotator"]): row["change"] for row in changes(connection).to_pylist()}

    return taken


def label_table(*rows: dict[str, Any]) -> pa.Table:
    defaults = {"annotator": "ana", "answer": "4", "status": "submitted"}
    whole = [
        defaults | {"place": place, "raw": json.dumps(row, default=str)} | row
        for place, row in enumerate(rows, start=1)
    ]
    return pa.Table.from_pylist(whole, LABELS_SCHEMA)


@pytest.fixture
def send_out(connection: duckdb.DuckDBPyConnection) -> Callable[..., str]:
    """Send items out as a shortlist, each at its cost."""

    def sent(number: int, costs: dict[str, float], *, unit: str = "items", purpose: str = "selection") -> str:
        settings = dict.fromkeys(("run_id", "pool_id", "policy", "budget"), "-")
        picked = pa.table(
            {
                "item_id": pa.array(list(costs), pa.string()),
                "rank": pa.array(range(1, len(costs) + 1), pa.int64()),
                "score": pa.nulls(len(costs), pa.float64()),
                "cost": pa.array(list(costs.values()), pa.float64()),
            }
        )
        settings |= {"purpose": purpose, "unit": unit, "left_unit": unit}
        save_shortlist(connection, number, settings, picked)
        return shortlist_name(number)

    return sent
