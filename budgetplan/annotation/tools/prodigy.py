"""Prodigy: a recipe and its tasks out, the JSON Lines of `prodigy db-out` back.

Invariant: Prodigy's own `answer` (accept, reject, ignore) is never taken for an answer to the prompt.

The recipe shows the prompt, asks for the answer in a text field and for a verdict among options; no recipe that comes
with Prodigy does that. `prodigy mark DATASET shortlist.prodigy.jsonl --view-id choice` opens the same tasks for
verdicts alone. Prodigy is not free, so this follows its public documentation and samples, and was not run with it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from budgetplan.annotation.json_lines import json_lines
from budgetplan.annotation.landing import Unfinished
from budgetplan.annotation.tools.content import Content
from budgetplan.annotation.tools.label_file import (
    BadLabelError,
    BadRecord,
    LabelFile,
    LabelRecord,
    json_of,
    label_file,
    text_of,
    time_of,
    unreadable,
    verdict_of,
)
from budgetplan.annotation.tools.record import Record, excerpt
from budgetplan.records import LabelStatus, LabelVerdict

NAME = "prodigy"
HOW_TO_OPEN = "Run: prodigy budgetplan DATASET -F {file} (and give annotators the address with ?session=NAME)"
BREAK_SECONDS = 15 * 60
"""A longer time between two records of a session was not spent on the second."""

_STATUSES: dict[str, LabelStatus] = {"accept": "submitted", "reject": "rejected", "ignore": "skipped"}
_VERDICTS = ("ok", "ambiguous", "unanswerable")
_TEXT_FIELDS = ("answer_text", "user_input")  # the recipe's, and the one that Prodigy's text_input has by itself
_NO_SESSION = re.compile(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d")
_RECIPE = '''\
"""Label the tasks of the .jsonl file beside this one: prodigy budgetplan DATASET -F THIS_FILE"""

import json
from pathlib import Path

import prodigy

BLOCKS = [
    {"view_id": "text"},
    {"view_id": "text_input", "field_id": "answer_text", "field_label": "Answer", "field_rows": 3},
    {"view_id": "choice", "text": None},
]
LINE_BREAKS = ".prodigy-content { white-space: pre-wrap; text-align: left }"


@prodigy.recipe("budgetplan", dataset=("Dataset to save the labels in", "positional", None, str))
def budgetplan(dataset):
    lines = Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8").split("\\n")
    return {
        "dataset": dataset,
        "stream": [{**json.loads(line), "prodigy_dataset": dataset} for line in lines if line],
        "view_id": "blocks",
        "config": {"blocks": BLOCKS, "choice_style": "single", "global_css": LINE_BREAKS},
    }
'''


def task_files(stem: Path) -> tuple[Path, ...]:
    """Where a shortlist called `stem` is written: the recipe, which Prodigy opens, and its tasks."""
    return (stem.with_name(f"{stem.name}.prodigy.py"), stem.with_name(f"{stem.name}.prodigy.jsonl"))


def write_tasks(tasks: pa.Table, files: Sequence[Unfinished], shortlist_id: str) -> None:
    """Write tasks in row order; a model's answer goes where Prodigy shows what is known of a task, below it."""
    n = len(tasks)
    options = [{"id": word, "text": word} for word in _VERDICTS]
    columns = {
        "text": tasks["prompt"],
        "options": pa.array([options] * n, pa.list_(pa.struct([("id", pa.string()), ("text", pa.string())]))),
        "item_id": tasks["item_id"],
        "shortlist_id": pa.array([shortlist_id] * n, pa.string()),
    }
    if "model_answer" in tasks.column_names:
        answers = tasks["model_answer"].fill_null("").combine_chunks()
        columns["meta"] = pa.StructArray.from_arrays([answers], ["model answer, may be wrong"])
    files[0].write_text(_RECIPE, encoding="utf-8")
    with files[1].open("w", encoding="utf-8", newline="") as stream:
        for lines in json_lines(pa.table(columns)):
            stream.writelines(f"{line}\n" for line in lines)


def recognises(content: Content) -> bool:
    """Say whether these are Prodigy's tasks, annotated or not."""
    return content.kind in ("json-lines", "json") and bool(
        content.names & {"_task_hash", "_input_hash", "_session_id", "_view_id"}
        or content.names >= {"text", "options"}
        or (content.records and content.records[0].value.get("answer") in _STATUSES and "text" in content.names)
    )


def read_labels(content: Content) -> LabelFile:
    """Read one label per record; a task without Prodigy's `answer` is blank.

    The seconds of a record are the time since its session's last one before, unless that was a break; a session's first
    record has none, nor has any in exports without `_timestamp`. There is no native id: two annotators of a task share
    its hash, and with a name in it an id would outlive a pseudonym.
    """
    if content.kind not in ("json-lines", "json"):
        raise unreadable(content.path, f"this is {content.kind}, not JSON Lines.", "Leave --format out.")
    seconds = _seconds(content.records)
    labels: list[LabelRecord] = []
    bad = list(content.bad)
    for record in content.records:
        try:
            labels.append(_label(record, seconds))
        except BadLabelError as error:
            bad.append(BadRecord(record.place, str(error)))
    return label_file(NAME, labels, bad, _warnings(content.records, labels))


def _label(record: Record, seconds: Mapping[tuple[str, float], float]) -> LabelRecord:
    task = record.value
    raw = json_of(task)
    if task.get("answer") is None:
        return LabelRecord(place=record.place, raw=raw)
    status = _STATUSES.get(str(task["answer"]))
    if status is None:
        raise BadLabelError(f'answer "{excerpt(str(task["answer"]))}" is not one of {", ".join(_STATUSES)}')
    item_id, prompt = text_of(task.get("item_id")), task.get("text")
    has_id = item_id is not None and item_id.startswith("bp-")
    if not has_id and not (isinstance(prompt, str) and prompt.strip()):
        raise BadLabelError("neither an item_id that begins with bp- nor a text: label the tasks that went out")
    said = task if status == "submitted" else {}  # what stood in the form of a task that was not accepted is no answer
    moment = _moment(task)
    return LabelRecord(
        place=record.place,
        raw=raw,
        item_id=item_id if has_id else None,
        prompt=None if has_id else prompt,
        shortlist_id=text_of(task.get("shortlist_id")),
        annotator=_annotator(task),
        answer=_answer(said),
        verdict=_verdict(said),
        status=status,
        seconds=seconds.get(moment) if moment else None,
        labeled_at=time_of(task.get("_timestamp")),
    )


def _annotator(task: Mapping[str, Any]) -> str | None:
    """Name who annotated, without the dataset that Prodigy puts before; without ?session= it has but a time there."""
    session = text_of(task.get("_session_id"))
    name = text_of(task.get("_annotator_id")) or session
    dataset = text_of(task.get("prodigy_dataset"))
    if name and dataset:
        name = name.removeprefix(f"{dataset}-")
    elif name and session and name.endswith(f"-{session}"):
        name = session
    return None if name is None or _NO_SESSION.fullmatch(name) else name


def _answer(task: Mapping[str, Any]) -> str | None:
    """Read the option that was chosen, or the label that was accepted, where it is no verdict; else what was typed."""
    chosen = _chosen(task)
    if chosen and not _is_verdict(task):
        return chosen
    return next((text for text in (text_of(task.get(field)) for field in _TEXT_FIELDS) if text), None)


def _verdict(task: Mapping[str, Any]) -> LabelVerdict | None:
    return verdict_of(_chosen(task)) if _is_verdict(task) else None


def _chosen(task: Mapping[str, Any]) -> str | None:
    accepted = task.get("accept")
    given = accepted if isinstance(accepted, list) else [accepted]
    chosen = [text for text in map(text_of, given) if text]
    if len(chosen) > 1:
        raise BadLabelError(f"{' and '.join(chosen)} are chosen at once: an item has one answer and one verdict")
    return chosen[0] if chosen else text_of(task.get("label"))


def _is_verdict(task: Mapping[str, Any]) -> bool:
    """Whether the options are verdicts; without options, whether what was chosen is one."""
    options = task.get("options")
    offered = [text_of(one.get("id")) for one in options if isinstance(one, dict)] if isinstance(options, list) else []
    return all(word in _VERDICTS for word in offered or [_chosen(task)])


def _moment(task: Mapping[str, Any]) -> tuple[str, float] | None:
    session, time = text_of(task.get("_session_id") or task.get("_annotator_id")), task.get("_timestamp")
    return (session, float(time)) if session and isinstance(time, int | float) else None


def _seconds(records: Iterable[Record]) -> dict[tuple[str, float], float]:
    """Time each moment of a session since the one before; a record that is there twice counts once."""
    sessions: dict[str, set[float]] = defaultdict(set)
    for record in records:
        if moment := _moment(record.value):
            sessions[moment[0]].add(moment[1])
    return {
        (session, now): now - before
        for session, times in sessions.items()
        for before, now in pairwise(sorted(times))
        if now - before <= BREAK_SECONDS
    }


def _warnings(records: Sequence[Record], labels: Sequence[LabelRecord]) -> Iterator[str]:
    n_without_id = sum(label.item_id is None and label.prompt is not None for label in labels)
    if n_without_id:
        yield f"{n_without_id:,} records carry no item_id: their items are looked up by the text of the prompt."
    n_accepted = sum(record.value.get("answer") == "accept" for record in records)
    submitted = [label for label in labels if label.status == "submitted"]
    if n_accepted and submitted and all(label.blank for label in submitted):
        yield (
            f"none of {n_accepted:,} accepted records has an answer in {_TEXT_FIELDS[0]}: label with the recipe that "
            "went out, or give the text field that field_id."
        )
