"""Bad input is a clear error: the place, the value, and the way on."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from budgetplan.errors import PoolError
from budgetplan.pool.fields import Fields
from budgetplan.pool.reader import read_pool


def refusal(name: str, fields: Fields | None = None) -> PoolError:
    with pytest.raises(PoolError) as caught:
        read_pool(name, fields=fields or Fields())
    return caught.value


def good(count: int, start: int = 0) -> str:
    return "".join(
        json.dumps({"id": f"q{number}", "prompt": f"prompt {number}"}) + "\n" for number in range(start, start + count)
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"prompt": "What is', "Unterminated string"),
        ('{"prompt": "a" "answer": 1}', "Expecting ',' delimiter (column 16)"),
        ("{'prompt': 'a'}", "Expecting property name enclosed in double quotes"),
        ('{"prompt": "a"} {"prompt": "b"}', "Extra data"),
        ('{"prompt": "a\\ud800"}', "half of a surrogate pair"),
        ("prompt: a", "Expecting value"),
    ],
)
def test_broken_json_on_line_17(line: str, reason: str) -> None:
    Path("pool.jsonl").write_text(good(16) + line + "\n" + good(3, start=20))
    error = refusal("pool.jsonl")
    assert error.message.startswith("pool.jsonl:17: broken JSON: ")
    assert reason in error.message
    assert line[:20] in error.message
    assert error.hint == "Mend that row or delete it: sed -i 17d pool.jsonl"


def test_a_long_broken_line_is_cut_and_others_are_counted() -> None:
    Path("pool.jsonl").write_text(good(1) + ('{"prompt": "' + "x" * 5_000 + "\n") * 3)
    error = refusal("pool.jsonl")
    assert error.message.endswith("… (2 more like it)")
    assert len(error.message) < 200


def test_a_broken_line_is_found_in_a_compressed_file() -> None:
    Path("pool.jsonl.gz").write_bytes(gzip.compress((good(2) + "{\n").encode()))
    assert refusal("pool.jsonl.gz").message.startswith("pool.jsonl.gz:3: broken JSON")


def test_a_broken_document_names_its_line() -> None:
    Path("pool.json").write_text('[\n {"prompt": "a"},\n {"prompt": b}\n]')
    assert refusal("pool.json").message.startswith("pool.json:3: broken JSON: Expecting value (column 13)")


@pytest.mark.parametrize("row", ['"text"', "5", "[1]", "null"])
def test_a_row_that_is_no_object(row: str) -> None:
    Path("pool.jsonl").write_text(good(2) + row + "\n")
    assert refusal("pool.jsonl").message == f"pool.jsonl:3: not an object with named fields: {row}"


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.jsonl", ""), ("b.jsonl", " \n\n\t\n"), ("c.csv", "prompt,answer\n"), ("d.json", "[]"), ("e.csv", "")],
)
def test_an_empty_pool(name: str, content: str) -> None:
    Path(name).write_text(content)
    assert refusal(name).message.startswith(f"{name} is empty")


def test_no_prompt_field_names_what_was_found_and_the_flag(lines: Callable[..., str]) -> None:
    error = refusal(lines({"text": "a", "label": 1}))
    assert error.message == "pool.jsonl: no prompt field; found: label, text."
    assert error.hint == "Name it: budgetplan probe pool.jsonl --prompt-field NAME"


def test_a_field_that_is_not_there(lines: Callable[..., str]) -> None:
    error = refusal(lines({"prompt": "a"}), Fields(answer="lable"))
    assert error.message == "pool.jsonl: there is no field 'lable'; found: prompt."
    assert "--answer-field" in error.hint


def test_a_prompt_in_two_fields_is_not_guessed(lines: Callable[..., str]) -> None:
    name = lines({"instruction": "Translate.", "input": "chat", "output": "cat"})
    assert "--prompt-field instruction" in refusal(name).hint
    assert read_pool(name, fields=Fields(prompt="instruction")).n_items == 1


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"id": 1}, "is missing"),
        ({"prompt": None}, "is null"),
        ({"prompt": " \r\n"}, "is empty"),
        ({"prompt": 12}, "is no text: 12"),
        ({"prompt": {"a": 1}}, 'is no text: {"a":1}'),
    ],
)
def test_a_row_without_a_prompt(lines: Callable[..., str], row: dict[str, object], what: str) -> None:
    error = refusal(lines({"prompt": "a"}, row, {"prompt": "b"}, row))
    assert error.message == f"pool.jsonl:2: no prompt: 'prompt' {what} (1 more like it)"


def test_one_id_for_two_prompts(lines: Callable[..., str]) -> None:
    error = refusal(lines({"id": 7, "prompt": "a"}, {"id": 8, "prompt": "b"}, {"id": "7", "prompt": "c"}))
    assert error.message == "pool.jsonl:3: the id '7' already belongs to another prompt, at pool.jsonl:1."
    assert "--id-field" in error.hint


def test_an_answer_that_is_an_object(lines: Callable[..., str]) -> None:
    error = refusal(lines({"prompt": "a", "answer": {"ground_truth": 1}}, {"prompt": "b", "answer": {"value": 1}}))
    assert error.message == "pool.jsonl:2: the answer is an object without 'ground_truth': {\"value\":1}"


def test_a_missing_file_names_its_neighbours() -> None:
    Path("train.jsonl").write_text(good(1))
    assert refusal("tain.jsonl").hint == "Did you mean train.jsonl?"
    assert refusal("nowhere/else.jsonl").message == "nowhere/else.jsonl: there is no such file."


def test_text_that_is_not_utf8() -> None:
    Path("pool.csv").write_bytes("prompt\nfine\ncafé\n".encode("latin-1"))
    error = refusal("pool.csv")
    assert error.message == "pool.csv:3: not UTF-8: byte 0xe9 at byte 4 of the line."
    assert error.hint == "Convert it: iconv -f latin1 -t utf-8 pool.csv > pool.jsonl"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"PK\x03\x04rest", "a zip archive"),
        ("prompt\na\n".encode("utf-16"), "UTF-16 text"),
        (b"\x01\x02\x00\x03", "a binary file"),
        (b"PAR1 but no more", "cannot be read"),
        (b"\x1f\x8b\x08 not gzip after all", "cannot be read"),
        (b"free text\nwithout columns\n", "neither JSON Lines, JSON, CSV, TSV nor Parquet; it begins with: free text"),
    ],
)
def test_a_file_that_is_no_pool(content: bytes, what: str) -> None:
    Path("pool.dat").write_bytes(content)
    assert what in refusal("pool.dat").message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prompt,answer\na,1\nb\n", "pool.csv row 2: 1 cells where the header has 2"),
        ("prompt,answer\na,1\nb,2,3\n", "pool.csv row 2: 3 cells where the header has 2"),
        (
            'prompt,answer\na,1\n"b\n,2\nc,3\n',
            "pool.csv:3: broken CSV in the row that begins here: unexpected end of data",
        ),
        ('prompt,answer\na,1\n"b"x,2\n', "pool.csv:3: broken CSV in the row that begins here: ',' expected after '\"'"),
        ("prompt,prompt\na,1\n", "pool.csv: two columns are named 'prompt'"),
    ],
)
def test_broken_csv(text: str, message: str) -> None:
    Path("pool.csv").write_text(text)
    assert refusal("pool.csv").message.startswith(message)


def test_a_document_with_several_lists() -> None:
    Path("pool.json").write_text(json.dumps({"train": [{"prompt": "a"}], "test": [{"prompt": "b"}]}))
    error = refusal("pool.json")
    assert error.message == "pool.json: an object with several lists of rows: train, test."
    assert error.hint == "Keep one: jq -c '.train[]' pool.json > pool.jsonl"


def test_nothing_left_after_dropping_conflicts(lines: Callable[..., str]) -> None:
    name = lines({"prompt": "a", "answer": 1}, {"prompt": "a", "answer": 2})
    with pytest.raises(PoolError, match="every prompt has conflicting answers"):
        read_pool(name, conflicts="drop")
