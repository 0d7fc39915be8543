"""What annotators said, read from Label Studio's exports: JSON (tasks) and JSON_MIN, CSV and TSV (rows).

Invariant: the same annotation reads the same from every export: item, answer, verdict, seconds, time and native id. Its
annotator may not: an e-mail in one export and a number in another.

Predictions, drafts and controls of other names are not read. The mark "ground truth" says what a project owner thinks
of a label, not who gave it: the label is read like any other. Several texts in one control are one answer of as many
lines. A table writes them as {"text": ["a", "b"]}, which is then read so even where a person typed just that; a list of
strings stays as it is there, since that is how people type a list.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from budgetplan.annotation.tools.label_file import (
    BadLabelError,
    BadRecord,
    LabelRecord,
    json_of,
    seconds_of,
    text_of,
    time_of,
    verdict_of,
)
from budgetplan.annotation.tools.record import Record, excerpt

ROW_NAMES = frozenset({"annotation_id", "annotator", "lead_time"})
"""What every row of JSON_MIN, CSV and TSV has."""

_VALUE_KEYS = ("text", "choices", "number", "rating", "selected")
_ANSWER, _VERDICT = "answer", "verdict"
_ROW_FIELDS = {  # as JSON names them, and as rows do
    "id": "annotation_id",
    "completed_by": "annotator",
    "lead_time": "lead_time",
    "created_at": "created_at",
    "updated_at": "updated_at",
}


@dataclass(frozen=True, slots=True)
class Read:
    """The annotations of an export, blank ones included, and those that cannot be read."""

    labels: list[LabelRecord]
    bad: list[BadRecord]


@dataclass(frozen=True, slots=True)
class _Annotation:
    """One annotation: the task's data, the tool's own fields (named as in JSON), and the value of each control."""

    place: int
    data: Mapping[str, Any]
    fields: Mapping[str, Any]
    controls: Mapping[str, Any]
    raw: str


def read_tasks(records: Iterable[Record]) -> Read:
    """Read tasks with their annotations, called completions before 1.0; a task without any is blank."""
    return _sorted_out(one for record in records for one in _of_task(record))


def read_rows(records: Iterable[Record], *, from_table: bool) -> Read:
    """Read one annotation per row; a row without an annotation_id is a task that has none yet."""
    return _sorted_out(_of_row(record, from_table) for record in records)


def tool_warnings(labels: Sequence[LabelRecord]) -> Iterator[str]:
    """Say so where there are annotations and not one of them answers."""
    given = [label for label in labels if label.native_id and label.status == "submitted"]
    if given and all(label.blank for label in given):
        yield (
            f"no annotation of {len(given):,} says anything in a control called {_ANSWER} or {_VERDICT}: "
            "name the controls as in the interface that went out, and export again."
        )


def _sorted_out(parsed: Iterable[LabelRecord | BadRecord]) -> Read:
    read = Read([], [])
    for one in parsed:
        if isinstance(one, LabelRecord):
            read.labels.append(one)
        else:
            read.bad.append(one)
    return read


def _of_task(record: Record) -> Iterator[LabelRecord | BadRecord]:
    task = record.value
    data, annotations = task.get("data"), task.get("annotations", task.get("completions"))
    if not isinstance(data, dict) or not isinstance(annotations, list):
        yield BadRecord(record.place, "a task without data or without a list of annotations: export as JSON again")
    elif not annotations:
        yield LabelRecord(place=record.place, raw=json_of(task))
    else:
        yield from (_of_annotation(record.place, data, annotation) for annotation in annotations)


def _of_annotation(place: int, data: Mapping[str, Any], annotation: Any) -> LabelRecord | BadRecord:
    if not isinstance(annotation, dict):
        return BadRecord(place, f"annotation {excerpt(str(annotation))} is no object: export as JSON again")
    try:
        controls = _controls(annotation.get("result"))
        raw = json_of({"item_id": data.get("item_id"), **annotation})
        return _label(_Annotation(place, data, annotation, controls, raw))
    except BadLabelError as error:
        return BadRecord(place, f"annotation {text_of(annotation.get('id')) or 'without id'}: {error}")


def _controls(result: Any) -> dict[str, list[Any]]:
    """Gather the values of each control; `result` is null where nothing was filled in."""
    controls: dict[str, list[Any]] = {}
    for one in [] if result is None else result if isinstance(result, list) else [result]:
        if not isinstance(one, dict):
            raise BadLabelError(f"result {excerpt(str(one))} is no object: export as JSON again")
        controls.setdefault(str(one.get("from_name")), []).append(one.get("value"))
    return controls


def _of_row(record: Record, from_table: bool) -> LabelRecord | BadRecord:
    row = record.value
    fields = {name: row.get(column) for name, column in _ROW_FIELDS.items()}
    raw = json_of(row)
    if text_of(fields["id"]) is None:
        return LabelRecord(place=record.place, raw=raw)
    controls = {name: _cell(row.get(name)) if from_table else row.get(name) for name in (_ANSWER, _VERDICT)}
    try:
        return _label(_Annotation(record.place, row, fields, controls, raw))
    except BadLabelError as error:
        return BadRecord(record.place, f"annotation {_number(fields['id'])}: {error}")


def _label(annotation: _Annotation) -> LabelRecord:
    data, fields = annotation.data, annotation.fields
    item_id, prompt = _item_id(data), _sent(data, "prompt")
    if item_id is None and prompt is None:
        raise BadLabelError(
            "its task has neither an item_id that begins with bp- nor a prompt: label the tasks that went out"
        )
    skipped = bool(fields.get("was_cancelled") or fields.get("skipped"))
    controls = {} if skipped else annotation.controls  # what stood in the form of a task that was skipped is no answer
    return LabelRecord(
        place=annotation.place,
        raw=annotation.raw,
        item_id=item_id,
        prompt=prompt,
        shortlist_id=text_of(_sent(data, "shortlist_id")),
        annotator=_annotator(fields.get("completed_by")),
        answer=text_of("\n".join(_texts(_ANSWER, controls))),
        verdict=verdict_of(" and ".join(_texts(_VERDICT, controls))),
        status="skipped" if skipped else "submitted",
        seconds=seconds_of(fields.get("lead_time")),
        labeled_at=time_of(fields.get("updated_at") or fields.get("created_at")),
        native_id=_number(fields.get("id")),
    )


def _texts(name: str, controls: Mapping[str, Any]) -> list[str]:
    """Read a control's value: bare, or under the key of its kind of control, or several of these."""
    value = controls.get(name)
    texts: list[Any] = []
    for one in value if isinstance(value, list) else [value]:
        held = one
        if isinstance(one, dict):
            held = next((one[key] for key in _VALUE_KEYS if key in one), one)
        texts += held if isinstance(held, list) else [held]
    if any(isinstance(text, dict | list) for text in texts):
        raise BadLabelError(f"control {name} holds {excerpt(str(value))}, which is no text: use the shipped interface")
    return [text for text in map(text_of, texts) if text]


def _cell(cell: Any) -> Any:
    """Decode what the CSV export encodes, values with their key; all else is as it was typed, also where it is JSON."""
    if not isinstance(cell, str) or not cell.startswith(('{"', '[{"')):
        return cell
    try:
        value = json.loads(cell, parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        return cell
    encoded = all(_is_value(one) for one in value) if isinstance(value, list) else _is_value(value)
    return value if encoded else cell


def _is_value(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1 and not value.keys().isdisjoint(_VALUE_KEYS)


def _sent(data: Mapping[str, Any], name: str) -> str | None:
    """Look up what the task was sent with, also where a row has it under the name it gets beside a control's."""
    values = (data.get(key) for key in (f"_data_{name}", f"{name}_1", name))
    return next((value for value in values if isinstance(value, str) and value.strip()), None)


def _item_id(data: Mapping[str, Any]) -> str | None:
    item_id = (_sent(data, "item_id") or "").strip()
    return item_id if item_id.startswith("bp-") else None


def _annotator(completed_by: Any) -> str | None:
    """Name who annotated: by e-mail where the export has it, else by the id that Label Studio gave them."""
    if isinstance(completed_by, dict):
        return text_of(completed_by.get("email")) or _number(completed_by.get("id"))
    return _number(completed_by)


def _number(native_id: Any) -> str | None:
    """Read an id; a table with gaps that went through pandas has 7 as 7.0."""
    text = text_of(native_id)
    return text[:-2] if text and re.fullmatch(r"\d+\.0", text) else text
