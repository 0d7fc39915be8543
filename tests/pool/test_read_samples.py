"""Completions sampled elsewhere: every shape of row, once and only once, and errors with their place."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pool.pool_files import Row, write_parquet

from budgetplan.errors import PoolError
from budgetplan.pool.fields import Fields
from budgetplan.pool.samples import read_samples
from budgetplan.records import SAMPLES_SCHEMA, Message, item_id_of

ROWS: list[Row] = [
    {"id": "a", "prompt": "p", "answer": "1", "completions": ["x \\boxed{1}\n", "é", ""], "level": 3},
    {"id": "b", "prompt": "q", "answer": "2", "completions": ["z"], "level": 4},
]


def test_texts_keep_their_place_and_their_item(lines: Callable[..., str]) -> None:
    pool, samples = read_samples([lines(*ROWS)])
    assert samples.schema == SAMPLES_SCHEMA
    p, q = (item_id_of([Message("user", text)]) for text in "pq")
    found = sorted(
        samples.select(["item_id", "position", "text"]).to_pylist(),
        key=lambda row: (row["item_id"] == q, row["position"]),
    )
    assert [tuple(row.values()) for row in found] == [(p, 0, "x \\boxed{1}\n"), (p, 1, "é"), (p, 2, ""), (q, 0, "z")]
    assert set(samples["finish_reason"].to_pylist()) == {None}
    assert pool.table["answers"].to_pylist() == [["1"], ["2"]]
    assert pool.table["columns"].to_pylist() == ['{"level":3}', '{"level":4}']


def test_the_format_of_the_file_says_nothing(lines: Callable[..., str]) -> None:
    write_parquet("rows.parquet", ROWS)
    Path("rows.json").write_text(json.dumps(ROWS, indent=2))
    tables = [content(read_samples([name]).table) for name in (lines(*ROWS), "rows.parquet", "rows.json")]
    assert tables[0] == tables[1] == tables[2]


@pytest.mark.parametrize(
    ("completion", "expected"),
    [
        ({"text": "t"}, {"text": "t"}),
        ({"text": "t", "finish_reason": "eos"}, {"text": "t", "finish_reason": "stop"}),
        ({"text": "t", "finish_reason": "STOP"}, {"text": "t", "finish_reason": "stop"}),
        ({"text": "t", "finish_reason": "max_tokens"}, {"text": "t", "finish_reason": "length"}),
        ({"text": "t", "finish_reason": "max_length"}, {"text": "t", "finish_reason": "length"}),
        ({"text": "t", "finish_reason": "who knows"}, {"text": "t"}),
        ({"text": "t", "finish_reason": None, "n_tokens": None}, {"text": "t"}),
        (
            {"text": "t", "n_tokens": 12, "mean_logprob": -0.25, "model": "m"},
            {"text": "t", "n_tokens": 12, "mean_logprob": -0.25, "model": "m"},
        ),
        ({"text": "t", "mean_logprob": float("nan"), "other": [1]}, {"text": "t"}),
        ({"text": None, "n_tokens": 5}, {"text": "", "finish_reason": "error", "n_tokens": 5}),
        ({"finish_reason": "error"}, {"text": "", "finish_reason": "error"}),
        (None, {"text": "", "finish_reason": "error"}),
    ],
)
def test_completions_as_objects(lines: Callable[..., str], completion: object, expected: Row) -> None:
    _, samples = read_samples([lines({"prompt": "p", "completions": [completion]})])
    (row,) = samples.drop_columns(["item_id", "source", "position"]).to_pylist()
    blank = {"model": None, "text": None, "n_tokens": None, "finish_reason": None, "mean_logprob": None}
    assert row == blank | expected


def test_objects_in_parquet() -> None:
    write_parquet(
        "rows.parquet", [{"prompt": "p", "samples": [{"text": "a", "n_tokens": 3}, {"text": None, "n_tokens": None}]}]
    )
    found = {
        (row["text"], row["n_tokens"], row["finish_reason"]) for row in read_samples(["rows.parquet"]).table.to_pylist()
    }
    assert found == {("a", 3, None), ("", None, "error")}


def test_a_model_for_the_row_and_one_for_the_completion(lines: Callable[..., str]) -> None:
    row = {"prompt": "p", "model": "row", "responses": ["a", {"text": "b", "model": "own"}]}
    pool, samples = read_samples([lines(row)])
    assert {(row["text"], row["model"]) for row in samples.to_pylist()} == {("a", "row"), ("b", "own")}
    assert pool.table["columns"].to_pylist() == ["{}"]


def test_rows_of_one_prompt_are_one_item_and_rows_may_be_bare(lines: Callable[..., str]) -> None:
    pool, samples = read_samples(
        [
            lines(
                {"id": 1, "prompt": "p", "completions": ["a"]},
                {"id": 2, "prompt": "p ", "completions": ["b"]},
                {"id": 3, "prompt": "q", "completions": []},
            )
        ]
    )
    assert (pool.n_items, pool.n_duplicates, samples.num_rows) == (2, 1, 2)
    assert len(set(samples["source"].to_pylist())) == 2


def test_identical_rows_are_two_sources(lines: Callable[..., str]) -> None:
    row = {"prompt": "p", "completions": ["a"]}
    once, twice = read_samples([lines(row)]).table, read_samples([lines(row, row)]).table
    assert len(set(twice["source"].to_pylist())) == 2
    assert set(once["source"].to_pylist()) < set(twice["source"].to_pylist())


def test_a_file_named_twice_is_read_once(lines: Callable[..., str]) -> None:
    name = lines(*ROWS)
    assert content(read_samples([name, name]).table) == content(read_samples([name]).table)
    assert read_samples([name, name]).table.num_rows == 4


def test_the_same_texts_of_another_model_or_item_are_other_samples(lines: Callable[..., str]) -> None:
    _, samples = read_samples(
        [
            lines(
                {"prompt": "p", "completions": ["a"], "model": "x"},
                {"prompt": "p", "completions": ["a"], "model": "y"},
                {"prompt": "q", "completions": ["a"], "model": "x"},
            )
        ]
    )
    assert len(set(samples["source"].to_pylist())) == 3


sampled_rows = st.fixed_dictionaries(
    {
        "prompt": st.sampled_from("pq"),
        "completions": st.lists(st.sampled_from(["a", "b", {"text": "c"}, None]), max_size=3),
    }
)


@settings(max_examples=10, deadline=None)
@given(st.lists(sampled_rows, min_size=1, max_size=8), st.randoms(use_true_random=False), st.integers(0, 8))
def test_order_and_shards_change_nothing_but_repeats_across_files(
    rows: list[Row], rng: random.Random, cut: int
) -> None:
    def write(name: str, rows: list[Row]) -> str:
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        return name

    whole = read_samples([write("whole.jsonl", rows)]).table
    shuffled = rng.sample(rows, len(rows))
    assert content(read_samples([write("shuffled.jsonl", shuffled)]).table) == content(whole)
    shards = [write(f"{index}.jsonl", part) for index, part in enumerate((shuffled[:cut], shuffled[cut:])) if part]
    pool, samples = read_samples(shards)
    assert content(samples) == content(whole)
    assert samples.num_rows == len(content(samples)) == sum(len(row["completions"]) for row in rows)
    assert pool.n_rows == len(rows)


def content(table: pa.Table) -> set[Any]:
    return {tuple(row.values()) for row in table.to_pylist()}


def test_dropped_items_take_their_samples_along(lines: Callable[..., str]) -> None:
    name = lines(
        {"prompt": "p", "answer": 1, "completions": ["a"]},
        {"prompt": "p", "answer": 2, "completions": ["b"]},
        {"prompt": "q", "answer": 2, "completions": ["c"]},
    )
    assert read_samples([name]).table.num_rows == 3
    assert read_samples([name], conflicts="drop").table["text"].to_pylist() == ["c"]


def test_one_id_for_two_prompts_across_files(lines: Callable[..., str]) -> None:
    names = [lines({"id": 1, "prompt": text, "completions": []}, name=f"{text}.jsonl") for text in "pq"]
    with pytest.raises(PoolError, match=r"q\.jsonl:1: the id '1' already belongs to another prompt, at p\.jsonl:1"):
        read_samples(names)


def test_the_field_of_completions_can_be_named(lines: Callable[..., str]) -> None:
    name = lines({"prompt": "p", "completions": "unused", 'my "texts"': ["a"]})
    assert read_samples([name], fields=Fields(completions='my "texts"')).table["text"].to_pylist() == ["a"]


@pytest.mark.parametrize(
    ("completions", "message"),
    [
        ([5], "completion 1 is neither text nor an object: 5"),
        (["a", ["b"]], 'completion 2 is neither text nor an object: ["b"]'),
        ([{"content": "a"}], 'completion 1 has no text: {"content":"a"}'),
        ([{"text": 5}], 'completion 1 has a text that is no text: {"text":5}'),
        ([{"text": "a", "n_tokens": "many"}], "completion 1 has an n_tokens that is no number"),
        ([{"text": "a", "mean_logprob": "low"}], "completion 1 has a mean_logprob that is no number"),
        ("a", "no completions: 'completions' is no list: \"a\""),
        (None, "no completions: 'completions' is no list: null"),
    ],
)
def test_a_completion_that_cannot_be_read(lines: Callable[..., str], completions: object, message: str) -> None:
    fine = {"prompt": "p", "completions": ["fine"]}
    name = lines(fine, {"prompt": "q", "completions": completions}, {"prompt": "r", "completions": completions})
    with pytest.raises(PoolError) as caught:
        read_samples([name])
    assert caught.value.message.startswith(f"pool.jsonl:2: {message}")
    assert caught.value.hint


def test_no_completions(lines: Callable[..., str]) -> None:
    with pytest.raises(PoolError, match="no completions field; found: prompt") as caught:
        read_samples([lines({"prompt": "p"})])
    assert caught.value.hint == "Name it: budgetplan import-samples pool.jsonl --completions-field NAME"
    with pytest.raises(PoolError, match=r"pool\.jsonl:2: no completions: 'completions' is missing"):
        read_samples([lines({"prompt": "p", "completions": []}, {"prompt": "q"})])


def test_another_models_answers_are_one_text_a_row_and_never_known_ones(lines: Callable[..., str]) -> None:
    texts = ["42", 42, 4.5, {"text": "t", "n_tokens": 3}, ["a", "b"], None, "[1, 2]"]
    rows = [{"prompt": f"p{place}", "answer": text} for place, text in enumerate(texts)]
    pool, samples = read_samples([lines(*rows, {"prompt": "nothing"})], reference=True)
    found = {place: [] for place in range(8)} | by_item(samples, [f"p{place}" for place in range(7)])
    assert found == {0: ["42"], 1: ["42"], 2: ["4.5"], 3: ["t"], 4: ["a", "b"], 5: [], 6: ["[1, 2]"], 7: []}
    assert pool.table["answers"].to_pylist() == [[]] * 8


def by_item(samples: pa.Table, prompts: list[str]) -> dict[int, list[str]]:
    places = {item_id_of([Message("user", prompt)]): place for place, prompt in enumerate(prompts)}
    found: dict[int, list[str]] = {}
    for row in sorted(samples.to_pylist(), key=lambda row: int(row["position"])):
        found.setdefault(places[row["item_id"]], []).append(row["text"])
    return found


def test_a_list_of_completions_comes_before_an_answer(lines: Callable[..., str]) -> None:
    row = {"prompt": "p", "answer": "5", "responses": ["a"]}
    pool, samples = read_samples([lines(row)], reference=True)
    assert samples["text"].to_pylist() == ["a"]
    assert pool.table["answers"].to_pylist() == [[]]


def test_answers_in_a_table_of_text(tmp_path: Path) -> None:
    Path("answers.csv").write_text("prompt,answer\n1+1=?,2\n2+2=?,\n")
    assert read_samples(["answers.csv"], reference=True).table["text"].to_pylist() == ["2"]


def test_the_same_answer_twice_is_one_row_again(lines: Callable[..., str]) -> None:
    rows = [{"prompt": "p", "answer": "1"}, {"prompt": "p", "answer": "2"}]
    sources = [
        set(read_samples([lines(*part)], reference=True).table["source"].to_pylist()) for part in (rows, rows[:1])
    ]
    assert len(sources[0]) == 2
    assert sources[1] < sources[0]
