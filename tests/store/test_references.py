"""Runs by role, and how far a run's samples agree with its reference's answers."""

from dataclasses import replace

import duckdb
import pytest

from budgetplan.errors import NothingToDo
from budgetplan.store.references import find_reference, reference_agreement
from budgetplan.store.runs import BASE, REFERENCE, ProbeRun, Role, all_runs, find_run, mark_used, save_run


def a_run(connection: duckdb.DuckDBPyConnection, name: str, role: Role = BASE) -> ProbeRun:
    """Save a run, in a moment of its own."""
    run = ProbeRun(f"run-{name}", "pool-1", name, "", "import", {}, 4, "auto", "math@1", role)
    save_run(connection, run)
    connection.execute("COMMIT")
    connection.execute("BEGIN")
    return run


def samples(connection: duckdb.DuckDBPyConnection, run: ProbeRun, item: str, *keys: str | None) -> None:
    """Let a run give these answers to an item of the pool; `!` is a sample that could not be judged."""
    connection.execute("DELETE FROM pool_item WHERE item_id = ?", [item])
    connection.execute("INSERT INTO pool_item VALUES ('pool-1', ?, ?, [], [], '{}')", [item, ord(item)])
    for index, key in enumerate(keys):
        outcome = "verifier_error" if key == "!" else "unknown"
        of_sample = [run.run_id, item, index]
        connection.execute(
            "INSERT INTO completion (run_id, item_id, sample_index, text) VALUES (?, ?, ?, '')", of_sample
        )
        connection.execute(
            "INSERT INTO verdict VALUES (?, ?, ?, ?, ?, ?, ?)", [*of_sample, "math@1", outcome, key, key]
        )


def test_a_role_is_kept_and_may_change(connection: duckdb.DuckDBPyConnection) -> None:
    run = a_run(connection, "big", REFERENCE)
    assert all_runs(connection) == [run]
    assert a_run(connection, "big").role == BASE
    assert [run.role for run in all_runs(connection)] == [BASE]


def test_the_run_to_work_on_is_never_a_reference_unless_named(connection: duckdb.DuckDBPyConnection) -> None:
    big = a_run(connection, "big", REFERENCE)
    with pytest.raises(NothingToDo, match=r"only samples of a reference model \(big\).*Sample the base model"):
        find_run(connection, None)
    tiny = a_run(connection, "tiny")
    a_run(connection, "big", REFERENCE)
    assert find_run(connection, None) == tiny
    assert find_run(connection, "run-b") == big


def test_the_reference_is_the_last_used_one_with_items_of_the_pool(connection: duckdb.DuckDBPyConnection) -> None:
    tiny = a_run(connection, "tiny")
    samples(connection, tiny, "a", "1")
    assert find_reference(connection, tiny) is None
    first, last, elsewhere = (a_run(connection, name, REFERENCE) for name in ("first", "last", "elsewhere"))
    assert find_reference(connection, tiny) is None
    samples(connection, first, "a", "1")
    samples(connection, last, "a", "1")
    samples(connection, elsewhere, "z", "1")
    connection.execute("UPDATE pool_item SET pool_id = 'pool-2' WHERE item_id = 'z'")
    assert find_reference(connection, tiny) == last
    mark_used(connection, first.run_id)
    assert find_reference(connection, tiny) == first
    assert find_reference(connection, first) == last


def test_agreement_is_the_share_of_counted_samples_with_the_usual_answer(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    tiny, big = a_run(connection, "tiny"), a_run(connection, "big", REFERENCE)
    samples(connection, tiny, "d", "4", "5", None, "!")
    samples(connection, big, "d", "5", "4", "4")
    samples(connection, tiny, "c", "1", "2", "2", "2")
    samples(connection, big, "c", "2", "1")  # a tie: the lowest key
    samples(connection, tiny, "b", "1", "1")
    samples(connection, big, "b", None)
    samples(connection, tiny, "a", "!")
    samples(connection, big, "a", "4")
    samples(connection, tiny, "e", "x+1", "1+x", "9", None)
    samples(connection, big, "e", "1+x", "9", "x+1")
    connection.execute("INSERT INTO same_answer VALUES ('math@1', 'e', '1+x', 'x+1'), ('other@1', 'e', '9', 'x+1')")
    assert reference_agreement(connection, tiny, big).to_pylist() == [None, None, 0.25, pytest.approx(1 / 3), 0.5]


def test_keys_of_two_verifiers_are_not_compared(connection: duckdb.DuckDBPyConnection) -> None:
    tiny, big = a_run(connection, "tiny"), a_run(connection, "big", REFERENCE)
    samples(connection, tiny, "a", "4")
    samples(connection, big, "a", "4")
    connection.execute("UPDATE verdict SET verifier = 'exact@1' WHERE run_id = ?", [big.run_id])
    assert reference_agreement(connection, tiny, replace(big, verdicts_by="exact@1")).to_pylist() == [None]
