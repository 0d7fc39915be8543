import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.annotation.tools.delimited import Table
from budgetplan.annotation.tools.label_file import BadRecord
from budgetplan.annotation.tools.record import Record
from budgetplan.errors import LabelError


def read(text):
    table = Table(Path("labels.csv"), text)
    parsed = list(table.records())
    return (
        table,
        [(one.place, one.value) for one in parsed if isinstance(one, Record)],
        [one for one in parsed if isinstance(one, BadRecord)],
    )


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_cells_are_the_files_own_text(delimiter, end):
    rows = [["item_id", "answer", "notes"], ["bp-1", " 007 ", ""], ["bp-2", "1/2", "a"]]
    table, records, bad = read(end.join(delimiter.join(row) for row in rows))
    assert (table.header, table.delimiter, bad) == (("item_id", "answer", "notes"), delimiter, [])
    assert records == [
        (2, {"item_id": "bp-1", "answer": " 007 ", "notes": ""}),
        (3, {"item_id": "bp-2", "answer": "1/2", "notes": "a"}),
    ]


def test_a_delimiter_within_a_quoted_name_does_not_count():
    assert read('"a,b,c,d";"e"\n1;2\n')[0].header == ("a,b,c,d", "e")


def test_excels_first_line_tells_the_delimiter():
    table, records, _ = read("sep=;\r\na,b;c\r\n1;2\r\n")
    assert table.header == ("a,b", "c")
    assert records == [(3, {"a,b": "1", "c": "2"})]


def test_lines_are_those_of_the_file_whatever_stands_in_quotes():
    text = '\na,b\r\n"1\r\n\r\nx","a\rb\n"\r\n,\r\n\r\n2,z,\r\n3\r\n4,5,6\r\n'
    _, records, bad = read(text)
    assert records == [(3, {"a": "1\r\n\r\nx", "b": "a\rb\n"}), (9, {"a": "2", "b": "z"})]
    assert [(one.place, one.reason[:32]) for one in bad] == [
        (10, "1 cells where the header has 2, "),
        (11, "3 cells where the header has 2, "),
    ]


def test_a_column_without_a_name_is_numbered_and_empty_ones_at_the_end_are_none():
    table, records, _ = read(",a,,\n0,x,,\n")
    assert table.header == ("column1", "a")
    assert records == [(2, {"column1": "0", "a": "x"})]


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(LabelError, match=r"labels\.csv:2: two columns are named 'answer'"):
        read("\nanswer,answer\n")


def test_a_table_of_nothing():
    with pytest.raises(LabelError, match="the table is empty"):
        read("sep=;\n;;\n;\n")


def test_a_header_that_never_ends():
    with pytest.raises(LabelError, match=r"labels\.csv:1: a quote .* lines 1 to 3 cannot be read"):
        read('item_id,"answer\n1,2\n3,4')


def test_a_quote_that_never_closes_names_the_lines_that_it_swallows():
    _, records, bad = read('a,b\n1,2\n3,"4\n5,6\n7,8\n')
    assert records == [(2, {"a": "1", "b": "2"})]
    assert bad[0].place == 3
    assert "never closes, so lines 3 to 5 cannot be read" in bad[0].reason
    assert '""' in bad[0].reason


def test_a_broken_quote_costs_its_row_alone():
    _, records, bad = read('a,b\n1,"2"x\n3,4\n5,"6"y\n7,8\n')
    assert [place for place, _ in records] == [3, 5]
    assert [one.place for one in bad] == [2, 4]
    assert "line 2 cannot be read" in bad[0].reason


def test_a_cell_of_a_megabyte_and_the_limit_of_others_stays():
    limit = csv.field_size_limit()
    big = 'x"\n' * 400_000
    quoted = big.replace('"', '""')
    _, records, bad = read(f'a,b\n1,"{quoted}"\n2,3\n')
    assert records == [(2, {"a": "1", "b": big}), (400_003, {"a": "2", "b": "3"})]
    assert (bad, csv.field_size_limit()) == ([], limit)


cells = st.lists(st.text(st.sampled_from("a\",;\t\r\n =é'\u2028\x85\x1c"), max_size=5), min_size=3, max_size=3)


@settings(deadline=None, max_examples=100)
@given(st.lists(cells, max_size=5), st.sampled_from(",;\t"), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_cells_come_back_from_their_lines(rows, delimiter, end, quote_all):
    file = io.StringIO(newline="")
    # The csv module leaves a \r bare where lines end in \n, which nobody can tell from a line's end.
    quoting = csv.QUOTE_ALL if quote_all or end == "\n" else csv.QUOTE_MINIMAL
    writer = csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerow(["a", "b", "c"])
    expected = []
    for row in rows:
        line = file.getvalue().count("\n") + 1
        writer.writerow(row)
        if any(cell.strip() for cell in row):
            expected.append((line, dict(zip("abc", row, strict=True))))
    _, records, bad = read(file.getvalue())
    assert records == expected
    assert bad == []
