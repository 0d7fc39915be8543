import datetime
import gzip
import io
import json
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from budgetplan.annotation.tools.content import read_content
from budgetplan.errors import LabelError


@pytest.fixture
def content(tmp_path):
    def read(data, name="labels"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return read_content(path)

    return read


@pytest.fixture
def refusal(content):
    def read(data, name="labels.csv"):
        with pytest.raises(LabelError) as caught:
            content(data, name)
        assert caught.value.hint
        return str(caught.value)

    return read


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ('[{"a": 1}]', "json"),
        (' \n[\n {"a": 1}\n]\n', "json"),
        ('{\n "a": 1\n}\n', "json"),
        ('{"a": 1}\n', "json-lines"),
        ('\n{"a": 1}\n\n{"a": 2}', "json-lines"),
        ("a,b\n1,2\n", "table"),
        ("a\n{", "table"),
    ],
)
@pytest.mark.parametrize("name", ["labels.parquet", "labels"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_content_decides_and_not_the_name(content, data, kind, name, encoding):
    read = content(data.encode(encoding), name)
    assert (read.kind, read.bad) == (kind, [])
    assert "a" in read.names
    assert read.path.name == name


def test_names_are_the_first_records_or_the_tables_even_without_rows(content):
    assert content('[{"A b": 1}, {"c": 2}]').names == {"A b"}
    assert content("Item ID;b\n").names == {"Item ID", "b"}
    assert content("[]").names == frozenset()


def test_a_folder_that_argilla_wrote(tmp_path):
    (tmp_path / "records.json").write_text('[{"id": "bp-1"}]')
    read = read_content(tmp_path)
    assert (read.kind, read.names, read.path) == ("json", {"id"}, tmp_path / "records.json")


def test_parquet_rows_are_python_values(content):
    moment = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    table = pa.table(
        {
            "item_id": ["bp-1", None],
            "responses": [[{"value": "72", "users": ["u"]}], []],
            "seconds": [1.5, float("nan")],
            "at": pa.array([moment, None], pa.timestamp("ns", "UTC")),
        }
    )
    file = io.BytesIO()
    pq.write_table(table, file)
    read = content(file.getvalue(), "labels.csv")
    assert read.kind == "parquet"
    first, second = read.records
    assert (first.place, second.place) == (1, 2)
    value = {"item_id": "bp-1", "responses": [{"value": "72", "users": ["u"]}], "seconds": 1.5, "at": moment}
    assert first.value == value
    assert second.value == {"item_id": None, "responses": [], "seconds": None, "at": None}


def test_nanoseconds_are_no_reason_to_refuse(content):
    file = io.BytesIO()
    pq.write_table(pa.table({"at": pa.array([1_700_000_000_123_456_789], pa.timestamp("ns"))}), file)
    assert content(file.getvalue()).records[0].value["at"].microsecond == 123456


def test_half_a_parquet_file(refusal):
    file = io.BytesIO()
    pq.write_table(pa.table({"a": range(1000)}), file)
    assert "broken Parquet" in refusal(file.getvalue()[:500])


@pytest.mark.parametrize("data", ["", " \n\r\n", "\ufeff", "\ufeff\n"])
def test_an_empty_file(refusal, data):
    assert "labels.csv: the file is empty." in refusal(data)


def test_files_of_spreadsheet_programs_are_refused_with_the_way_to_save_them(refusal):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("xl/workbook.xml", "<workbook/>")
    for data in (archive.getvalue(), b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512)):
        text = refusal(data)
        assert "CSV UTF-8" in text
        assert "budgetplan ingest labels.csv --format spreadsheet" in text


def test_an_archive(refusal):
    assert "gunzip" in refusal(gzip.compress(b"a,b\n1,2\n"))


def test_bytes_that_are_no_text_name_the_place_and_the_fix(refusal):
    text = refusal("item_id,answer\nbp-1,Z\u00fcrich\n".encode("cp1252"))
    assert "labels.csv:2: byte 0xfc is not UTF-8" in text
    assert "iconv -f windows-1252 -t utf-8" in text
    assert ":3: byte 0xfc" in refusal(b"\xef\xbb\xbfa,b\n1,2\n\xfc,2\n")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_file_that_ends_within_a_character(refusal, encoding):
    assert "half written" in refusal("a,b\n1,\u00fc".encode(encoding)[:-1])


def test_a_binary_file(refusal):
    assert "binary" in refusal(b"\x01\x00\x00\x02" * 9)
    assert "byte 0x89" in refusal(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize("page", ["<!DOCTYPE html><title>Log in</title>", "\n<html>", "<View></View>"])
def test_a_page_that_was_saved_in_place_of_the_export(refusal, page):
    assert "HTML or XML page" in refusal(page)


def test_a_file_that_is_not_there_and_a_folder_of_something_else(tmp_path):
    with pytest.raises(LabelError, match=r"none\.json: No such file"):
        read_content(tmp_path / "none.json")
    (tmp_path / "export.json").write_text("[]")
    with pytest.raises(LabelError, match=r"a folder without records\.json"):
        read_content(tmp_path)


def test_many_records_keep_their_places(content):
    rows = [{"item_id": f"bp-{place}", "answer": "7"} for place in range(20_000)]
    assert [record.place for record in content(json.dumps(rows)).records] == list(range(1, 20_001))
    lines = "\n\n".join(json.dumps(row) for row in rows)
    assert [record.place for record in content(lines).records] == list(range(1, 40_000, 2))
    table = "item_id,answer\n" + "".join(f'{row["item_id"]},"7\n8"\n' for row in rows)
    assert [record.place for record in content(table).records] == list(range(2, 40_002, 2))
