"""Argilla 2: a dataset folder for `rg.Dataset.from_disk` out, records in any form that it exports back.

Invariant: the id of a record is the id of its item; Argilla keeps it in every export.

Its page puts a text field into the document as HTML, also where Markdown is off (`v-html` in its frontend, 2.8), and
would run what a prompt says: so texts are sent with <, > and & escaped, and are shown as they were written. Only a
verdict is required, since Argilla cannot ask for an answer except where the verdict is that there is none.
"""

import html
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from budgetplan.annotation.landing import Unfinished
from budgetplan.annotation.tools.argilla_export import is_flat, is_nested, read_records
from budgetplan.annotation.tools.content import Content
from budgetplan.annotation.tools.label_file import LabelFile, label_file, unreadable

NAME = "argilla"
HOW_TO_OPEN = (
    "In Python, logged in to Argilla (rg.Argilla(api_url=..., api_key=...)): "
    'import argilla as rg; rg.Dataset.from_disk("{file.parent.parent}", workspace="argilla")'
)

_GUIDELINES = (
    "Type the final answer to the prompt, and choose ok. "
    "Where no one answer is right, choose ambiguous or unanswerable and leave the answer empty."
)
_VERDICTS = {
    "ok": "the answer is right",
    "ambiguous": "several answers are right",
    "unanswerable": "no answer can be given",
}
_DISTRIBUTION = {"strategy": "overlap", "min_submitted": 1}


def task_files(stem: Path) -> tuple[Path, ...]:
    """Where a shortlist called `stem` is written: three files of one folder, which is what Argilla opens."""
    folder = stem.with_name(f"{stem.name}.argilla")
    return (folder / ".argilla" / "dataset.json", folder / ".argilla" / "settings.json", folder / "records.json")


def write_tasks(tasks: pa.Table, files: Sequence[Unfinished], shortlist_id: str) -> None:
    """Write tasks in row order, in ASCII: Argilla reads the files in the encoding of the machine it is on."""
    records = list(_records(tasks, shortlist_id))
    documents = (_dataset(shortlist_id), _settings("model_answer" in tasks.column_names), records)
    for document, file in zip(documents, files, strict=True):
        file.write_text(json.dumps(document), encoding="ascii")


def recognises(content: Content) -> bool:
    """Say whether these are records with their responses, nested or flattened."""
    return content.kind != "table" and (is_nested(content.names) or is_flat(content.names))


def read_labels(content: Content) -> LabelFile:
    """Read an export in any of its forms: one label per record and user.

    Argilla measures no time and has no id of a response: the item and the user are what identifies it. A user who
    discards a record without filling in anything is in no export. Raises LabelError for what is no export of Argilla.
    """
    if not recognises(content):
        raise unreadable(
            content.path, "this is no export of Argilla.", 'Export again: dataset.records.to_json("labels.json")'
        )
    read = read_records(content.records)
    return label_file(NAME, read.labels, [*content.bad, *read.bad], _warnings(read.n_without_status))


def _warnings(n_without_status: int) -> Iterator[str]:
    if n_without_status:
        yield (
            f"{n_without_status:,} responses come without a status: drafts and discarded responses, which cannot be "
            "told from submitted ones here, were taken as labels too. Export with the status: "
            'dataset.records.to_datasets().to_parquet("labels.parquet")'
        )


def _records(tasks: pa.Table, shortlist_id: str) -> Iterator[dict[str, Any]]:
    shown = [name for name in ("prompt", "model_answer") if name in tasks.column_names]
    for task in tasks.to_pylist():
        yield {
            "id": task["item_id"],
            "fields": {name: html.escape(task[name], quote=False) for name in shown if task[name] is not None},
            "metadata": {"shortlist_id": shortlist_id},
            "suggestions": {},
            "responses": {},
            "vectors": {},
            "_server_id": None,
        }


def _dataset(name: str) -> dict[str, Any]:
    return {
        "id": None,
        "inserted_at": None,
        "updated_at": None,
        "name": name,
        "status": "ready",
        "guidelines": None,
        "allow_extra_metadata": True,
        "distribution": _DISTRIBUTION,
        "workspace_id": None,
        "last_activity_at": None,
    }


def _settings(shows_model_answer: bool) -> dict[str, Any]:
    options = [{"value": word, "text": word, "description": meaning} for word, meaning in _VERDICTS.items()]
    fields = [_shown("prompt", "Prompt", required=True)]
    if shows_model_answer:
        fields.append(_shown("model_answer", "A model's answer, which may be wrong", required=False))
    return {
        "guidelines": _GUIDELINES,
        "fields": fields,
        "questions": [
            _asked("answer", "Answer", {"type": "text", "use_markdown": False}, required=False),
            _asked("verdict", "Verdict", {"type": "label_selection", "options": options}, required=True),
        ],
        "vectors": [],
        "metadata": [
            {
                "name": "shortlist_id",
                "title": "Shortlist",
                "visible_for_annotators": False,
                "settings": {"type": "terms", "values": None, "visible_for_annotators": False},
            }
        ],
        "allow_extra_metadata": True,
        "distribution": _DISTRIBUTION,
        "mapping": None,
    }


def _shown(name: str, title: str, *, required: bool) -> dict[str, Any]:
    return _asked(name, title, {"type": "text", "use_markdown": False}, required=required)


def _asked(name: str, title: str, settings: dict[str, Any], *, required: bool) -> dict[str, Any]:
    return {"name": name, "title": title, "required": required, "description": None, "settings": settings}
