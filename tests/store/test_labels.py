from datetime import UTC, datetime
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from budgetplan.store.labels import first_name, item_seconds, label_votes, never_asked_for, still_missing, unknown_items
from budgetplan.store.shortlists import recall_items

A = {"item_id": "bp-a"}
SKIP = A | {"status": "skipped", "answer": None}
Connection = duckdb.DuckDBPyConnection


def at(day: int) -> datetime:
    return datetime(2020, 1, day, tzinfo=UTC)


def holds(connection: Connection) -> list[tuple[Any, ...]]:
    return connection.execute("SELECT item_id, annotator, answer, status FROM current_label ORDER BY ALL").fetchall()


def n_stored(connection: Connection) -> int:
    return len(connection.execute("FROM label SELECT place").fetchall())


@pytest.mark.parametrize(
    ("earlier", "later", "answer"),
    [
        ({"answer": "4"}, {"answer": "5"}, "5"),  # neither has a time of its own: by arrival
        ({"answer": "4", "labeled_at": at(1)}, {"answer": "5", "labeled_at": at(2)}, "5"),
        ({"answer": "4", "labeled_at": at(2)}, {"answer": "5", "labeled_at": at(1)}, "4"),
        ({"answer": "4", "labeled_at": at(1)}, {"answer": "5"}, "5"),  # no time counts as the time of its arrival
        ({"answer": "4"}, {"answer": "5", "labeled_at": at(1)}, "4"),
    ],
)
def test_the_last_label_holds_by_its_own_time_and_all_are_kept(
    connection: Connection, take: Any, earlier: dict[str, Any], later: dict[str, Any], answer: str
) -> None:
    take(A | earlier)
    change = take(A | later)
    assert holds(connection) == [("bp-a", "ana", answer, "submitted")]
    assert change == {("bp-a", "ana"): "changed" if answer == "5" else "unchanged"}
    assert n_stored(connection) == 2


def test_of_one_file_the_last_row_holds(connection: Connection, take: Any) -> None:
    take(A | {"answer": "5"}, A | {"answer": "4"})
    assert holds(connection) == [("bp-a", "ana", "4", "submitted")]


def test_a_skip_or_a_rejection_never_takes_a_labels_place(connection: Connection, take: Any) -> None:
    assert take(SKIP) == {("bp-a", "ana"): "skipped"}
    assert take(SKIP | {"status": "rejected"}) == {("bp-a", "ana"): "rejected"}
    assert take(A) == {("bp-a", "ana"): "new"}
    assert take(SKIP | {"labeled_at": at(9)}, SKIP) == {("bp-a", "ana"): "unchanged"}
    assert holds(connection) == [("bp-a", "ana", "4", "submitted")]


@pytest.mark.parametrize("more", [{"seconds": 9.0}, {"verdict": "ambiguous"}, {"answer": "5"}])
def test_a_label_changes_with_what_it_says(take: Any, more: dict[str, Any]) -> None:
    take(A)
    assert take(A | more) == {("bp-a", "ana"): "changed"}


def test_what_was_said_before_is_not_stored_again(connection: Connection, take: Any) -> None:
    take(A, A | {"annotator": "bo"})
    assert set(take(A | {"annotator": "bo"}, A, A).values()) == {"unchanged"}
    take(A | {"answer": "5"})
    assert take(A, sha256="file 1") == {("bp-a", "ana"): "unchanged"}  # an old file that comes by again
    assert holds(connection)[0][2] == "5"
    assert n_stored(connection) == 3
    assert take(A) == {("bp-a", "ana"): "changed"}  # a new file that says it: they changed their mind back
    assert n_stored(connection) == 4


def test_an_annotation_keeps_its_annotators_name_in_other_exports(connection: Connection, take: Any) -> None:
    same = A | {"native_id": "7"}
    take(same | {"annotator": "3"}, tool="label-studio")
    assert take(same | {"annotator": "ana@example.com"}, tool="label-studio") == {("bp-a", "3"): "unchanged"}
    assert take({"item_id": "bp-b", "native_id": "7"}, tool="label-studio") == {("bp-b", "ana"): "new"}
    assert take(same, tool="prodigy") == {("bp-a", "ana"): "new"}
    assert n_stored(connection) == 3


def test_only_what_was_decided_of_changed_items_is_forgotten(connection: Connection, take: Any) -> None:
    take(A, {"item_id": "bp-b"})
    connection.execute("INSERT INTO adjudicated SELECT item_id, 'agreed', '4', 1, 1, false FROM label")
    connection.execute("INSERT INTO answer_group SELECT item_id, '4', '4' FROM label")
    take(A | {"answer": "5"}, {"item_id": "bp-b"})
    for table in ("adjudicated", "answer_group"):
        assert connection.execute(f"SELECT item_id FROM {table}").fetchall() == [("bp-b",)]


def test_a_file_is_known_by_its_first_name(connection: Connection, take: Any) -> None:
    take(A, sha256="digest")
    take(A, sha256="digest")
    assert (first_name(connection, "digest"), first_name(connection, "other")) == ("1.jsonl", None)


def test_items_by_what_is_known_of_them(connection: Connection, take: Any, send_out: Any) -> None:
    connection.execute("INSERT INTO item VALUES ('bp-a', 'why?', NULL)")
    assert unknown_items(connection, pa.array(["bp-a", "bp-x", "bp-x"])) == {"bp-x"}
    send_out(1, {"bp-z": 1, "bp-a": 1, "bp-y": 1, "bp-c": 1})
    send_out(2, {"bp-b": 1, "bp-z": 1})
    take(A, SKIP | {"item_id": "bp-c"}, {"item_id": "bp-x"})
    assert never_asked_for(connection, pa.chunked_array([["bp-x", "bp-a", "bp-x"]])) == ["bp-x"]
    assert still_missing(connection) == ["bp-z", "bp-y", "bp-b"]
    recall_items(connection, "sl-0001", ["bp-z", "bp-y"])
    assert still_missing(connection) == ["bp-b", "bp-z"]  # which is still out in the second


def test_votes_are_answers_of_items_with_two_annotators_equal_ones_as_one(connection: Connection, take: Any) -> None:
    take(
        A | {"answer": "1/2"},
        A | {"answer": "0.5", "annotator": "bo"},
        SKIP | {"annotator": "cy"},
        {"item_id": "bp-b"},
        {"item_id": "bp-b", "annotator": "bo", "answer": None, "verdict": "ambiguous"},
    )
    connection.execute("INSERT INTO answer_group VALUES ('bp-a', '1/2', '0.5')")
    assert label_votes(connection).to_pylist() == [
        {"item_id": "bp-a", "annotator": "ana", "answer": "0.5"},
        {"item_id": "bp-a", "annotator": "bo", "answer": "0.5"},
    ]


def test_an_items_time_is_what_its_labels_took_together(connection: Connection, take: Any) -> None:
    for row, name in enumerate(("bp-b", "bp-a", "bp-c"), start=1):
        connection.execute("INSERT INTO pool_item VALUES ('pool', ?, ?, [], [], '{}')", [name, row])
    times = (5.0, 20.0, 100.0, 0.0, None)
    take(*(A | {"annotator": str(number), "seconds": seconds} for number, seconds in enumerate(times)))
    take(SKIP | {"item_id": "bp-b", "seconds": 3.0})
    assert item_seconds(connection, "pool").to_pylist() == [None, 125.0, None]
