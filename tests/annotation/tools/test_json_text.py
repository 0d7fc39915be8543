import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.annotation.tools.json_text import is_lines, read_document, read_lines
from budgetplan.annotation.tools.label_file import BadRecord, json_of
from budgetplan.annotation.tools.record import Record

VALUES = [
    {"id": "bp-1", "a": ["x]", "}{"]},
    {"id": "bp-2", "prompt": 'two\nlines, "ü"', "n": {"m": [1, {}]}},
    {"id": ""},
]


def sorted_out(parsed):
    parsed = list(parsed)
    records = [(one.place, one.value) for one in parsed if isinstance(one, Record)]
    return records, [one for one in parsed if isinstance(one, BadRecord)]


@pytest.mark.parametrize("indent", [None, 1])
def test_an_array_and_its_numbers_from_1(indent):
    records, bad = sorted_out(read_document(json.dumps(VALUES, indent=indent)))
    assert records == list(enumerate(VALUES, start=1))
    assert bad == []


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_an_array_cut_anywhere_keeps_its_whole_elements_and_says_where_it_broke(indent, ascii_only):
    text = json.dumps(VALUES, indent=indent, ensure_ascii=ascii_only)
    for end in range(1, len(text)):
        records, bad = sorted_out(read_document(text[:end]))
        assert records == list(enumerate(VALUES, start=1))[: len(records)]
        assert [one.place for one in bad] == [len(records) + 1]
        assert "broken JSON at line " in bad[0].reason
    assert len(records) == 2 if indent is None else 3


def test_the_break_names_line_and_column_and_what_follows_is_not_read():
    records, bad = sorted_out(read_document('[{"a": 1},\n {"b" 2},\n {"c": 3}]'))
    assert records == [(1, {"a": 1})]
    assert bad == [
        BadRecord(
            2,
            "broken JSON at line 2, column 7: Expecting ':' delimiter; nothing from this record on was read: "
            "export the file again",
        )
    ]


def test_elements_that_are_no_objects_are_bad_and_their_neighbours_good():
    records, bad = sorted_out(read_document('[{"a": 1}, 7, null, ["x"], "text", {"b": 2}]'))
    assert records == [(1, {"a": 1}), (6, {"b": 2})]
    assert [one.place for one in bad] == [2, 3, 4, 5]
    assert bad[3].reason == 'not an object with named fields: "text"'


@pytest.mark.parametrize("text", ['[{"a": 1}]\n[{"a": 2}]', '{"a":\n 1}\n{"a":\n 2}', '[{"a": 1}] x'])
def test_text_after_the_document_is_named(text):
    records, bad = sorted_out(read_document(text))
    assert records == [(1, {"a": 1})]
    assert bad[0].place == 2
    assert "text after the end of the JSON document at line " in bad[0].reason


def test_one_object_whole_and_half():
    text = json.dumps(VALUES[1], indent=1)
    assert sorted_out(read_document(text)) == ([(1, VALUES[1])], [])
    for end in range(len('{\n "id"'), len(text) - 1):
        assert not is_lines(text[:end])
        assert [one.place for one in sorted_out(read_document(text[:end]))[1]] == [1]


def test_lines_of_json():
    text = '\n{"a": "\u2028"}\r\n\r\n{"b"\n3\n  \n{"c": 1}'
    assert is_lines('{"b"\n{"a": 1}')
    assert is_lines('{"b"')
    records, bad = sorted_out(read_lines(text))
    assert records == [(2, {"a": "\u2028"}), (7, {"c": 1})]
    assert bad == [
        BadRecord(4, "broken JSON: Expecting ':' delimiter: {\"b\""),
        BadRecord(5, "not an object with named fields: 3"),
    ]


def test_lines_cut_anywhere_keep_their_whole_lines():
    text = "\n".join(json.dumps(value, ensure_ascii=False) for value in VALUES)
    for end in range(1, len(text)):
        records, bad = sorted_out(read_lines(text[:end]))
        assert records == list(enumerate(VALUES, start=1))[: len(records)]
        assert len(bad) <= 1


@pytest.mark.parametrize("number", ["0.50", "1e3", "72.0", "12345678901234567890.5", "-0.0", "1E400", "007.0"[2:]])
def test_a_number_is_shown_as_it_was_written(number):
    (record,) = read_document(f'[{{"answer": {number}}}]')
    assert str(record.value["answer"]) == f"{record.value['answer']}" == number
    assert float(json.loads(json_of(record.value))["answer"]) == float(number)


def test_a_line_is_kept_in_its_own_words():
    line = '{"answer": 0.50, "note": "\\u00e9"}'
    (of_line,) = read_lines(f"  {line}\r\n")
    (of_document,) = read_document(f"[{line}]")
    assert of_line.raw == line
    assert json.loads(of_document.raw) == {"answer": 0.5, "note": "é"}


def test_what_pandas_writes_for_nothing_is_null_and_infinity_is_kept():
    (record,) = read_lines('{"a": NaN, "b": -Infinity}')
    assert record.value == {"a": None, "b": "-Infinity"}


def test_text_that_cannot_be_stored_is_bad():
    records, bad = sorted_out(read_document('[{"a": "\\ud83d\\ude00"}, {"a": "\\ud83d"}, {"a": "\\\\ud83d"}]'))
    assert [value["a"] for _, value in records] == ["\U0001f600", "\\ud83d"]
    assert [one.place for one in bad] == [2]
    assert "surrogate" in bad[0].reason


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, f'{{"a": {"9" * 5000}}}'])
def test_what_no_parser_takes_is_bad_and_no_crash(text):
    for parsed in (read_document(text), read_lines(text)):
        records, bad = sorted_out(parsed)
        assert (records, len(bad)) == ([], 1)
    is_lines(text)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=6,
)
records_of_any_kind = st.lists(st.dictionaries(st.text("abc", max_size=2), json_values, max_size=3), max_size=4)


@settings(deadline=None, max_examples=50)
@given(records_of_any_kind, st.booleans(), st.sampled_from([None, 2]))
def test_any_records_come_back(values, ascii_only, indent):
    expected = list(enumerate(values, start=1))
    document = json.dumps(values, ensure_ascii=ascii_only, indent=indent)
    lines = "\n".join(json.dumps(value, ensure_ascii=ascii_only) for value in values)
    assert sorted_out(read_document(document)) == (expected, [])
    assert sorted_out(read_lines(lines)) == (expected, [])
