"""A label file as records, whatever tool wrote it.

Invariant: the bytes alone decide what a file is, never its name; each record is in `records` or named in `bad`, unless
it is blank, and no text is changed.
"""

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa

from budgetplan.annotation.json_lines import finite
from budgetplan.annotation.tools.delimited import Table
from budgetplan.annotation.tools.json_text import is_lines, read_document, read_lines
from budgetplan.annotation.tools.label_file import BadRecord, unreadable
from budgetplan.annotation.tools.record import Parsed
from budgetplan.annotation.tools.record import Record as Record  # noqa: PLC0414
from budgetplan.errors import LabelError

Kind = Literal["json", "json-lines", "table", "parquet"]

_SAVE_AS_CSV = "Save the sheet as CSV UTF-8, then: budgetplan ingest labels.csv --format spreadsheet"
_FOREIGN = {
    b"PK\x03\x04": ("a zip archive, as XLSX and ODS files are", _SAVE_AS_CSV),
    b"\xd0\xcf\x11\xe0": ("an old Excel file (XLS)", _SAVE_AS_CSV),
    b"\x1f\x8b": ("a gzip archive", "Unpack it: gunzip {file}"),
}
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """What a file holds, in file order. An object alone on one line is `json-lines`, over several lines `json`.

    `header` and `delimiter` are a table's.
    """

    path: Path
    kind: Kind
    records: list[Record]
    bad: list[BadRecord]
    header: tuple[str, ...] = ()
    delimiter: str = ""

    @property
    def names(self) -> frozenset[str]:
        """The table's columns, or the keys of the first record, as written."""
        return frozenset(self.header or (self.records[0].value if self.records else ()))


def read_content(path: Path) -> Content:
    """Parse a file, or the `records.json` in a folder; raise LabelError for what holds no records at all."""
    file = _records_of(path) if path.is_dir() else path
    try:
        data = file.read_bytes()
    except OSError as error:
        raise unreadable(file, f"{error.strerror or error}.", "Name a file that an annotation tool wrote.") from error
    for magic, (what, hint) in _FOREIGN.items():
        if data.startswith(magic):
            raise unreadable(file, f"this is {what}.", hint.format(file=shlex.quote(str(file))))
    if data.startswith(b"PAR1"):
        return _parquet(file, data)
    return _parsed(file, _text(file, data))


def _records_of(folder: Path) -> Path:
    if (folder / "records.json").is_file():
        return folder / "records.json"
    raise unreadable(folder, "a folder without records.json.", "Name a file, or a folder that Argilla's to_disk wrote.")


def _text(path: Path, data: bytes) -> str:
    try:
        text = data.decode("utf-16" if data.startswith(_UTF16_MARKS) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise _undecodable(path, error) from None
    head = text[:4096].lstrip()
    if not head and not text.strip():
        raise unreadable(path, "the file is empty.", "Export the labels again.")
    if "\0" in head:
        raise unreadable(path, "this is a binary file.", "Labels come as JSON, JSON Lines, CSV, TSV or Parquet.")
    if head.startswith("<"):
        raise unreadable(
            path, "this is an HTML or XML page, not an export.", "Log in to the tool, and download the export again."
        )
    return text


def _undecodable(path: Path, error: UnicodeDecodeError) -> LabelError:
    line = error.object.count(b"\n", 0, error.start) + 1
    if error.end >= len(error.object) and error.reason in ("unexpected end of data", "truncated data"):
        return LabelError(f"{path}:{line}: the file ends within a character, half written.", hint="Export it again.")
    return LabelError(
        f"{path}:{line}: byte 0x{error.object[error.start]:02x} is not {error.encoding.upper()}.",
        hint="Save the sheet as CSV UTF-8, or convert the file: "
        f"iconv -f windows-1252 -t utf-8 {shlex.quote(str(path))} > labels.csv",
    )


def _parsed(path: Path, text: str) -> Content:
    match text.lstrip(" \t\r\n")[0]:
        case "[":
            return _sorted_out(path, "json", read_document(text))
        case "{" if not is_lines(text):
            return _sorted_out(path, "json", read_document(text))
        case "{":
            return _sorted_out(path, "json-lines", read_lines(text))
        case _:
            table = Table(path, text)
            return _sorted_out(path, "table", table.records(), table.header, table.delimiter)


def _sorted_out(
    path: Path, kind: Kind, parsed: Iterable[Parsed], header: tuple[str, ...] = (), delimiter: str = ""
) -> Content:
    records: list[Record] = []
    bad: list[BadRecord] = []
    for one in parsed:
        if isinstance(one, Record):
            records.append(one)
        else:
            bad.append(one)
    return Content(path, kind, records, bad, header, delimiter)


def _parquet(path: Path, data: bytes) -> Content:
    import pyarrow.parquet as pq

    try:
        table = finite(pq.read_table(pa.BufferReader(data)))
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, f"broken Parquet: {error}.", "Export the labels again.") from error
    for place, one in enumerate(table.schema):
        if pa.types.is_timestamp(one.type):  # Python has no nanoseconds
            table = table.set_column(place, one.name, table[place].cast(pa.timestamp("us", one.type.tz), safe=False))
    return Content(path, "parquet", [Record(place, row) for place, row in enumerate(table.to_pylist(), start=1)], [])
