"""Labels for programs: JSON Lines and Parquet, the same columns out and back.

Invariant: an answer that is no text is written as JSON writes it (72, true, ["a"]), a number with its own digits.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from budgetplan.annotation.landing import Unfinished
from budgetplan.annotation.tables import write_table
from budgetplan.annotation.tools.content import Content, Kind, Record
from budgetplan.annotation.tools.label_file import (
    BadLabelError,
    BadRecord,
    LabelFile,
    LabelRecord,
    label_file,
    seconds_of,
    text_of,
    time_of,
    unreadable,
    verdict_of,
)
from budgetplan.records import LabelStatus

_TO_FILL = {"answer": pa.string(), "verdict": pa.string(), "annotator": pa.string(), "seconds": pa.float64()}
_STATUSES: dict[str, LabelStatus] = {"submitted": "submitted", "skipped": "skipped", "rejected": "rejected"}


@dataclass(frozen=True, slots=True)
class Plain:
    """One of the two formats; JSON Lines are also taken as one array."""

    NAME: Literal["jsonl", "parquet"]
    HOW_TO_OPEN: str
    kinds: tuple[Kind, ...]

    def task_files(self, stem: Path) -> tuple[Path, ...]:
        """Where a shortlist called `stem` is written."""
        return (stem.with_name(f"{stem.name}.annotators.{self.NAME}"),)

    def write_tasks(self, tasks: pa.Table, files: Sequence[Unfinished], shortlist_id: str) -> None:
        """Write tasks in row order, with nulls to fill in."""
        table = tasks.add_column(1, "shortlist_id", pa.array([shortlist_id] * len(tasks), pa.string()))
        for name, kind in _TO_FILL.items():
            table = table.append_column(name, pa.nulls(len(tasks), kind))
        write_table(table, files[0])

    def recognises(self, content: Content) -> bool:
        """Say whether the records name an item and have a place for the label."""
        names = content.names
        return (
            content.kind in self.kinds
            and bool(names & {"item_id", "prompt"})
            and bool(names & {"answer", "verdict", "status"})
        )

    def read_labels(self, content: Content) -> LabelFile:
        """Read one label per record; keys of the user's own are kept in `raw` alone."""
        if content.kind not in self.kinds:
            raise unreadable(content.path, f"its content is {content.kind}, not {self.NAME}.", "Leave --format out.")
        bad = list(content.bad)
        return label_file(self.NAME, _labels(content.records, bad), bad)


JSONL = Plain(
    "jsonl", "Fill in answer, verdict, annotator and seconds in each line of {file}.", kinds=("json-lines", "json")
)
PARQUET = Plain("parquet", "Fill in answer, verdict, annotator and seconds in each row of {file}.", kinds=("parquet",))


def _labels(records: Iterable[Record], bad: list[BadRecord]) -> Iterator[LabelRecord]:
    """Yield the labels one by one, and add to `bad` what is none."""
    for record in records:
        try:
            yield _label(record)
        except BadLabelError as error:
            bad.append(BadRecord(record.place, str(error)))


def _label(record: Record) -> LabelRecord:
    value = record.value
    item_id = text_of(value.get("item_id"))
    has_id = item_id is not None and item_id.startswith("bp-")
    prompt = value.get("prompt")
    if not has_id and not (isinstance(prompt, str) and prompt.strip()):
        raise BadLabelError(f"item_id {item_id!r} is no item's id, and there is no prompt: it begins with bp-")
    return LabelRecord(
        place=record.place,
        raw=record.raw,
        item_id=item_id if has_id else None,
        prompt=prompt if isinstance(prompt, str) else None,
        shortlist_id=text_of(value.get("shortlist_id")),
        annotator=text_of(value.get("annotator")),
        answer=_answer(value.get("answer")),
        verdict=verdict_of(value.get("verdict")),
        status=_status(value.get("status")),
        seconds=_seconds(value),
        labeled_at=time_of(value.get("labeled_at")),
    )


def _answer(value: Any) -> str | None:
    if isinstance(value, str):
        return text_of(value)
    if isinstance(value, bool | list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    if type(value) is float:  # a column of Parquet: numbers with a gap are floats there, 72 is 72.0
        return repr(value).removesuffix(".0")
    return text_of(value)


def _status(value: Any) -> LabelStatus:
    text = (text_of(value) or "submitted").lower()
    if text not in _STATUSES:
        raise BadLabelError(f'status "{text}" is not one of {", ".join(_STATUSES)}')
    return _STATUSES[text]


def _seconds(value: Mapping[str, Any]) -> float | None:
    seconds = seconds_of(value.get("seconds"))
    return seconds_of(value.get("minutes"), 60) if seconds is None else seconds
