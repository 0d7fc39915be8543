import csv
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.annotation.landing import landing
from budgetplan.annotation.tables import check_suffix, write_table
from budgetplan.errors import ConfigError

TABLE = pa.table(
    {
        "rank": [1, 2, 3],
        "item_id": ["bp-a", "bp-b", "bp-c"],
        "prompt": ["=1+1", 'say "hi",\r\nü', None],
        "p_hat": [0.1, float("nan"), None],
        "balance": [-1.5, 2.0, 1 / 3],
        "outcomes": [{"correct": 1, "wrong": 0}] * 3,
        "ids": [["x"], ["y", "z"], []],
        "own": ['{"a": 1}', "{}", None],
        "=sum": ["-2", "ok", "'quoted'"],
    }
)


def written(table, path):
    with landing(path) as (file,):
        write_table(table, file)
    return path


def test_csv_is_safe_to_open_and_numbers_stay_numbers(tmp_path):
    path = written(TABLE, tmp_path / "a.csv")
    with path.open(newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    assert header == ["rank", "item_id", "prompt", "p_hat", "balance", "outcomes", "ids", "own", "'=sum"]
    assert rows[0][:5] == ["1", "bp-a", "'=1+1", "0.1", "-1.5"]
    assert rows[1][2:5] == ['say "hi",\r\nü', "", "2"]
    assert rows[2][2:4] == ["", ""]
    assert float(rows[2][4]) == 1 / 3
    assert json.loads(rows[0][5]) == {"correct": 1, "wrong": 0}
    assert json.loads(rows[1][6]) == ["y", "z"]
    assert [row[8] for row in rows] == ["'-2", "ok", "'quoted'"]


def test_json_lines_nest_and_have_null_for_no_number(tmp_path):
    path = written(TABLE, tmp_path / "a.jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows[0] == {
        "rank": 1,
        "item_id": "bp-a",
        "prompt": "=1+1",
        "p_hat": 0.1,
        "balance": -1.5,
        "outcomes": {"correct": 1, "wrong": 0},
        "ids": ["x"],
        "own": '{"a": 1}',
        "=sum": "-2",
    }
    assert rows[1]["p_hat"] is None
    assert rows[2]["own"] is None
    assert rows[2]["ids"] == []


def test_parquet_keeps_types_and_values(tmp_path):
    table = pq.read_table(written(TABLE, tmp_path / "a.PARQUET"))
    assert table.schema.field("rank").type == pa.int64()
    assert table["p_hat"].to_pylist() == [0.1, None, None]
    assert table.drop(["p_hat"]).equals(TABLE.drop(["p_hat"]))


def test_columns_that_differ_in_case_alone_keep_their_names(tmp_path):
    table = pa.table({"id": ["a"], "ID": ["b"], "it's": [[1]], "IT'S": [[2]]})
    assert json.loads(written(table, tmp_path / "a.jsonl").read_text()) == {
        "id": "a",
        "ID": "b",
        "it's": [1],
        "IT'S": [2],
    }
    assert written(table, tmp_path / "a.csv").read_text().splitlines() == [
        '"id","ID","it\'s","IT\'S"',
        '"a","b","[1]","[2]"',
    ]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_no_items_still_make_a_file(tmp_path, suffix):
    assert written(TABLE.slice(0, 0), tmp_path / f"a{suffix}").exists()


@pytest.mark.parametrize("name", ["a.xlsx", "a", "a.json"])
def test_a_suffix_that_is_not_known_is_refused_before_anything_is_written(tmp_path, name):
    with pytest.raises(ConfigError) as caught:
        written(TABLE, tmp_path / name)
    assert f'"{(tmp_path / name).suffix}"' in caught.value.message
    assert ".csv, .jsonl or .parquet" in caught.value.hint
    assert not list(tmp_path.iterdir())
    with pytest.raises(ConfigError):
        check_suffix(tmp_path / name)


def test_a_path_with_a_quote(tmp_path):
    assert written(TABLE, tmp_path / "it's.csv").exists()


any_text = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)


@settings(deadline=None, max_examples=25)
@given(st.lists(any_text, min_size=1, max_size=6))
def test_any_text_comes_back(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("any")
    table = pa.table({"text": texts, "n": range(len(texts))})
    lines = written(table, folder / "a.jsonl").read_text(encoding="utf-8").split("\n")
    assert [json.loads(line)["text"] for line in lines if line] == texts
    with written(table, folder / "a.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))[1:]
    guards = [row[0] != text for row, text in zip(rows, texts, strict=True)]
    assert [row[0][guard:] for row, guard in zip(rows, guards, strict=True)] == texts
