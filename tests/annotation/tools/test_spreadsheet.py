import csv
import io
import json
from datetime import UTC, datetime

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.annotation.formulas import guarded
from budgetplan.annotation.landing import landing
from budgetplan.annotation.tools import spreadsheet
from budgetplan.annotation.tools.content import read_content
from budgetplan.errors import LabelError

COLUMNS = ["item_id", "shortlist_id", "prompt", "answer", "verdict", "annotator", "minutes", "notes"]
TASKS = pa.table(
    {
        "item_id": ["bp-0000", "bp-0001", "bp-0002"],
        "prompt": ["=cmd()", 'two\nlines, "quoted"', "<b>\u00fc</b>"],
    }
)


@pytest.fixture
def sheet(tmp_path):
    def write(tasks=TASKS):
        (path,) = spreadsheet.task_files(tmp_path / "sl-0007")
        with landing(path) as files:
            spreadsheet.write_tasks(tasks, files, shortlist_id="sl-0007")
        return path

    return write


@pytest.fixture
def labels(tmp_path):
    def read(data):
        path = tmp_path / "back.csv"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return spreadsheet.read_labels(read_content(path))

    return read


def rows_of(path):
    with path.open(newline="", encoding="utf-8-sig") as stream:
        return list(csv.DictReader(stream))


def saved(rows, delimiter=",", encoding="utf-8", end="\r\n", quoting=csv.QUOTE_MINIMAL):
    """Write rows as a spreadsheet program does; the first names the columns."""
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(rows)
    return file.getvalue().encode(encoding)


def told(file, *names):
    return [tuple(row[name] for name in names) for row in file.labels.to_pylist()]


def test_the_bytes_are_what_excel_reads(sheet):
    path = sheet()
    content = path.read_bytes()
    assert path.name == "sl-0007.annotators.csv"
    assert content.startswith(b'\xef\xbb\xbf"item_id","shortlist_id","prompt","answer","verdict","annotator"')
    assert content.endswith(b'"","","","",""\r\n')
    assert content.count(b"\r\n") == 4


def test_it_holds_the_tasks_in_their_order_with_empty_cells_to_fill(sheet):
    rows = rows_of(sheet())
    assert [row["item_id"] for row in rows] == TASKS["item_id"].to_pylist()
    assert all(list(row) == COLUMNS for row in rows)
    assert {row[name] for row in rows for name in COLUMNS[3:]} == {""}
    assert {row["shortlist_id"] for row in rows} == {"sl-0007"}
    assert [row["prompt"] for row in rows] == ["'=cmd()", 'two\nlines, "quoted"', "<b>\u00fc</b>"]


def test_the_models_answer_stands_beside_the_prompt_and_is_no_formula(sheet):
    rows = rows_of(sheet(TASKS.append_column("model_answer", pa.array(["-1", "72", None]))))
    assert list(rows[0]) == [*COLUMNS[:3], "model_answer", *COLUMNS[3:]]
    assert [row["model_answer"] for row in rows] == ["'-1", "72", ""]


def test_duckdb_reads_it_as_text(sheet):
    path = sheet()
    rows = duckdb.sql(f"SELECT item_id, prompt FROM read_csv('{path}', all_varchar=true)").fetchall()
    assert rows[1] == ("bp-0001", 'two\nlines, "quoted"')


def test_a_sheet_that_nobody_filled_in_is_all_blank(sheet):
    content = read_content(sheet())
    file = spreadsheet.read_labels(content)
    assert spreadsheet.recognises(content)
    assert (file.tool, file.labels.num_rows, file.n_blank, file.bad, file.warnings) == ("spreadsheet", 0, 3, [], [])


def test_every_field_of_a_label(labels):
    file = labels(
        "item_id,shortlist_id,prompt,answer,verdict,annotator,minutes,notes,labeled_at\n"
        "bp-1,sl-0007,'=x,' 007 ,Ambiguous, ana ,1.5,hm,2026-01-02T03:04:05Z\n"
        "bp-2,,,,unanswerable,,,,\n"
    )
    assert file.bad == []
    first, second = file.labels.to_pylist()
    raw = json.loads(first.pop("raw"))
    assert (raw["prompt"], raw["notes"], raw["annotator"]) == ("'=x", "hm", " ana ")
    assert first == {
        "item_id": "bp-1",
        "prompt": "=x",
        "shortlist_id": "sl-0007",
        "annotator": "ana",
        "answer": "' 007",
        "verdict": "ambiguous",
        "status": "submitted",
        "seconds": 90.0,
        "labeled_at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "native_id": None,
        "place": 2,
    }
    assert (second["verdict"], second["annotator"], second["place"]) == ("unanswerable", None, 3)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\r\n", "\n"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_whatever_excel_makes_of_the_file(labels, encoding, delimiter, end, quoting):
    rows = [
        ["Item ID", "PROMPT", "my own", " Answer ", "Minutes", "", ""],
        ["bp-1", "two\nlines; \"q\", 'x'\t", "=1", "Z\u00fcrich, 1/2; 0.50", "2", "", ""],
        ["", "", "", "", "", "", ""],
        ["bp-2", "x", "", "0\n1", "", "", ""],
    ]
    file = labels(saved(rows, delimiter, encoding, end, quoting))
    assert file.bad == []
    assert told(file, "item_id", "answer", "seconds", "place") == [
        ("bp-1", "Z\u00fcrich, 1/2; 0.50", 120.0, 2),
        ("bp-2", "0\n1", None, 5),
    ]
    assert json.loads(file.labels["raw"][0].as_py())["my own"] == "=1"


def test_answers_stay_as_typed(labels):
    typed = ["1/2", "007", "3,5", "0.50", "=1+1", "'quoted'", "TRUE", "1e3", "N/A", "[1, 2]"]
    file = labels(saved([["item_id", "answer"], *([f"bp-{place}", text] for place, text in enumerate(typed))]))
    assert told(file, "answer") == [(text,) for text in typed]
    assert file.warnings == []


@pytest.mark.parametrize(
    ("text", "seconds"), [("seconds;90", 90), ("minutes;1,5", 90), ("Hours;0,25", 900), ("minutes;1.5", 90)]
)
def test_times_in_any_unit_with_the_decimal_comma_of_a_semicolon_file(labels, text, seconds):
    unit, number = text.split(";")
    assert told(labels(f"item_id;answer;{unit}\nbp-1;7;{number}\n"), "seconds") == [(seconds,)]


def test_seconds_come_before_minutes_where_both_are_there(labels):
    file = labels("item_id,answer,minutes,seconds\nbp-1,7,1,30\nbp-2,7,1,\n")
    assert told(file, "seconds") == [(30,), (60,)]


@pytest.mark.parametrize(
    "damaged", ["9.0E+15", "9,03E+15", "01.02.2026", "2-Jan", "9f3c1a7e42d0", "bp-", "#NAME?", "4711", "BP-1"]
)
def test_an_id_that_a_spreadsheet_changed_is_refused_with_its_line_and_the_fix(labels, damaged):
    file = labels(saved([["item_id", "prompt", "answer"], ["bp-1", "q", "7"], [damaged, "q", "8"]]))
    assert told(file, "item_id") == [("bp-1",)]
    (bad,) = file.bad
    assert bad.place == 3
    assert f'item_id "{damaged}"' in bad.reason
    assert "format the column as Text" in bad.reason


def test_an_item_may_be_known_by_its_prompt_alone(labels):
    file = labels("prompt,answer,item_id\n'-x,7,\n,8,\n,,bp-1\n")
    assert told(file, "item_id", "prompt", "answer") == [(None, "-x", "7")]
    assert [(one.place, one.reason[:34]) for one in file.bad] == [(3, "neither an item_id nor a prompt: f")]
    assert file.n_blank == 1


def test_an_answer_that_looks_like_a_converted_fraction_is_kept_with_a_warning(labels):
    changed = ["2-Jan", "02. Jan", "Jan-02", "01.Feb", "2-janv.", "1. M\u00e4r", "01/02/26", "1.23457E+15"]
    kept = ["2 Jan", "Jan", "12-34", "5-abc", "01/02/2026", "May", "1.5"]
    rows = [[f"bp-{place}", text] for place, text in enumerate(changed + kept)]
    file = labels(saved([["item_id", "answer"], *rows]))
    assert told(file, "answer") == [(text,) for text in changed + kept]
    (warning,) = file.warnings
    assert all(f'line {line} ("{text}")' in warning for line, text in enumerate(changed, start=2))
    assert not any(f'"{text}"' in warning for text in kept)


def test_a_long_warning_counts_the_rest(labels):
    file = labels("item_id,answer\n" + "bp-1,2-Jan\n" * 12)
    assert file.warnings[0].count("2-Jan") == 10
    assert "and 2 more" in file.warnings[0]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("bp-9,#NAME?,,", 'answer "#NAME?" is a spreadsheet\'s error'),
        ("bp-9,########,,", 'answer "########" is a spreadsheet\'s error'),
        ("bp-9,7,good,", 'verdict "good"'),
        ("bp-9,7,ok,01:30", 'duration "01:30"'),
        ("bp-9,7,ok,-1", 'duration "-1"'),
        ("bp-9,7", "2 cells where the header has 4"),
        ('bp-9,"7"7,,', "broken quotes"),
    ],
)
def test_a_bad_row_is_named_and_the_others_are_read(labels, row, reason):
    file = labels(f"item_id,answer,verdict,minutes\nbp-1,1,,\n{row}\nbp-2,2,ok,3\n")
    assert told(file, "item_id", "place") == [("bp-1", 2), ("bp-2", 4)]
    (bad,) = file.bad
    assert bad.place == 3
    assert reason in bad.reason


def test_a_quote_that_swallows_labels_is_noticed(labels):
    ids = [f"bp-{place:016x}" for place in range(4)]
    file = labels(f'item_id,answer,notes\n{ids[0]},"7,\n{ids[1]},8,\n{ids[2]},9",\n{ids[3]},1,\n')
    assert told(file, "item_id") == [(ids[3],)]
    assert [one.place for one in file.bad] == [2]
    assert "the rows after it" in file.bad[0].reason


@pytest.mark.parametrize("header", ["question,answer", "item_id,prompt,Response", "a"])
def test_columns_that_tell_nothing_are_refused_by_name(labels, header, tmp_path):
    with pytest.raises(LabelError) as caught:
        labels(header + "\n" + "1," * header.count(",") + "1\n")
    assert f"the columns are {header.replace(',', ', ')};" in caught.value.message
    assert not spreadsheet.recognises(read_content(tmp_path / "back.csv"))


def test_two_columns_of_one_meaning_are_refused(labels):
    with pytest.raises(LabelError, match="'Item ID' and 'item_id' are both item_id"):
        labels("Item ID,item_id,answer\nbp-1,bp-2,7\n")
    assert told(labels("item_id,answer,Extra,extra\nbp-1,7,a,b\n"), "answer") == [("7",)]


def test_json_is_no_table(labels, tmp_path):
    with pytest.raises(LabelError, match="its content is json-lines, not a table"):
        labels('{"item_id": "bp-1", "answer": "7"}')
    assert not spreadsheet.recognises(read_content(tmp_path / "back.csv"))


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_a_sheet_cut_anywhere_never_changes_a_label(labels, quoting):
    rows = [[f"bp-{n}", "sl-1", 'q "1"\n2', f"{n}/7 \u00fc", "ok", "ana", "12.5", "a note"] for n in range(3)]
    data = saved([COLUMNS, *rows], quoting=quoting)
    whole = told(labels(data), "item_id", "answer", "verdict", "annotator", "seconds")
    assert len(whole) == 3
    n_refused = 0
    for end in range(len(data)):
        try:
            file = labels(data[:end])
        except LabelError:
            n_refused += 1
            continue
        assert told(file, "item_id", "answer", "verdict", "annotator", "seconds") == whole[: file.labels.num_rows]
        assert len(file.bad) <= 1
    assert n_refused < len(data) / 2


def test_a_megabyte_in_a_cell(sheet, labels):
    big = '="x"\n' * 250_000
    path = sheet(pa.table({"item_id": ["bp-1", "bp-2"], "prompt": [big, "q"]}))
    rows = [list(row.values()) for row in rows_of_big(path)]
    rows[0][3], rows[1][3] = "<script>" * 130_000, "7"
    file = labels(saved([COLUMNS, *rows]))
    assert told(file, "prompt", "answer") == [(big, "<script>" * 130_000), ("q", "7")]


def rows_of_big(path):
    return [record.value for record in read_content(path).records]


any_text = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)
hostile = any_text | st.text(st.sampled_from("'=+-@\t\r\n\",;<>&1"), max_size=8)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(hostile, hostile), min_size=1, max_size=5),
    st.sampled_from(",;\t"),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_any_prompt_and_answer_come_back(tmp_path_factory, pairs, delimiter, encoding):
    folder = tmp_path_factory.mktemp("any")
    prompts, answers = (
        [f"x{text}" if not text.strip() else text for text in texts] for texts in zip(*pairs, strict=True)
    )
    tasks = pa.table({"item_id": [f"bp-{place}" for place in range(len(pairs))], "prompt": prompts})
    with landing(*spreadsheet.task_files(folder / "a")) as files:
        spreadsheet.write_tasks(tasks, files, shortlist_id="sl-1")
    rows = [list(record.value.values()) for record in read_content(folder / "a.annotators.csv").records]
    for row, answer in zip(rows, guarded(pa.array(answers)).to_pylist(), strict=True):
        row[3] = answer
    back = folder / "back.csv"
    back.write_bytes(saved([COLUMNS, *rows], delimiter, encoding))
    file = spreadsheet.read_labels(read_content(back))
    assert file.bad == []
    expected = [
        (f"bp-{n}", prompt, answer.strip()) for n, (prompt, answer) in enumerate(zip(prompts, answers, strict=True))
    ]
    assert told(file, "item_id", "prompt", "answer") == expected
