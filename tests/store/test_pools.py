import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from budgetplan.errors import NothingToDo
from budgetplan.records import POOL_SCHEMA
from budgetplan.store.connection import Store
from budgetplan.store.pools import find_pool, import_pool, item_details


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Store(tmp_path / "store.duckdb").writing() as connection:
        yield connection


def row(item: str, *answers: str, ids: tuple[str, ...] = (), **columns: Any) -> dict[str, Any]:
    extra = json.dumps(columns)
    return {
        "item_id": item,
        "prompt": item,
        "messages": None,
        "answers": answers,
        "ids": ids,
        "columns": extra,
        "row": 1,
    }


def bring(connection: duckdb.DuckDBPyConnection, *rows: dict[str, Any]) -> Any:
    numbered = [{**row, "row": place} for place, row in enumerate(rows, start=1)]
    return import_pool(connection, "pool-1", "pool.jsonl", len(rows), pa.Table.from_pylist(numbered, POOL_SCHEMA))


def gold(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str]]:
    return connection.execute("SELECT item_id, answer, source FROM gold ORDER BY ALL").fetchall()


def judge(connection: duckdb.DuckDBPyConnection, *items: str) -> None:
    for item in items:
        connection.execute("INSERT INTO verdict VALUES ('run-1', ?, 0, 'math@1', 'correct', '72', '72')", [item])


def judged(connection: duckdb.DuckDBPyConnection) -> list[str]:
    return [item for (item,) in connection.execute("SELECT item_id FROM verdict ORDER BY ALL").fetchall()]


def test_one_known_answer_is_gold_and_two_are_none(connection: duckdb.DuckDBPyConnection) -> None:
    imported = bring(connection, row("a", "72"), row("b"), row("c", "1", "2"))
    assert gold(connection) == [("a", "72", "pool")]
    assert (imported.n_new_items, imported.n_changed_answers) == (3, 0)


def test_importing_again_changes_nothing(connection: duckdb.DuckDBPyConnection) -> None:
    bring(connection, row("a", "72"), row("b"))
    judge(connection, "a")
    imported = bring(connection, row("b"), row("a", "72"))
    assert (imported.n_new_items, imported.n_changed_answers) == (0, 0)
    assert judged(connection) == ["a"]
    assert connection.execute("SELECT count(*) FROM pool_item").fetchone() == (2,)


def test_a_changed_answer_takes_the_verdicts_on_it_along(connection: duckdb.DuckDBPyConnection) -> None:
    bring(connection, row("a", "72"), row("b", "5"))
    judge(connection, "a", "b")
    assert bring(connection, row("a", "73"), row("b", "5")).n_changed_answers == 1
    assert judged(connection) == ["b"]
    assert gold(connection) == [("a", "73", "pool"), ("b", "5", "pool")]


def test_answers_that_have_come_to_conflict_are_no_gold(connection: duckdb.DuckDBPyConnection) -> None:
    bring(connection, row("a", "72"))
    judge(connection, "a")
    bring(connection, row("a", "72", "73"))
    assert gold(connection) == []
    assert judged(connection) == []


def test_a_pool_that_lost_its_answers_keeps_the_gold(connection: duckdb.DuckDBPyConnection) -> None:
    bring(connection, row("a", "72"))
    bring(connection, row("a"))
    assert gold(connection) == [("a", "72", "pool")]


def test_a_label_outlives_what_the_pool_says(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("INSERT INTO gold VALUES ('a', '70', 'label', now())")
    bring(connection, row("a", "72"))
    assert gold(connection) == [("a", "70", "label")]


def test_the_users_columns_come_back(connection: duckdb.DuckDBPyConnection) -> None:
    odd = {'to"pic': "algebra", "level/2": 3, "rank": "mine"}
    bring(connection, row("a", ids=("7", "9"), **odd), row("b", topic="x"))
    own = item_details(connection, "pool-1", pa.chunked_array([["b", "a"]])).to_pylist()
    assert own[1] == {"prompt": "a", "level/2": "3", "user_rank": "mine", 'to"pic': "algebra", "topic": None}
    assert own[0]["topic"] == "x"


def test_an_unknown_pool_is_named(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(NothingToDo, match="pool-9"):
        find_pool(connection, "pool-9")


def test_columns_named_like_ours_never_collide(connection: duckdb.DuckDBPyConnection) -> None:
    bring(connection, row("a", cost="1", user_cost="2", user_user_cost="3"))
    (details,) = item_details(connection, "pool-1", pa.chunked_array([["a"]])).to_pylist()
    assert details == {"prompt": "a", "user_user_user_cost": "1", "user_cost": "2", "user_user_cost": "3"}


def test_changed_columns_take_the_verdicts_of_a_users_function_along(connection: duckdb.DuckDBPyConnection) -> None:
    bring(connection, row("a", "72", tests="1"), row("b", "5", tests="1"))
    for item in ("a", "b"):
        connection.execute("INSERT INTO verdict VALUES ('run-1', ?, 0, 'my.py:f@1', 'correct', '72', '72')", [item])
    judge(connection, "a")
    bring(connection, row("a", "72", tests="2"), row("b", "5", tests="1"))
    held = connection.execute("SELECT item_id, verifier FROM verdict ORDER BY ALL").fetchall()
    assert held == [("a", "math@1"), ("b", "my.py:f@1")]
