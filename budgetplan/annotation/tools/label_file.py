"""What every tool's reader returns, and how the words of a label are read.

Invariant: a record is either a row of `labels`, named in `bad` with its place and reason, or blank; none disappears.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from budgetplan.errors import LabelError
from budgetplan.records import LABELS_SCHEMA, LabelStatus, LabelVerdict

_VERDICTS: dict[str, LabelVerdict] = {
    "ok": "ok",
    "usable": "ok",
    "ambiguous": "ambiguous",
    "unanswerable": "unanswerable",
}


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that cannot be read: its 1-based line or record, the reason, and the fix."""

    place: int
    reason: str


class BadLabelError(ValueError):
    """Raised inside a reader for one record; its text becomes the `BadRecord`'s reason."""


class LabelRecord(NamedTuple):
    """One annotator's word on one item; the fields are those of `LABELS_SCHEMA`."""

    place: int
    raw: str
    item_id: str | None = None
    prompt: str | None = None
    shortlist_id: str | None = None
    annotator: str | None = None
    answer: str | None = None
    verdict: LabelVerdict | None = None
    status: LabelStatus = "submitted"
    seconds: float | None = None
    labeled_at: datetime | None = None
    native_id: str | None = None

    @property
    def blank(self) -> bool:
        """Whether the annotator has said nothing yet."""
        return self.status == "submitted" and self.answer is None and self.verdict in (None, "ok")


@dataclass(frozen=True, slots=True, eq=False)
class LabelFile:
    """The content of one file: `labels` (`LABELS_SCHEMA`) in file order, bad records, and what the user should know."""

    tool: str
    labels: pa.Table
    bad: list[BadRecord] = field(default_factory=list)
    n_blank: int = 0
    warnings: list[str] = field(default_factory=list)


def label_file(
    tool: str, records: Iterable[LabelRecord], bad: Iterable[BadRecord] = (), warnings: Iterable[str] = ()
) -> LabelFile:
    """Put records into columns; blank ones are only counted. Records are taken one by one, and before `bad`."""
    fields = attrgetter(*LABELS_SCHEMA.names)
    rows, n_blank = [], 0
    for record in records:
        if record.blank:
            n_blank += 1
        else:
            rows.append(fields(record))
    columns = zip(*rows, strict=True) if rows else [()] * len(LABELS_SCHEMA)
    labels = pa.table(
        [pa.array(column, kind.type) for column, kind in zip(columns, LABELS_SCHEMA, strict=True)],
        schema=LABELS_SCHEMA,
    )
    return LabelFile(tool, labels, sorted(bad, key=lambda one: one.place), n_blank, list(warnings))


def text_of(value: Any) -> str | None:
    """Read a cell or JSON value as stripped text; None where it says nothing."""
    if value is None:
        return None
    text = str(value).strip()
    return text or None


def verdict_of(value: Any) -> LabelVerdict | None:
    """Read a verdict in any case; raises BadLabelError for a word that is none."""
    text = text_of(value)
    if text is None:
        return None
    if text.lower() not in _VERDICTS:
        raise BadLabelError(f'verdict "{text}" is not one of ok, ambiguous, unanswerable')
    return _VERDICTS[text.lower()]


def time_of(value: Any) -> datetime | None:
    """Read an ISO 8601 time or seconds since 1970; without a zone it is UTC. Raises BadLabelError for anything else."""
    text = text_of(value)
    if text is None:
        return None
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError) as error:
        raise BadLabelError(f'time "{text}" is not an ISO 8601 time') from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def seconds_of(value: Any, unit_seconds: float = 1.0) -> float | None:
    """Read a duration in units of `unit_seconds`; raises BadLabelError unless it is a finite number of 0 or more."""
    text = text_of(value)
    if text is None:
        return None
    try:
        number = float(text) * unit_seconds
    except ValueError:
        number = float("nan")
    if not 0 <= number < float("inf"):
        raise BadLabelError(f'duration "{text}" is not a number of 0 or more')
    return number


def json_of(record: Mapping[str, Any]) -> str:
    """Write a record as the JSON that is stored beside its label."""
    import json

    return json.dumps(record, ensure_ascii=False, default=str)


def unreadable(path: Path, reason: str, hint: str) -> LabelError:
    """Say that a whole file cannot be used."""
    return LabelError(f"{path}: {reason}", hint=hint)
