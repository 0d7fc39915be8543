"""The annotators' spreadsheet: a CSV file out, and whatever table a spreadsheet program made of it back.

Invariant: a cell that the program has changed (an id turned into a number, an error in place of an answer) is refused
or warned of, never taken for what was typed.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from budgetplan.annotation.formulas import guarded, unguarded
from budgetplan.annotation.landing import Unfinished
from budgetplan.annotation.tools.content import Content, Record
from budgetplan.annotation.tools.label_file import (
    BadLabelError,
    BadRecord,
    LabelFile,
    LabelRecord,
    json_of,
    label_file,
    seconds_of,
    text_of,
    time_of,
    unreadable,
    verdict_of,
)
from budgetplan.annotation.tools.record import excerpt, listed
from budgetplan.errors import LabelError

NAME = "spreadsheet"
HOW_TO_OPEN = (
    "Open {file} in Excel or LibreOffice with the columns item_id and answer formatted as Text, fill it in, "
    "and save it as CSV UTF-8; verdict is ok, ambiguous or unanswerable."
)

_TO_FILL = ("answer", "verdict", "annotator", "minutes", "notes")
_TIME_UNITS = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0}
_READ = ("item_id", "shortlist_id", "prompt", *_TO_FILL, "seconds", "hours", "labeled_at")
_ERROR = re.compile(r"#(NAME\?|VALUE!|REF!|DIV/0!|NUM!|NULL!|N/A|#+)")
_MONTH = (
    "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mär|mrz|mai|okt|dez|janv|févr|mars|avr|juin|juil|août|sept|déc"
    "|ene|abr|ago|dic|gen|mag|giu|lug|set|ott|mrt|mei|fev|out"
)
_CHANGED = re.compile(
    rf"\d{{1,2}}[-.] ?({_MONTH})\.?|({_MONTH})\.?[- ]\d\d"  # 1/2 in Excel
    r"|\d{1,2}([/.])\d{1,2}\3\d\d"  # 1/2 in LibreOffice
    r"|\d([.,]\d+)?E\+\d\d+",  # a number of 12 digits or more
    re.IGNORECASE,
)
_SWALLOWED_ROW = re.compile(r'\n"?bp-[0-9a-f]{16}"?[,;\t]')


def task_files(stem: Path) -> tuple[Path, ...]:
    """Where a shortlist called `stem` is written for spreadsheet programs."""
    return (stem.with_name(stem.name + ".annotators.csv"),)


def write_tasks(tasks: pa.Table, files: Sequence[Unfinished], shortlist_id: str) -> None:
    """Write tasks in row order, with empty columns to fill in.

    UTF-8 with a byte order mark, every cell quoted, CRLF, no formulas: what Excel and Label Studio open as it is.
    """
    texts = [guarded(tasks[name]).to_pylist() for name in tasks.column_names if name != "item_id"]
    shown = [name for name in tasks.column_names if name != "item_id"]
    with files[0].open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
        writer.writerow(("item_id", "shortlist_id", *shown, *_TO_FILL))
        to_fill = ("",) * len(_TO_FILL)
        for item_id, *cells in zip(tasks["item_id"].to_pylist(), *texts, strict=True):
            writer.writerow((item_id, shortlist_id, *cells, *to_fill))


def recognises(content: Content) -> bool:
    """Say whether this is a table that says which item a row is about, and has a place for the label."""
    return content.kind == "table" and _is_label_table(_columns(content))


def read_labels(content: Content) -> LabelFile:
    """Read a table whose columns are named in any case, blanks for underscores; columns of the user's own are ignored.

    Raises LabelError where the columns cannot be told.
    """
    columns = _columns(content)
    if content.kind != "table":
        raise unreadable(content.path, f"its content is {content.kind}, not a table.", "Leave --format out.")
    if not _is_label_table(columns):
        raise unreadable(
            content.path,
            f"the columns are {listed(content.header)}; one of item_id and prompt is needed, and one of answer "
            "and verdict.",
            "Name the columns as in the file that went out.",
        )
    records: list[LabelRecord] = []
    bad = list(content.bad)
    for record in content.records:
        try:
            records.append(_label(record, columns, content.delimiter))
        except BadLabelError as error:
            bad.append(BadRecord(record.place, str(error)))
    return label_file(NAME, records, bad, _warnings(records))


def _is_label_table(columns: Mapping[str, str]) -> bool:
    return bool(columns.keys() & {"item_id", "prompt"}) and bool(columns.keys() & {"answer", "verdict"})


def _columns(content: Content) -> dict[str, str]:
    """Map the names that are read to those of the file; raise LabelError where two of the file's are the same."""
    columns: dict[str, str] = {}
    for name in content.header:
        known = re.sub(r"[\s_]+", "_", name.strip().lower())
        if known in columns:
            raise LabelError(
                f"{content.path}: columns '{columns[known]}' and '{name}' are both {known}.",
                hint="Delete one of them, or give it another name.",
            )
        if known in _READ:
            columns[known] = name
    return columns


def _label(record: Record, columns: Mapping[str, str], delimiter: str) -> LabelRecord:
    cells = {known: unguarded(record.value[name]) for known, name in columns.items()}
    _refuse_swallowed_rows(cells)
    item_id, prompt = _item_id(cells), cells.get("prompt", "")
    if item_id is None and not prompt.strip():
        raise BadLabelError("neither an item_id nor a prompt: fill in the item_id from the file that went out")
    return LabelRecord(
        place=record.place,
        raw=json_of(record.value),
        item_id=item_id,
        prompt=prompt or None,
        shortlist_id=text_of(cells.get("shortlist_id")),
        annotator=text_of(cells.get("annotator")),
        answer=_answer(cells),
        verdict=verdict_of(cells.get("verdict")),
        seconds=_seconds(cells, delimiter),
        labeled_at=time_of(cells.get("labeled_at")),
    )


def _item_id(cells: Mapping[str, str]) -> str | None:
    text = text_of(cells.get("item_id"))
    if text is None or (text.startswith("bp-") and text != "bp-"):
        return text
    raise BadLabelError(
        f'item_id "{excerpt(text)}" is no item\'s id, as if a spreadsheet had changed it: format the column as Text, '
        "or copy the ids from the file that went out"
    )


def _answer(cells: Mapping[str, str]) -> str | None:
    text = text_of(cells.get("answer"))
    if text and _ERROR.fullmatch(text):
        raise BadLabelError(f'answer "{text}" is a spreadsheet\'s error: format the column as Text and type it again')
    return text


def _seconds(cells: Mapping[str, str], delimiter: str) -> float | None:
    """Read the first time that is filled in; spreadsheets write semicolons where the decimal mark is a comma."""
    for unit, unit_seconds in _TIME_UNITS.items():
        if text := text_of(cells.get(unit)):
            return seconds_of(text.replace(",", ".") if delimiter == ";" else text, unit_seconds)
    return None


def _refuse_swallowed_rows(cells: Mapping[str, str]) -> None:
    for name in ("answer", "annotator", "notes"):
        if _SWALLOWED_ROW.search(cells.get(name, "")):
            raise BadLabelError(
                f"the cell {name} holds the rows after it, since a quote opens in it that closes only there: "
                'write a quote within a cell twice: ""'
            )


def _warnings(records: Sequence[LabelRecord]) -> Iterator[str]:
    changed = [record for record in records if record.answer and _CHANGED.fullmatch(record.answer)]
    if changed:
        places = ", ".join(f'line {record.place} ("{record.answer}")' for record in changed[:10])
        more = f" and {len(changed) - 10:,} more" if len(changed) > 10 else ""
        yield (
            f"what a spreadsheet makes of 1/2 or of a long number stands as the answer in {places}{more}; if that is "
            "not what was typed, format the column as Text and type it again."
        )
