import math
import re
import statistics
from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.store import signals
from budgetplan.store.connection import Store
from budgetplan.store.signals import item_signals, similarity_is_current, write_similarity

RUN, POOL, VERIFIER = "run-1", "pool-1", "math@1"
Sample = dict[str, Any]


def add_item(connection: duckdb.DuckDBPyConnection, item: str, *samples: Sample, prompt: str = "1+1=?") -> None:
    """An item at the end of the pool, and its judged samples; by default they say 2 without a known answer."""
    connection.execute("INSERT INTO item VALUES (?, ?, NULL)", [item, prompt])
    connection.execute(
        "INSERT INTO pool_item SELECT ?, ?, count(*) + 1, [], [], '{}' FROM pool_item WHERE pool_id = ?",
        [POOL, item, POOL],
    )
    add_samples(connection, item, *samples)


def add_samples(connection: duckdb.DuckDBPyConnection, item: str, *samples: Sample, run: str = RUN) -> None:
    for place, sample in enumerate(samples):
        row = {"index": place, "key": "2", "text": "It is 2.", "finish": "stop", "logprob": -0.5, "outcome": "unknown"}
        row |= sample
        connection.execute(
            "INSERT INTO completion VALUES (?, ?, ?, NULL, ?, 3, ?, ?, NULL, NULL)",
            [run, item, row["index"], row["text"], row["finish"], row["logprob"]],
        )
        connection.execute(
            "INSERT INTO verdict VALUES (?, ?, ?, ?, ?, ?, ?)",
            [run, item, row["index"], VERIFIER, row["outcome"], row["key"], row["key"]],
        )


def signals_of(connection: duckdb.DuckDBPyConnection, **options: bool) -> dict[str, dict[str, Any]]:
    return {row["item_id"]: row for row in item_signals(connection, RUN, POOL, VERIFIER, **options).to_pylist()}


def stored(connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[int, float | None]]:
    rows = connection.execute("SELECT item_id, n_samples, similarity FROM text_similarity").fetchall()
    assert len({item for item, _, _ in rows}) == len(rows)
    return {item: (n, similarity) for item, n, similarity in rows}


def test_the_signals_of_one_item_are_as_defined(connection: duckdb.DuckDBPyConnection) -> None:
    add_item(
        connection,
        "a",
        {"text": "x" * 10, "logprob": -1.0},
        {"text": "x" * 20, "logprob": None},
        {"text": "x" * 30, "logprob": -2.0, "key": "3", "finish": "length"},
        {"text": "x" * 40, "logprob": -3.0, "key": None},
        {"text": "", "logprob": float("-inf"), "key": None, "finish": "length"},
        {"text": "lost", "outcome": "engine_error", "finish": "error", "key": None},
        {"text": "lost", "outcome": "verifier_error"},
        prompt="ünï?",
    )
    signal = signals_of(connection)["a"]
    assert signal == {
        "item_id": "a",
        "prompt_length": 4,
        "n_samples": 5,
        "agreement": 2 / 5,
        "answer_entropy": pytest.approx(-(0.4 * math.log(0.4) + 3 * 0.2 * math.log(0.2))),
        "n_answers": 2,
        "no_answer_rate": 1 / 5,
        "truncation_rate": 1 / 5,
        "mean_length": 20,
        "length_spread": pytest.approx(statistics.pstdev([10, 20, 30, 40, 0]) / 20),
        "mean_logprob": -2.0,
        "text_similarity": None,
    }


def test_items_come_in_file_order_and_those_without_a_word_are_null(connection: duckdb.DuckDBPyConnection) -> None:
    add_item(connection, "z", {"outcome": "engine_error", "finish": "error"}, *[{"outcome": "verifier_error"}] * 2)
    add_item(connection, "b", {})
    add_item(connection, "c", prompt="never sampled")
    connection.execute("INSERT INTO pool_item VALUES ('other', 'd', 1, [], [], '{}')")
    write_similarity(connection, RUN, POOL)
    table = item_signals(connection, RUN, POOL, VERIFIER)
    assert table["item_id"].to_pylist() == ["z", "b", "c"]
    assert table["n_samples"].to_pylist() == [0, 1, 0]
    assert table["prompt_length"].to_pylist() == [5, 5, 13]
    assert all(table[name].to_pylist()[::2] == [None, None] for name in table.column_names[3:])


def test_other_runs_and_verifiers_do_not_enter(connection: duckdb.DuckDBPyConnection) -> None:
    add_item(connection, "a", {}, {"key": "3"})
    before = signals_of(connection)
    add_samples(connection, "a", {"key": "7", "text": "longer"}, run="run-2")
    connection.execute("INSERT INTO verdict VALUES (?, 'a', 0, 'exact@1', 'unknown', '9', '9')", [RUN])
    connection.execute("INSERT INTO same_answer VALUES ('exact@1', 'a', '2', '3')")
    connection.execute("INSERT INTO text_similarity VALUES ('run-2', 'a', 2, 0.9)")
    assert signals_of(connection) == before


def test_neither_outcomes_nor_gold_change_a_signal(connection: duckdb.DuckDBPyConnection) -> None:
    blank, cut = {"key": None}, {"key": None, "finish": "length"}
    add_item(connection, "a", {}, {"key": "3"}, {"key": "3"}, blank, cut)
    write_similarity(connection, RUN, POOL)
    unknown = item_signals(connection, RUN, POOL, VERIFIER)
    assert unknown["agreement"].to_pylist() == [0.4]
    for answer in ("2", "3"):
        connection.execute("DELETE FROM gold")
        connection.execute("INSERT INTO gold VALUES ('a', ?, 'label', now())", [answer])
        connection.execute(
            """UPDATE verdict SET outcome = CASE sample_index WHEN 3 THEN 'no_answer' WHEN 4 THEN 'truncated'
               ELSE CASE WHEN answer_key = ? THEN 'correct' ELSE 'wrong' END END::outcome""",
            [answer],
        )
        assert item_signals(connection, RUN, POOL, VERIFIER).equals(unknown)


def test_equal_answers_in_other_words_are_one(connection: duckdb.DuckDBPyConnection) -> None:
    for item in "ab":
        add_item(connection, item, {"key": "1/2"}, {"key": "0.5"}, {"key": "50%"}, {"key": "7"})
    connection.execute("INSERT INTO same_answer SELECT ?, 'a', unnest(['0.5', '50%']), '1/2'", [VERIFIER])
    found = signals_of(connection)
    assert (found["a"]["agreement"], found["a"]["n_answers"]) == (0.75, 2)
    assert (found["b"]["agreement"], found["b"]["n_answers"]) == (0.25, 4)
    assert found["a"]["answer_entropy"] < found["b"]["answer_entropy"] == pytest.approx(math.log(4))


def test_items_whose_samples_all_agree_tie_exactly(connection: duckdb.DuckDBPyConnection) -> None:
    for n in range(1, 12):
        add_item(connection, f"i{n}", *[{}] * n)
    found = signals_of(connection).values()
    assert {(row["agreement"], str(row["answer_entropy"]), row["n_answers"]) for row in found} == {(1.0, "0.0", 1)}


def test_the_single_pass_looks_at_sample_0_alone(connection: duckdb.DuckDBPyConnection) -> None:
    add_item(connection, "a", {"text": "four", "logprob": -1.5}, {"key": "3", "text": "longer"})
    add_item(connection, "b", {"index": 1})
    write_similarity(connection, RUN, POOL)
    found = signals_of(connection, first_only=True)
    assert (found["a"]["n_samples"], found["a"]["agreement"], found["a"]["mean_length"]) == (1, 1, 4)
    assert (found["a"]["mean_logprob"], found["a"]["text_similarity"], found["b"]["n_samples"]) == (-1.5, None, 0)
    assert signals_of(connection)["a"]["text_similarity"] == 0


def test_similarity_is_the_chance_that_a_word_is_shared(connection: duckdb.DuckDBPyConnection) -> None:
    add_item(connection, "a", {"text": "The cat, the CAT!"}, {"text": "the dog"}, {"text": "a cat", "finish": "error"})
    add_item(connection, "words", {"text": "Élan 東京 snake_case"}, {"text": "éLAN — 東京… x"})
    add_item(connection, "alone", {"text": "one"}, {"text": "", "finish": "error", "outcome": "engine_error"})
    add_item(connection, "mute", {"text": "?!"}, {"text": ""})
    add_item(connection, "never sampled")
    assert write_similarity(connection, RUN, POOL) == 4
    assert stored(connection) == {"a": (2, 0.5), "words": (2, 4 / 6), "alone": (1, None), "mute": (2, None)}
    assert signals_of(connection)["a"]["text_similarity"] == 0.5


def test_only_items_with_new_texts_are_compared_again(connection: duckdb.DuckDBPyConnection) -> None:
    assert similarity_is_current(connection, RUN, POOL)
    add_item(connection, "a", {"text": "x"}, {"text": "x"})
    add_item(connection, "b", {"text": "x"}, {"finish": "error", "outcome": "engine_error"})
    add_samples(connection, "outside", {})
    assert not similarity_is_current(connection, RUN, POOL)
    assert write_similarity(connection, RUN, POOL) == 2
    assert similarity_is_current(connection, RUN, POOL)
    assert write_similarity(connection, RUN, POOL) == 0
    connection.execute("UPDATE completion SET finish_reason = 'stop', text = 'x' WHERE finish_reason = 'error'")
    assert not similarity_is_current(connection, RUN, POOL)
    assert similarity_is_current(connection, "run-2", POOL)
    assert write_similarity(connection, RUN, POOL) == 1
    assert stored(connection) == {"a": (2, 1.0), "b": (2, 1.0)}
    connection.execute("DELETE FROM completion WHERE item_id = 'a'")
    assert write_similarity(connection, RUN, POOL) == 0
    assert stored(connection) == {"b": (2, 1.0)}


def test_batches_change_nothing(connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(7):
        add_item(connection, f"i{n}", {"text": f"alpha beta {n}"}, {"text": "alpha"}, {"text": "gamma"})
    write_similarity(connection, RUN, POOL)
    whole = stored(connection)
    connection.execute("DELETE FROM text_similarity")
    monkeypatch.setattr(signals, "BATCH_CHARACTERS", 40)
    assert write_similarity(connection, RUN, POOL) == 7
    assert stored(connection) == whole


def test_a_few_batches_at_a_time_come_to_the_same_end(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(7):
        add_item(connection, f"i{n}", {"text": f"alpha beta {n}"}, {"text": "alpha"}, {"text": "gamma"})
    write_similarity(connection, RUN, POOL)
    whole = stored(connection)
    connection.execute("DELETE FROM text_similarity")
    monkeypatch.setattr(signals, "BATCH_CHARACTERS", 40)
    written = []
    while not similarity_is_current(connection, RUN, POOL):
        written.append(write_similarity(connection, RUN, POOL, most_batches=1))
    assert len(written) > 2
    assert (sum(written), stored(connection)) == (7, whole)
    assert write_similarity(connection, RUN, POOL, most_batches=1) == 0


def test_only_the_beginning_of_a_text_and_64_samples_are_read(connection: duckdb.DuckDBPyConnection) -> None:
    start = "a " * (signals.CHARACTERS_READ // 2)
    add_item(connection, "long", {"text": start + "b c d"}, {"text": start + "e f g"})
    add_item(connection, "many", *({"text": "same"} for _ in range(64)), {"text": "other"}, {"text": "words"})
    write_similarity(connection, RUN, POOL)
    assert stored(connection) == {"long": (2, 1.0), "many": (66, 1.0)}
    assert similarity_is_current(connection, RUN, POOL)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    with Store(tmp_path_factory.mktemp("signals") / "store.duckdb").writing() as connection:
        yield connection


sample = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["1", "2", "3", None]),
        "text": st.text(alphabet="aBc _é,\n", max_size=12),
        "finish": st.sampled_from(["stop", "length", None]),
        "logprob": st.none() | st.floats(-9, 0),
    }
)


@settings(max_examples=50, deadline=None)
@given(samples=st.lists(sample, min_size=1, max_size=9))
def test_any_samples_give_what_a_plain_loop_gives(
    shared: duckdb.DuckDBPyConnection, samples: list[dict[str, Any]]
) -> None:
    for table in ("item", "pool_item", "completion", "verdict", "text_similarity"):
        shared.execute(f"DELETE FROM {table}")
    add_item(shared, "a", *samples)
    write_similarity(shared, RUN, POOL)
    found = signals_of(shared)["a"]
    expected = by_hand(samples)
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-9)
    assert not any(isinstance(value, float) and not math.isfinite(value) for value in found.values())


def by_hand(samples: list[dict[str, Any]]) -> dict[str, float | None]:
    k = len(samples)
    keys = [s["key"] if s["key"] is not None else f"none {place}" for place, s in enumerate(samples)]
    answers = Counter(s["key"] for s in samples if s["key"] is not None)
    lengths = [len(s["text"]) for s in samples]
    logprobs = [s["logprob"] for s in samples if s["logprob"] is not None]
    words = Counter(word for s in samples for word in set(re.findall(r"\w+", s["text"].lower())))
    pairs = sum(n * (n - 1) for n in words.values())
    return {
        "n_samples": k,
        "agreement": max(answers.values(), default=0) / k,
        "answer_entropy": sum(n / k * math.log(k / n) for n in Counter(keys).values()),
        "n_answers": len(answers),
        "no_answer_rate": sum(s["key"] is None and s["finish"] != "length" for s in samples) / k,
        "truncation_rate": sum(s["key"] is None and s["finish"] == "length" for s in samples) / k,
        "mean_length": sum(lengths) / k,
        "length_spread": statistics.pstdev(lengths) / statistics.mean(lengths) if any(lengths) else 0,
        "mean_logprob": statistics.mean(logprobs) if logprobs else None,
        "text_similarity": pairs / ((k - 1) * words.total()) if k > 1 and words else None,
    }
