from typing import Any

import duckdb

from budgetplan.store.annotators import annotators, remove_annotator, removed_people, rename_annotators

A = {"item_id": "bp-a"}
Connection = duckdb.DuckDBPyConnection


def names(connection: Connection) -> list[str]:
    rows = connection.execute("SELECT annotator FROM current_label ORDER BY ALL").fetchall()
    return [name for (name,) in rows]


def test_the_removed_stay_out(connection: Connection, take: Any) -> None:
    take(A, A | {"annotator": "bo"})
    assert remove_annotator(connection, "ana", "ana") == 1
    assert remove_annotator(connection, "nobody", "nobody") == 0
    assert len(removed_people(connection)) == 1
    assert take(A, A | {"annotator": "nobody"}) == {("bp-a", "nobody"): "new"}
    assert names(connection) == ["bo", "nobody"]


def test_annotators_are_counted_timed_and_compared_with_what_was_decided(connection: Connection, take: Any) -> None:
    take(
        *({"item_id": f"bp-{n}", "seconds": float(10 * n)} for n in range(3)),
        *({"item_id": f"bp-{n}", "annotator": "bo", "answer": "5"} for n in range(2)),
        {"item_id": "bp-2", "annotator": "bo", "status": "skipped", "answer": None, "seconds": 1.0},
    )
    connection.execute("""INSERT INTO adjudicated VALUES ('bp-0', 'majority', '4', 2, 1, false),
        ('bp-1', 'majority', '5', 2, 1, false), ('bp-2', 'agreed', '4', 1, 1, false)""")
    found = [(row.annotator, row.n_labels, row.n_skipped, row.median_seconds) for row in annotators(connection)]
    assert found == [("ana", 3, 0, 10.0), ("bo", 2, 1, None)]
    assert [row.agreement for row in annotators(connection)] == [0.5, 0.5]


def test_renaming_changes_names_and_raw_records_and_nothing_else(connection: Connection, take: Any) -> None:
    take(A, A | {"annotator": "bo", "answer": "5"})
    before = connection.execute("SELECT answer, place, arrival FROM label ORDER BY ALL").fetchall()
    rename_annotators(connection, {"ana": "a1", "bo": "b1"}, lambda raw: raw.upper())
    assert names(connection) == ["a1", "b1"]
    assert connection.execute("SELECT raw FROM label WHERE annotator = 'a1'").fetchall() == [('{"ITEM_ID": "BP-A"}',)]
    assert connection.execute("SELECT answer, place, arrival FROM label ORDER BY ALL").fetchall() == before
