"""Every format becomes the same pool, and the pool is its content."""

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pool.pool_files import Row, write_csv, write_parquet

from budgetplan.pool.fields import Fields
from budgetplan.pool.reader import read_pool
from budgetplan.records import POOL_SCHEMA, Message, item_id_of

ROWS: list[Row] = [
    {"id": "0012", "question": "What is ½ + ½?\nSay it.", "answer": "1/2", "split": "train"},
    {"id": 'b, "two"', "question": 'Née 日本 🙂, "quoted"', "answer": "007", "split": "test"},
]


def write_all(rows: list[Row]) -> dict[str, str]:
    """Write the rows in every format; the name says nothing about the last ones."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    Path("pool.jsonl").write_text(text)
    Path("array.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False), encoding="utf-8")
    Path("object.json").write_text(json.dumps({"canary": "x", "n": 2, "examples": rows}))
    Path("pool.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    write_csv("pool.csv", rows)
    write_csv("pool.tsv", rows, delimiter="\t")
    write_parquet("pool.parquet", rows)
    Path("unnamed").write_text(text)
    Path("table.txt").write_bytes(b"\xef\xbb\xbf" + Path("pool.csv").read_bytes())
    return {name: name for name in sorted(str(path) for path in Path().iterdir())}


def test_every_format_gives_the_same_pool() -> None:
    names = write_all(ROWS)
    pools = [read_pool(name) for name in names]
    assert len({pool.digest for pool in pools}) == 1
    for pool in pools:
        assert pool.table.schema == POOL_SCHEMA
        assert pool.table["prompt"].to_pylist() == [row["question"] for row in ROWS]
        assert pool.table["ids"].to_pylist() == [["0012"], ['b, "two"']]
        assert pool.table["answers"].to_pylist() == [["1/2"], ["007"]]
        assert [json.loads(text) for text in pool.table["columns"].to_pylist()] == [
            {"split": "train"},
            {"split": "test"},
        ]
        assert pool.table["row"].to_pylist() == [1, 2]
        assert (pool.n_rows, pool.n_items, pool.n_duplicates, pool.n_conflicts) == (2, 2, 0, 0)


def test_rows_of_json_lines_are_physical_lines(lines: Callable[..., str]) -> None:
    Path("pool.jsonl").write_text('\n \t\n{"prompt": "a"}\r\n\n  {"prompt": "b"}\n\n')
    assert read_pool("pool.jsonl").table["row"].to_pylist() == [3, 5]


@pytest.mark.parametrize(
    ("fields", "prompt", "answer"),
    [
        ({"Question": "q", "SOLUTION": "s"}, "q", "s"),
        ({"messages": [{"role": "user", "content": "m"}], "prompt": "p", "gold": "g"}, "p", "g"),
        ({"input": "i", "target": "t", "gold": "g"}, "i", "t"),
        ({"problem": "p", "solution": "long", "answer": "short"}, "p", "short"),
        ({"instruction": "do", "ground_truth": "g"}, "do", "g"),
        ({"prompt": "p", "reward_model": {"ground_truth": "42", "style": "rule"}}, "p", "42"),
    ],
)
def test_usual_names_are_found_in_order_of_precedence(
    lines: Callable[..., str], fields: Row, prompt: str, answer: str
) -> None:
    table = read_pool(lines(fields)).table
    assert (table["prompt"].to_pylist(), table["answers"].to_pylist()) == ([prompt], [[answer]])


def test_names_given_by_the_user_win(lines: Callable[..., str]) -> None:
    name = lines({"prompt": "no", "text": "yes", "answer": "no", "Label/~1": 5, "id": "no", 'k"': "me"})
    pool = read_pool(name, fields=Fields(prompt="text", answer="label/~1", id='k"'))
    assert pool.table["prompt"].to_pylist() == ["yes"]
    assert pool.table["answers"].to_pylist() == [["5"]]
    assert pool.table["ids"].to_pylist() == [["me"]]
    assert json.loads(pool.table["columns"][0].as_py()) == {"prompt": "no", "answer": "no", "id": "no"}
    assert pool.fields == Fields(prompt="text", answer="Label/~1", id='k"')


def test_a_pool_needs_no_completions(lines: Callable[..., str]) -> None:
    assert read_pool(lines({"prompt": "a"}), fields=Fields(completions="texts")).n_items == 1


def test_an_empty_name_switches_a_field_off(lines: Callable[..., str]) -> None:
    name = lines({"id": 1, "prompt": "a", "answer": 1}, {"id": 1, "prompt": "b", "answer": 2})
    table = read_pool(name, fields=Fields(id="", answer="")).table
    assert (table["ids"].to_pylist(), table["answers"].to_pylist()) == ([[], []], [[], []])


@pytest.mark.parametrize(
    ("answer", "known"),
    [
        ("She has 6*12 = <<6*12=72>>72 clips.\n#### 72", ["72"]),
        ("It costs … #### 1,234 ", ["1,234"]),
        ("#### a heading\nand its text", ["#### a heading\nand its text"]),
        ("  7\n", ["7"]),
        ("", []),
        (None, []),
        (True, ["true"]),
        (12, ["12"]),
        (0.5, ["0.5"]),
        (["a", 1], ['["a",1]']),
        ({"ground_truth": "8"}, ["8"]),
        ({"ground_truth": None}, []),
    ],
)
def test_answers_become_text(lines: Callable[..., str], answer: object, known: list[str]) -> None:
    assert read_pool(lines({"prompt": "q", "answer": answer})).table["answers"].to_pylist() == [known]


def test_numbers_keep_every_digit() -> None:
    Path("pool.jsonl").write_text(
        '{"prompt":"a","id":123456789012345678901234567890,"answer":18446744073709551617,"x":9007199254740993}\n'
    )
    table = read_pool("pool.jsonl").table
    assert table["ids"].to_pylist() == [["123456789012345678901234567890"]]
    assert table["answers"].to_pylist() == [["18446744073709551617"]]
    assert table["columns"].to_pylist() == ['{"x":9007199254740993}']


def test_parquet_types_become_plain_text() -> None:
    write_parquet(
        "pool.parquet",
        [
            {"prompt": "a", "id": 7, "answer": 2.0, "score": float("nan"), "tags": ["x"]},
            {"prompt": "b", "id": 8, "answer": float("nan"), "score": 0.5, "tags": []},
        ],
    )
    table = read_pool("pool.parquet").table
    assert table["ids"].to_pylist() == [["7"], ["8"]]
    assert table["answers"].to_pylist() == [["2.0"], []]
    assert json.loads(table["columns"][0].as_py()) == {"score": None, "tags": ["x"]}


def test_duplicates_are_one_item_with_all_its_ids(lines: Callable[..., str]) -> None:
    pool = read_pool(
        lines(
            {"id": "a", "prompt": "Same\r\nprompt ", "answer": "1", "split": "train"},
            {"id": "b", "prompt": "Other", "answer": "2", "split": "train"},
            {"id": "c", "prompt": "\tSame\nprompt", "answer": " 1 ", "split": "test"},
            {"id": "a", "prompt": "Same\nprompt", "split": "train"},
        )
    )
    assert (pool.n_rows, pool.n_items, pool.n_duplicates, pool.n_conflicts) == (4, 2, 2, 0)
    first = pool.table.slice(0, 1).to_pylist()[0]
    assert (first["prompt"], first["ids"], first["answers"], first["row"]) == ("Same\nprompt", ["a", "c"], ["1"], 1)
    assert json.loads(first["columns"]) == {"split": "train", "_duplicates": [{"split": "test"}]}


def test_conflicting_answers_are_kept_until_told_which_holds(lines: Callable[..., str]) -> None:
    name = lines(
        {"id": 1, "prompt": "p", "answer": "x"},
        {"id": 2, "prompt": "q", "answer": "y"},
        {"id": 3, "prompt": "p", "answer": "z"},
        {"id": 4, "prompt": "p", "answer": "x"},
    )
    kept, first, dropped = (read_pool(name, conflicts=choice) for choice in (None, "first", "drop"))
    assert kept.table["answers"].to_pylist() == [["x", "z"], ["y"]]
    assert first.table["answers"].to_pylist() == [["x"], ["y"]]
    assert dropped.table["answers"].to_pylist() == [["y"]]
    assert [pool.n_conflicts for pool in (kept, first, dropped)] == [1, 1, 1]
    assert (dropped.n_items, dropped.n_duplicates) == (1, 2)
    (example,) = kept.conflict_examples
    assert (example.ids, example.answers) == (("1", "3", "4"), ("x", "z"))
    assert example.places == ("pool.jsonl:1", "pool.jsonl:3", "pool.jsonl:4")
    assert len({pool.digest for pool in (kept, first, dropped)}) == 3


def test_a_chat_of_one_user_turn_is_its_text(lines: Callable[..., str]) -> None:
    pool = read_pool(lines({"prompt": "Hi é"}, {"prompt": [{"role": "user", "content": "Hi e\u0301\n"}]}))
    assert (pool.n_items, pool.n_duplicates) == (1, 1)
    assert pool.table["messages"].to_pylist() == [None]


def test_cells_longer_than_the_csv_modules_limit() -> None:
    write_csv("pool.csv", [{"prompt": "x" * 300_000, "answer": "1"}])
    assert read_pool("pool.csv").table["prompt"].to_pylist() == ["x" * 300_000]


def test_an_index_column_without_a_name() -> None:
    Path("pool.csv").write_text(",prompt,answer\n0,a,1\n\n1,b,2\n")
    table = read_pool("pool.csv").table
    assert (table["row"].to_pylist(), table["columns"].to_pylist()[1]) == ([1, 2], '{"column1":"1"}')


def test_a_pipe_is_read_once(lines: Callable[..., str]) -> None:
    import os
    import threading

    os.mkfifo("pipe")
    thread = threading.Thread(target=lambda: Path("pipe").write_text('{"prompt": "a"}\n{"prompt": "b"}\n'))
    thread.start()
    assert read_pool("pipe").n_items == 2
    thread.join()


texts = st.text(
    st.one_of(
        st.sampled_from(" \t\n\r\0\u00a0\u2028e\u0301\u0323가각\u1100\u1161Å\u212b"),
        st.characters(exclude_categories=["Cs", "Cn"]),
    ),
    max_size=12,
)


@settings(max_examples=15, deadline=None)
@given(st.lists(texts, min_size=1, max_size=40))
def test_identity_in_columns_is_identity_in_python(texts: list[str]) -> None:
    expected = [item_id_of([Message("user", text)]) for text in texts]
    empty = item_id_of([Message("user", "")])
    filled = [text for text, item in zip(texts, expected, strict=True) if item != empty]
    if not filled:
        return
    Path("any.jsonl").write_text("".join(json.dumps({"prompt": text}) + "\n" for text in filled))
    found = read_pool("any.jsonl").table["item_id"].to_pylist()
    assert found == list(dict.fromkeys(item for item in expected if item != empty))


rows = st.fixed_dictionaries(
    {"prompt": st.sampled_from(["a", "b", "c", [{"role": "user", "content": "a"}]])},
    optional={"answer": st.sampled_from(["1", " 1", 1, "2", None])},
)


@settings(max_examples=15, deadline=None)
@given(st.lists(rows, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_another_row_order_is_the_same_pool(rows: list[Row], rng: random.Random) -> None:
    shuffled = rng.sample(rows, len(rows))
    pools = []
    for order in (rows, shuffled):
        Path("any.jsonl").write_text("".join(json.dumps(row) + "\n" for row in order))
        pools.append(read_pool("any.jsonl"))
    assert pools[0].digest == pools[1].digest
    assert content(pools[0].table) == content(pools[1].table)


def content(table: pa.Table) -> set[Any]:
    """What a pool says, without the order in which it says it."""
    return {(row["item_id"], row["prompt"], row["messages"], frozenset(row["answers"])) for row in table.to_pylist()}
