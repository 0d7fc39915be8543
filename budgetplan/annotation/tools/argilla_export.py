"""What annotators said, read from the records that Argilla exports, nested or flattened.

Invariant: a user's responses to the questions of one record are one label, and the same one from either form, except
that the nested form does not say which responses are drafts or discarded.

Other questions than answer and verdict, and suggestions, are not read.
"""

import html
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

from budgetplan.annotation.tools.label_file import (
    BadLabelError,
    BadRecord,
    LabelRecord,
    json_of,
    text_of,
    verdict_of,
)
from budgetplan.annotation.tools.record import Record, excerpt
from budgetplan.records import LabelStatus

_QUESTIONS = ("answer", "verdict")
_SAID: dict[str, LabelStatus] = {"submitted": "submitted", "discarded": "skipped"}
_NOT_YET = ("draft", "pending")


@dataclass(frozen=True, slots=True)
class Read:
    """The labels of an export, blank ones included, what cannot be read, and how many labels came without a status."""

    labels: list[LabelRecord]
    bad: list[BadRecord]
    n_without_status: int


@dataclass(frozen=True, slots=True)
class _Response:
    """One user's response to one question; `status` is None where the export does not say."""

    question: str
    user_id: str | None
    value: Any
    status: str | None


def is_nested(names: Set[str]) -> bool:
    """Whether these are the keys of a record as `to_disk` and `to_json` write it."""
    return names >= {"id", "fields", "responses"}


def is_flat(names: Set[str]) -> bool:
    """Whether these are the keys of a flattened record; one to which nobody responded has no key of a question."""
    asked = any(name.endswith(".responses") or ".response." in name for name in names)
    return "id" in names and (asked or "_server_id" in names)


def read_records(records: Iterable[Record]) -> Read:
    """Read one label per record and user; a record to which nobody responded is blank."""
    labels: list[LabelRecord] = []
    bad: list[BadRecord] = []
    n_without_status = 0
    for record in records:
        try:
            users = _by_user(_responses(record.value))
        except BadLabelError as error:
            bad.append(BadRecord(record.place, f"{error}: export the records again"))
            continue
        if not users:
            labels.append(LabelRecord(place=record.place, raw=json_of({"id": record.value.get("id")})))
        for user_id, responses in users.items():
            try:
                label = _label(record, user_id, responses)
            except BadLabelError as error:
                bad.append(BadRecord(record.place, f"user {user_id}: {error}"))
            else:
                labels.append(label)
                n_without_status += not label.blank and not any(one.status for one in responses.values())
    return Read(labels, bad, n_without_status)


def _responses(value: Mapping[str, Any]) -> Iterator[_Response]:
    for question in _QUESTIONS:
        yield from (_nested if is_nested(value.keys()) else _flat)(value, question)


def _nested(value: Mapping[str, Any], question: str) -> Iterator[_Response]:
    responses = {} if value["responses"] is None else value["responses"]
    if not isinstance(responses, dict):
        raise BadLabelError(f"responses {excerpt(str(responses))} are no object")
    for one in _list(responses, question):
        if not isinstance(one, dict):
            raise BadLabelError(f"response {excerpt(str(one))} to {question} is no object")
        yield _Response(question, text_of(one.get("user_id")), one.get("value"), text_of(one.get("status")))


def _flat(value: Mapping[str, Any], question: str) -> Iterator[_Response]:
    """Read columns of lists with one element per user, and before 2.0 was released a column for each user."""
    key = f"{question}.responses"
    given, users = _list(value, key), _list(value, f"{key}.users")
    statuses = _list(value, f"{key}.status") or [None] * len(given)
    if not len(given) == len(users) == len(statuses):
        raise BadLabelError(f"{key} has {len(given)} values, {len(users)} users and {len(statuses)} statuses")
    for one, user_id, status in zip(given, users, statuses, strict=True):
        yield _Response(question, text_of(user_id), one, text_of(status))
    prefix = f"{question}.response."
    for name, one in value.items():
        if name.startswith(prefix) and one is not None:
            yield _Response(question, name.removeprefix(prefix), one, None)


def _list(value: Mapping[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    if found is None or isinstance(found, list):
        return found or []
    raise BadLabelError(f"{key} {excerpt(str(found))} is no list")


def _by_user(responses: Iterable[_Response]) -> dict[str | None, dict[str, _Response]]:
    users: dict[str | None, dict[str, _Response]] = {}
    for one in responses:
        given = users.setdefault(one.user_id, {})
        if one.question in given:
            raise BadLabelError(f"user {one.user_id} responds to {one.question} twice")
        given[one.question] = one
    return users


def _label(record: Record, user_id: str | None, responses: Mapping[str, _Response]) -> LabelRecord:
    value = record.value
    raw = json_of(
        {
            "id": value.get("id"),
            "user_id": user_id,
            "responses": {name: {"value": one.value, "status": one.status} for name, one in responses.items()},
        }
    )
    statuses = {one.status for one in responses.values() if one.status}
    if len(statuses) > 1:
        raise BadLabelError(f"responses are {' and '.join(sorted(statuses))} at once: export the records again")
    status = next(iter(statuses), "submitted")
    if status in _NOT_YET:
        return LabelRecord(place=record.place, raw=raw)
    if status not in _SAID:
        raise BadLabelError(f'status "{status}" is not one of {", ".join((*_SAID, *_NOT_YET))}')
    said = responses if _SAID[status] == "submitted" else {}  # what stood in a form that was discarded is no answer
    shortlist_id = _sent(value, "shortlist_id")
    item_id, prompt = _identity(value, ours=shortlist_id is not None)
    return LabelRecord(
        place=record.place,
        raw=raw,
        item_id=item_id,
        prompt=prompt,
        shortlist_id=shortlist_id,
        annotator=user_id,
        answer=_text("answer", said),
        verdict=verdict_of(_text("verdict", said)),
        status=_SAID[status],
    )


def _text(question: str, responses: Mapping[str, _Response]) -> str | None:
    value = responses[question].value if question in responses else None
    if isinstance(value, dict | list):
        raise BadLabelError(f"{question} {excerpt(str(value))} is no text: ask for it as in the folder that went out")
    return text_of(value)


def _identity(value: Mapping[str, Any], *, ours: bool) -> tuple[str | None, str | None]:
    """Read the item's id, or else the prompt, which went out escaped where the record is `ours`."""
    item_id = text_of(value.get("id"))
    if item_id and item_id.startswith("bp-"):
        return item_id, None
    prompt = _sent(value, "prompt")
    if prompt is None:
        raise BadLabelError(
            f"id {item_id} does not begin with bp-, and there is no prompt: use the folder that went out"
        )
    return None, html.unescape(prompt) if ours else prompt


def _sent(value: Mapping[str, Any], name: str) -> str | None:
    """Look up a field or metadata of the record, in a group of its own or beside the rest."""
    groups = (value.get("fields"), value.get("metadata"), value)
    found = (group[name] for group in groups if isinstance(group, dict) and name in group)
    text = next(found, None)
    return text if isinstance(text, str) and text.strip() else None
