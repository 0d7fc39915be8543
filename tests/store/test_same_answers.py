"""Which answers are sent to a verifier to be compared, and what is kept of what it said."""

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from budgetplan.store.runs import ProbeRun
from budgetplan.store.same_answers import has_new_answers, items_to_compare, pairs_to_compare, save_same_answers
from budgetplan.verifying.verifier import BUILT_IN


def run_by(verifier: str) -> ProbeRun:
    return ProbeRun("run-1", "pool-1", "tiny", "", "import", {}, 4, "auto", f"{verifier}@1")


def answered(connection: duckdb.DuckDBPyConnection, verifier: str, *texts: str, item: str = "a") -> None:
    """Let samples give these answers to an item of the pool, each written as found."""
    connection.execute("DELETE FROM pool_item WHERE item_id = ?", [item])
    connection.execute("INSERT INTO pool_item VALUES ('pool-1', ?, 1, [], [], '{}')", [item])
    key = BUILT_IN[verifier]().key
    for text in texts:
        (n,) = connection.execute("SELECT count(*) FROM verdict").fetchall()[0]
        row = ["run-1", item, n, f"{verifier}@1", text, key(text)]
        connection.execute("INSERT INTO verdict VALUES (?, ?, ?, ?, 'unknown', ?, ?)", row)


def compared(connection: duckdb.DuckDBPyConnection, verifier: str) -> list[tuple[str, str]]:
    pairs = pairs_to_compare(connection, run_by(verifier))
    return list(zip(pairs["left_text"].to_pylist(), pairs["right_text"].to_pylist(), strict=True))


def save(connection: duckdb.DuckDBPyConnection, *groups: tuple[str, str, str]) -> None:
    schema = pa.schema([(name, pa.string()) for name in ("item_id", "answer", "same_as")])
    table = pa.Table.from_pylist([dict(zip(schema.names, group, strict=True)) for group in groups], schema)
    run = run_by("math")
    save_same_answers(connection, run.verdicts_by, items_to_compare(connection, run), table)


def same(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    return connection.execute("SELECT answer_key, same_as FROM same_answer ORDER BY ALL").fetchall()


def test_numbers_and_words_are_not_compared_but_formulas_are(connection: duckdb.DuckDBPyConnection) -> None:
    answered(connection, "math", "1", "2", "-3.5", "1/3", "apples", "no idea", "yes")
    assert compared(connection, "math") == []
    answered(connection, "math", "x+1", "1+x", item="b")
    assert compared(connection, "math") == [("1+x", "x+1")]


def test_a_number_of_two_readings_and_a_rounded_one_are_compared(connection: duckdb.DuckDBPyConnection) -> None:
    answered(connection, "math", "5%", "0.05", "7")
    assert compared(connection, "math") == [("0.05", "5%"), ("5%", "7")]
    answered(connection, "math", "1/3", "0.333333", "7", item="b")
    assert compared(connection, "math")[2:] == [("0.333333", "1/3")]


def test_the_most_frequent_writing_stands_for_a_key(connection: duckdb.DuckDBPyConnection) -> None:
    answered(connection, "math", "x + 1", "x+1", "x+1", "1+x")
    pairs = pairs_to_compare(connection, run_by("math")).to_pylist()
    assert [(pair["left_n"], pair["right_text"], pair["right_n"]) for pair in pairs] == [(1, "x+1", 3)]


def test_only_a_named_list_is_compared_with_an_unnamed_one_of_its_length(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    answered(connection, "sequence", "Ann: ball, Bob: book", "ball, book", "book, ball", "a, b, c", "ball")
    assert compared(connection, "sequence") == [
        ("Ann: ball, Bob: book", "ball, book"), ("Ann: ball, Bob: book", "book, ball")
    ]  # fmt: skip


@pytest.mark.parametrize("verifier", ["exact", "choice"])
def test_where_equal_answers_have_one_key_there_is_nothing_to_compare(
    connection: duckdb.DuckDBPyConnection, verifier: str
) -> None:
    answered(connection, verifier, "(A)", "B")
    assert not has_new_answers(connection, run_by(verifier))


def test_answers_are_new_until_compared_and_when_another_comes(connection: duckdb.DuckDBPyConnection) -> None:
    run = run_by("math")
    answered(connection, "math", "x+1", "x+1")
    assert not has_new_answers(connection, run)
    answered(connection, "math", "1+x")
    assert has_new_answers(connection, run)
    save(connection, ("a", "1+x", "x+1"), ("a", "x+1", "x+1"))
    assert not has_new_answers(connection, run)
    assert same(connection) == [("1+x", "x+1")]
    answered(connection, "math", "1+x", "x+1")
    assert not has_new_answers(connection, run)
    answered(connection, "math", "1+1x")
    assert has_new_answers(connection, run)
    save(connection, ("a", "1+1x", "x+1"))
    assert same(connection) == [("1+1x", "x+1")]
    connection.execute("DELETE FROM pool_item")
    answered(connection, "math", "1", item="b")
    assert not has_new_answers(connection, run)


_whole = st.integers(-10, 10).map(str)
_numbers = st.one_of(
    _whole,
    st.tuples(_whole, st.sampled_from(["%", " percent", " million", " thousand", " apples", ".0", ".50", " 1/2"])).map(
        "".join
    ),
    st.tuples(_whole, st.integers(1, 12)).map(lambda pair: f"{pair[0]}/{pair[1]}"),
    st.decimals(-2, 2, places=6).map(str),
    st.sampled_from(
        ["0.333333", "0.3333333", "1/3", "2,000,000", "2000", "0.05", "yes", "no", "Yes.", "no idea", "abc", "ab c"]
    ),
)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.sets(_numbers, min_size=2, max_size=8))
def test_no_pair_that_the_verifier_finds_equal_is_left_out(
    connection: duckdb.DuckDBPyConnection, texts: set[str]
) -> None:
    math = BUILT_IN["math"]()
    connection.execute("DELETE FROM verdict")
    by_key = {math.key(text): text for text in texts}  # one writing for each key
    answered(connection, "math", *by_key.values())
    sent = {frozenset(pair) for pair in compared(connection, "math")}
    for left in by_key.values():
        for right in by_key.values():
            if left != right and math.decide(left, right) is not False:
                assert {left, right} in sent
