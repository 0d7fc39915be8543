from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from budgetplan.store.connection import Store, scalar
from budgetplan.store.runs import EVALUATION, ProbeRun, all_runs, find_any_run, save_run
from budgetplan.store.validations import (
    TrainingRow,
    ValidationRow,
    all_gains,
    find_training,
    item_rows,
    item_scores,
    measured_steps,
    save_evaluation,
    save_training,
    save_validation,
    save_verdict,
    training_groups,
)

GROUPS = pa.table(
    {
        "step": [1, 1, 2],
        "position": [0, 1, 0],
        "item_id": ["bp-a", "bp-b", "bp-a"],
        "rewards": [[0.0, 1.0], [None, 1.0], [1.0, 1.0]],
        "n_truncated": [0, 1, 0],
        "mean_tokens": [3.0, 4.0, 5.0],
    }
)
METRICS = pa.table({"step": [1, 2], "name": ["reward", "reward"], "value": [0.5, 1.0]})


@pytest.fixture
def connection(tmp_path: Path) -> Any:
    with Store(tmp_path / "store.duckdb").writing() as connection:
        yield connection


def run_named(run_id: str, role: Any) -> ProbeRun:
    return ProbeRun(run_id, "pool-1", "some-model", "rev", "transformers", {}, 4, "exact", "exact@1", role)


def validation(name: str, **changes: Any) -> ValidationRow:
    values = {
        "run_id": "run-1",
        "pool_id": "pool-1",
        "settings": {"recipe": "paper"},
        "items": {"test": ["bp-t"], "hard": ["bp-b", "bp-a"]},
        "trainings": {("hard", 0): "trn-1"},
    }
    return ValidationRow(validation_id=name, **(values | changes))


def test_a_training_is_read_back_as_it_was_written_and_never_doubled(connection: duckdb.DuckDBPyConnection) -> None:
    row = TrainingRow("trn-1", {"arm": "hard", "seed": 0}, 2, "", 12.5, 1 << 30)
    assert find_training(connection, "trn-1") is None
    for _ in range(2):
        save_training(connection, row, GROUPS, METRICS)
    assert find_training(connection, "trn-1") == row
    assert scalar(connection, "SELECT count(*) FROM validation_metric") == 2
    stored = training_groups(connection, ["trn-1"])
    assert stored["rewards"].to_pylist() == [[0.0, 1.0], [None, 1.0], [1.0, 1.0]]
    assert training_groups(connection, ["trn-2"]).num_rows == 0


def test_a_validation_said_again_replaces_its_items_and_keeps_its_verdict(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    save_run(connection, run_named("run-1", "base"))
    save_validation(connection, validation("val-1"))
    save_verdict(connection, "val-1", {"gains": [{"training_id": "trn-1", "arm": "hard", "points": 4.0}]})
    save_validation(connection, validation("val-1", items={"hard": ["bp-a"]}))
    assert connection.execute("SELECT role, item_id FROM validation_item").fetchall() == [("hard", "bp-a")]
    (gain,) = all_gains(connection)
    assert (gain.training_id, gain.model, gain.arm, gain.points) == ("trn-1", "some-model", "hard", 4.0)


def test_a_training_of_two_validations_counts_once_by_the_last(connection: duckdb.DuckDBPyConnection) -> None:
    save_run(connection, run_named("run-1", "base"))
    for number, points in (("val-1", 6.0), ("val-2", 4.0)):
        save_validation(connection, validation(number))
        save_verdict(connection, number, {"gains": [{"training_id": "trn-1", "arm": "hard", "points": points}]})
    connection.execute("UPDATE validation SET created_at = now() + INTERVAL 1 DAY WHERE validation_id = 'val-1'")
    assert [gain.points for gain in all_gains(connection)] == [6.0]


def test_steps_are_measured_once_each(connection: duckdb.DuckDBPyConnection) -> None:
    for step in (100, 50, 100):
        save_evaluation(connection, "trn-1", step, f"run-{step}")
    assert measured_steps(connection, "trn-1") == [50, 100]


def test_errors_count_neither_for_nor_against_and_only_first_samples_are_looked_at(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    outcomes = {
        "bp-a": ["correct", "truncated", "correct"],
        "bp-b": ["verifier_error", "wrong", "correct"],
        "bp-c": ["engine_error", "verifier_error", "correct"],
    }
    for item_id, some in outcomes.items():
        for place, outcome in enumerate(some):
            finish = "length" if outcome == "truncated" else "error" if outcome == "engine_error" else "stop"
            connection.execute(
                "INSERT INTO completion VALUES ('run-1', ?, ?, 0, '', 10, ?, NULL, NULL, NULL)",
                [item_id, place, finish],
            )
            connection.execute(
                "INSERT INTO verdict VALUES ('run-1', ?, ?, 'exact@1', ?, NULL, NULL)", [item_id, place, outcome]
            )
    scores = item_scores(connection, "run-1", "exact@1", ["bp-c", "bp-b", "bp-a", "bp-unasked"], 2)
    assert scores["item_id"].to_pylist() == ["bp-c", "bp-b", "bp-a", "bp-unasked"]
    assert scores["n"].to_pylist() == [0, 1, 2, 0]
    assert scores["share"].to_pylist() == [None, 0.0, 0.5, None]
    assert scores["n_truncated"].to_pylist() == [0, 0, 1, 0]
    assert item_scores(connection, "run-1", "other@1", ["bp-a"], 2)["n"].to_pylist() == [0]


def test_prompts_come_in_the_order_asked_for(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("INSERT INTO item VALUES ('bp-a', 'first', NULL), ('bp-b', 'second', '[]')")
    rows = item_rows(connection, ["bp-b", "bp-a"]).to_pylist()
    assert [(row["prompt"], row["messages"], row["row"]) for row in rows] == [("second", "[]", 0), ("first", None, 1)]


def test_a_run_that_measures_is_never_one_to_rank_by(connection: duckdb.DuckDBPyConnection) -> None:
    save_run(connection, run_named("run-2", EVALUATION))
    assert all_runs(connection) == []
    assert find_any_run(connection, "run-2") == run_named("run-2", EVALUATION)
    save_run(connection, run_named("run-1", "base"))
    assert [run.run_id for run in all_runs(connection)] == ["run-1"]
    assert find_any_run(connection, "run-3") is None
