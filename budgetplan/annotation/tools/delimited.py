"""Tables as text: comma, semicolon or tab, as spreadsheets and tools write them.

Invariant: every cell is the file's own text, and a row is known by the line on which it begins.
"""

import csv
import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from budgetplan.annotation.tools.label_file import BadRecord, unreadable
from budgetplan.annotation.tools.record import Parsed, Record, excerpt
from budgetplan.errors import LabelError

_EXCEL_SEPARATOR = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)
_DELIMITERS = ",;\t"


class Table:
    """A table's header and its delimiter, and then its rows, once."""

    def __init__(self, path: Path, text: str) -> None:
        """Read the header; raise LabelError where it is broken or names a column twice."""
        told = _EXCEL_SEPARATOR.match(text)
        self.delimiter = told[1] if told else max(_DELIMITERS, key=lambda mark: _n_delimiters(text, mark))
        self._rows = _rows(text, self.delimiter, skip=1 if told else 0)
        header = next(self._rows, None)
        if header is None:
            raise unreadable(path, "the table is empty.", "Export the labels again.")
        if isinstance(header, BadRecord):
            raise LabelError(f"{path}:{header.place}: {header.reason}.", hint="Export the file again.")
        self.header = _header(path, *header)

    def records(self) -> Iterator[Parsed]:
        """Yield the rows; one with too few or too many cells is bad, since its cells may belong to other columns."""
        width = len(self.header)
        for row in self._rows:
            if isinstance(row, BadRecord):
                yield row
                continue
            line, cells = row
            if len(cells) < width or any(cells[width:]):
                yield BadRecord(line, _torn(len(cells), width, cells[0]))
            else:
                yield Record(line, dict(zip(self.header, cells, strict=False)))


def _header(path: Path, line: int, cells: list[str]) -> tuple[str, ...]:
    while not cells[-1].strip():
        cells = cells[:-1]
    names = tuple(cell if cell.strip() else f"column{number}" for number, cell in enumerate(cells, start=1))
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise LabelError(f"{path}:{line}: two columns are named '{twice[0]}'.", hint="Rename or delete one of them.")
    return names


def _torn(n_cells: int, width: int, first: str) -> str:
    return (
        f"{n_cells} cells where the header has {width}, in the row of {excerpt(first)!r}: a cell with a delimiter, "
        "a quote or a line break stands in double quotes"
    )


def _rows(text: str, delimiter: str, skip: int) -> Iterator[tuple[int, list[str]] | BadRecord]:
    """Yield the line and the cells of every row that is not blank; after a broken row, go on with the next line."""
    lines = io.StringIO(text, newline="\n" if "\n" in text else "\r")
    for _ in range(skip):
        lines.readline()
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    with _unlimited_cells():
        while True:
            line = skip + reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield BadRecord(line, _broken(error, line, skip + reader.line_num))
                continue
            if any(cell.strip() for cell in cells):
                yield line, cells


def _broken(error: csv.Error, first: int, last: int) -> str:
    fix = 'a quote within a cell is written twice: ""'
    lines = f"line {first}" if first == last else f"lines {first} to {last}"
    if "end of data" in str(error):
        return f"a quote that opens in this row never closes, so {lines} cannot be read; {fix}"
    return f"broken quotes in the row that begins here, so {lines} cannot be read: {error}; {fix}"


def _n_delimiters(text: str, delimiter: str) -> int:
    """Count what would divide the header; 0 also where it would be broken."""
    first = next(_rows(text, delimiter, skip=0), None)
    return 0 if first is None or isinstance(first, BadRecord) else len(first[1]) - 1


@contextmanager
def _unlimited_cells() -> Iterator[None]:
    """Lift the limit of 131,072 characters a cell, which is the csv module's and global."""
    limit = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(limit)
