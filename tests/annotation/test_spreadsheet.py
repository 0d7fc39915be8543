import csv

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from budgetplan.annotation.landing import landing
from budgetplan.annotation.spreadsheet import COLUMNS, write_spreadsheet

ITEMS = pa.table(
    {
        "item_id": [f"bp-{i:04d}" for i in range(200)],
        "prompt": ["=cmd()", 'two\nlines, "quoted"', "ü"] + [f"question {i}" for i in range(3, 200)],
        "rank": range(1, 201),
        "p_hat": [i / 200 for i in range(200)],
        "answers": [[f"known-{i}"] for i in range(200)],
    }
)


@pytest.fixture
def sheet(tmp_path):
    def write(items=ITEMS, seed=0, name="shortlist.csv"):
        with landing(tmp_path / name) as (file,):
            write_spreadsheet(items, file, shortlist_id="sl-0007", seed=seed)
        return tmp_path / name

    return write


def rows_of(path):
    with path.open(newline="", encoding="utf-8-sig") as stream:
        return list(csv.DictReader(stream))


def test_the_bytes_are_what_excel_reads(sheet):
    content = sheet().read_bytes()
    assert content.startswith(b'\xef\xbb\xbf"item_id","shortlist_id","prompt","answer","verdict","annotator"')
    assert content.endswith(b'"","","","",""\r\n')
    assert content.count(b"\r\n") == 201


def test_it_holds_every_item_once_with_empty_cells_to_fill(sheet):
    rows = rows_of(sheet())
    assert sorted(row["item_id"] for row in rows) == ITEMS["item_id"].to_pylist()
    assert all(tuple(row) == COLUMNS for row in rows)
    assert {row[name] for row in rows for name in COLUMNS[3:]} == {""}
    assert {row["shortlist_id"] for row in rows} == {"sl-0007"}
    by_id = {row["item_id"]: row["prompt"] for row in rows}
    assert (by_id["bp-0000"], by_id["bp-0001"]) == ("'=cmd()", 'two\nlines, "quoted"')


def test_it_is_blind(sheet):
    text = sheet().read_text(encoding="utf-8-sig")
    assert "known-" not in text
    assert "rank" not in text
    places = [int(row["item_id"][3:]) for row in rows_of(sheet())]
    assert abs(np.corrcoef(places, np.arange(200))[0, 1]) < 0.25


def test_the_order_is_the_seeds_and_not_the_rows(sheet):
    shuffled = ITEMS.take(np.random.default_rng(0).permutation(200))
    assert sheet().read_bytes() == sheet(shuffled, name="other.csv").read_bytes()
    assert sheet().read_bytes() != sheet(seed=1, name="other.csv").read_bytes()


def test_duckdb_reads_it_back_as_text(sheet):
    path = sheet()
    rows = duckdb.sql(f"SELECT item_id, prompt FROM read_csv('{path}', all_varchar=true) ORDER BY item_id").fetchall()
    assert len(rows) == 200
    assert rows[1] == ("bp-0001", 'two\nlines, "quoted"')
