from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from budgetplan.records import POOL_SCHEMA, SAMPLES_SCHEMA, Completion, ItemId
from budgetplan.store.chunks import ChunkWriter, chunk_files
from budgetplan.store.completions import import_samples, merge_chunks, missing_samples
from budgetplan.store.connection import Store

RUN = "run-1"


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Store(tmp_path / "store.duckdb").writing() as connection:
        yield connection


def pool(*names: str) -> pa.Table:
    rows = [
        {"item_id": name, "prompt": name, "messages": None, "answers": [], "ids": [], "columns": "{}", "row": row}
        for row, name in enumerate(names, start=1)
    ]
    return pa.Table.from_pylist(rows, POOL_SCHEMA)


def chunk(folder: Path, *completions: Completion) -> list[Path]:
    writer = ChunkWriter(folder)
    writer.add(completions)
    writer.flush()
    return chunk_files(folder)


def sample(item: str, index: int, text: str = "72") -> Completion:
    return Completion(ItemId(item), index, index, text, 1, "stop", -0.5)


def failed(item: str, index: int) -> Completion:
    return Completion(ItemId(item), index, index, "", 0, "error", None, "out of memory")


def stored(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, int, str]]:
    return connection.execute("SELECT item_id, sample_index, text FROM completion ORDER BY ALL").fetchall()


def gaps(connection: duckdb.DuckDBPyConnection, k: int | list[int], *names: str) -> list[tuple[str, int, int]]:
    wanted = pa.array(k if isinstance(k, list) else [k] * len(names), pa.int32())
    table = missing_samples(connection, RUN, pool(*names), wanted)
    return [(row["item_id"], row["first"], row["count"]) for row in table.to_pylist()]


def test_merging_twice_adds_once(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    files = chunk(tmp_path / RUN, sample("a", 0), sample("a", 1))
    assert merge_chunks(connection, RUN, files) == 2
    assert merge_chunks(connection, RUN, files) == 0
    assert stored(connection) == [("a", 0, "72"), ("a", 1, "72")]


def test_a_sample_in_two_chunks_is_one(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    chunk(tmp_path / RUN, sample("a", 0))
    files = chunk(tmp_path / RUN, sample("a", 0), sample("a", 1))
    assert merge_chunks(connection, RUN, files) == 2


def test_a_success_replaces_a_failure_and_its_verdict(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    merge_chunks(connection, RUN, chunk(tmp_path / "1", failed("a", 0), sample("a", 1)))
    connection.execute("INSERT INTO verdict VALUES ('run-1', 'a', 0, 'math@1', 'engine_error', NULL, NULL)")
    assert gaps(connection, 2, "a") == [("a", 0, 1)]
    assert merge_chunks(connection, RUN, chunk(tmp_path / "2", sample("a", 0, "7"))) == 1
    assert stored(connection) == [("a", 0, "7"), ("a", 1, "72")]
    assert connection.execute("SELECT count(*) FROM verdict").fetchone() == (0,)


def test_a_failure_never_replaces_a_success(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    merge_chunks(connection, RUN, chunk(tmp_path / "1", sample("a", 0)))
    merge_chunks(connection, RUN, chunk(tmp_path / "2", failed("a", 0)))
    assert stored(connection) == [("a", 0, "72")]


def test_gaps_are_found_wherever_they_are(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    have = [sample("a", 0), sample("a", 3), *(sample("b", index) for index in range(5))]
    merge_chunks(connection, RUN, chunk(tmp_path / RUN, *have))
    assert gaps(connection, 5, "c", "b", "a") == [("c", 0, 5), ("a", 1, 2), ("a", 4, 1)]
    assert gaps(connection, 2, "b", "a") == [("a", 1, 1)]


def test_runs_are_kept_apart(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    merge_chunks(connection, "run-2", chunk(tmp_path / "run-2", sample("a", 0)))
    assert gaps(connection, 1, "a") == [("a", 0, 1)]


def imported(item: str, source: str, *texts: str) -> list[dict[str, object]]:
    return [
        {"item_id": item, "source": source, "position": place, "model": None, "text": text, "n_tokens": None}
        for place, text in enumerate(texts)
    ]


def test_imported_rows_add_up_and_never_double(connection: duckdb.DuckDBPyConnection) -> None:
    first = pa.Table.from_pylist(imported("a", "row-1", "1", "1") + imported("b", "row-2", "2"), SAMPLES_SCHEMA)
    assert import_samples(connection, RUN, first) == 3
    assert import_samples(connection, RUN, first) == 0
    more = pa.Table.from_pylist(imported("a", "row-1", "1", "1") + imported("a", "row-3", "1"), SAMPLES_SCHEMA)
    assert import_samples(connection, RUN, more) == 1
    assert stored(connection) == [("a", 0, "1"), ("a", 1, "1"), ("a", 2, "1"), ("b", 0, "2")]


def test_every_item_can_have_a_target_of_its_own(connection: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    merge_chunks(connection, RUN, chunk(tmp_path / RUN, sample("a", 0), sample("b", 0), sample("b", 1)))
    assert gaps(connection, [3, 1, 0, 2], "a", "b", "c", "d") == [("a", 1, 2), ("d", 0, 2)]
