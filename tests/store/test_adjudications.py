from typing import Any

import duckdb
import pyarrow as pa
import pytest

from budgetplan.store.adjudications import (
    ANOTHER_LOOK,
    Decided,
    adjudicate,
    answers_to_compare,
    disagreements,
    n_undecided,
    reopen_contradictions,
    states,
)
from budgetplan.store.annotators import remove_annotator

Connection = duckdb.DuckDBPyConnection
PEOPLE = ("ana", "bo", "cy", "di")


def says(*answers: str | None, item: str = "bp-a", **more: Any) -> list[dict[str, Any]]:
    """One label each by ana, bo, cy and di."""
    return [
        {"item_id": item, "annotator": who, "answer": answer, **more}
        for who, answer in zip(PEOPLE, answers, strict=False)
    ]


def decide(connection: Connection, same_as: dict[str, str] | None = None, *, replace_known: bool = False) -> Decided:
    """Decide with the given equalities among the answers to bp-a; others are equal to themselves alone."""
    groups = answers_to_compare(connection).drop_columns("n_votes")
    named = [(same_as or {}).get(answer, answer) for answer in groups["answer"].to_pylist()]
    groups = groups.append_column("same_as", pa.array(named, pa.string()))
    return adjudicate(connection, groups, replace_known=replace_known)


def decided(connection: Connection) -> list[tuple[Any, ...]]:
    return connection.execute(
        "SELECT state, answer, n_annotators, n_agreeing FROM adjudicated ORDER BY item_id"
    ).fetchall()


def gold(connection: Connection) -> dict[str, tuple[str, str]]:
    rows = connection.execute("SELECT item_id, answer, source FROM gold").fetchall()
    return {item_id: (answer, source) for item_id, answer, source in rows}


def know(connection: Connection, *answers: str) -> None:
    """Let a pool know answers to bp-a; its gold is the only one."""
    connection.execute("INSERT INTO pool_item VALUES ('pool', 'bp-a', 1, ['q0'], ?, '{}')", [list(answers)])
    if len(answers) == 1:
        connection.execute("INSERT INTO gold VALUES ('bp-a', ?, 'pool', now())", answers)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (("4",), ("agreed", "4", 1, 1)),
        (("4", "4"), ("agreed", "4", 2, 2)),
        (("4", "4", "5"), ("majority", "4", 3, 2)),
        (("5", "4"), ("tied", None, 2, 1)),
        (("5", "4", "4", "5"), ("tied", None, 4, 2)),
        (("5", "4", "3", "5"), ("majority", "5", 4, 2)),
    ],
)
def test_the_most_frequent_answer_decides_if_it_is_one(
    connection: Connection, take: Any, answers: tuple[str, ...], expected: tuple[Any, ...]
) -> None:
    take(*says(*answers))
    decide(connection)
    assert decided(connection) == [expected]
    assert gold(connection) == ({"bp-a": (expected[1], "label")} if expected[1] else {})


def test_equal_answers_vote_as_one(connection: Connection, take: Any) -> None:
    take(*says("1/2", "3", "0.5", "0.50"))
    decide(connection, {"1/2": "0.5", "0.50": "0.5"})
    assert decided(connection) == [("majority", "0.5", 4, 3)]


@pytest.mark.parametrize("verdict", ["ambiguous", "unanswerable"])
def test_one_voice_makes_an_item_unusable(connection: Connection, take: Any, verdict: str) -> None:
    take(*says("4", "4"), {"item_id": "bp-a", "annotator": "cy", "answer": None, "verdict": verdict})
    decide(connection)
    assert decided(connection) == [("unusable", None, 3, 2)]
    assert gold(connection) == {}
    assert [item.said["cy"] for item in disagreements(connection)] == [verdict]


def test_what_all_skipped_is_skipped(connection: Connection, take: Any) -> None:
    take(*says(None, None, status="skipped"))
    assert decide(connection) == Decided(n_items=1, n_gold_changed=0, n_gold_lost=0)
    assert (decided(connection), disagreements(connection)) == ([("skipped", None, 0, 0)], [])


def test_another_look_outvotes_everyone(connection: Connection, take: Any, send_out: Any) -> None:
    look = send_out(1, {"bp-a": 0}, purpose=ANOTHER_LOOK)
    take(*says("4", "4", "4"), {"item_id": "bp-a", "annotator": "di", "answer": "5", "shortlist_id": look})
    decide(connection)
    assert decided(connection) == [("agreed", "5", 1, 1)]
    take({"item_id": "bp-a", "annotator": "ed", "answer": "6", "shortlist_id": look})
    decide(connection)
    assert decided(connection) == [("tied", None, 2, 1)]
    assert gold(connection) == {}


def test_a_selection_of_the_same_name_decides_nothing(connection: Connection, take: Any, send_out: Any) -> None:
    name = send_out(1, {"bp-a": 1})
    take(*says("4", "4"), {"item_id": "bp-a", "annotator": "cy", "answer": "5", "shortlist_id": name})
    decide(connection)
    assert decided(connection) == [("majority", "4", 3, 2)]


def test_a_decision_holds_until_labels_change(connection: Connection, take: Any) -> None:
    take(*says("4", "5"), *says("4", item="bp-b"))
    assert (n_undecided(connection), decide(connection).n_items) == (2, 2)
    assert (n_undecided(connection), decide(connection).n_items) == (0, 0)
    take(*says("5"))
    assert (n_undecided(connection), decide(connection).n_items) == (1, 1)
    assert states(connection) == {"agreed": 2}


def test_a_known_answer_stays_unless_asked(connection: Connection, take: Any) -> None:
    know(connection, "4")
    take(*says("5"))
    assert decide(connection) == Decided(n_items=1, n_gold_changed=0, n_gold_lost=0)
    assert gold(connection) == {"bp-a": ("4", "pool")}
    assert [(item.ids, item.known, item.said) for item in disagreements(connection)] == [(["q0"], "4", {"ana": "5"})]
    reopen_contradictions(connection, pa.chunked_array([["bp-b"]]))
    assert n_undecided(connection) == 0
    reopen_contradictions(connection, pa.chunked_array([["bp-a"]]))
    assert decide(connection, replace_known=True).n_gold_changed == 1
    assert gold(connection) == {"bp-a": ("5", "label")}
    assert disagreements(connection) == []


def test_a_known_answer_in_other_words_is_not_contradicted(connection: Connection, take: Any) -> None:
    know(connection, "4")
    take(*says("4.0"))
    decide(connection, {"4": "4.0"})
    assert (gold(connection), disagreements(connection)) == ({"bp-a": ("4", "pool")}, [])


def test_gold_falls_back_to_the_pool_when_the_label_goes(connection: Connection, take: Any) -> None:
    know(connection, "4")
    take(*says("5"))
    decide(connection, replace_known=True)
    remove_annotator(connection, "ana", "ana")
    assert decide(connection) == Decided(n_items=1, n_gold_changed=1, n_gold_lost=0)
    assert (gold(connection), decided(connection)) == ({"bp-a": ("4", "pool")}, [])


def test_without_one_known_answer_gold_goes_with_its_label(connection: Connection, take: Any) -> None:
    know(connection, "4", "5")  # the pool contradicts itself
    take(*says("4"))
    decide(connection)
    assert gold(connection) == {"bp-a": ("4", "label")}
    remove_annotator(connection, "ana", "ana")
    assert decide(connection) == Decided(n_items=1, n_gold_changed=0, n_gold_lost=1)
    assert gold(connection) == {}


def test_verdicts_go_where_gold_moves_and_nowhere_else(connection: Connection, take: Any) -> None:
    for item in ("bp-a", "bp-b", "bp-c"):
        connection.execute("INSERT INTO verdict VALUES ('run', ?, 0, 'exact@1', 'unknown', NULL, NULL)", [item])
    take(*says("4"), *says("4", "5", item="bp-b"))
    decide(connection)
    assert connection.execute("SELECT item_id FROM verdict ORDER BY ALL").fetchall() == [("bp-b",), ("bp-c",)]


def test_answers_to_compare_are_the_different_ones_of_what_is_open(connection: Connection, take: Any) -> None:
    know(connection, "4")
    take(*says("4.0", "4.0", "5"), *says("1", "1", item="bp-b"), *says("1", "2", item="bp-c"))
    found = [tuple(row.values())[:3] for row in answers_to_compare(connection).to_pylist()]
    assert found == [("bp-a", "4", 0), ("bp-a", "4.0", 2), ("bp-a", "5", 1), ("bp-c", "1", 1), ("bp-c", "2", 1)]
    decide(connection)
    assert answers_to_compare(connection).num_rows == 0


def test_ties_come_first_among_disagreements(connection: Connection, take: Any) -> None:
    take(*says("4", "4", "5"), *says("4", "5", item="bp-b"), *says("4", "4", item="bp-c"))
    decide(connection)
    assert [(item.item_id, item.state) for item in disagreements(connection)] == [
        ("bp-b", "tied"),
        ("bp-a", "majority"),
    ]
