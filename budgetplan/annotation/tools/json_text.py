"""JSON documents and JSON Lines as records.

Invariant: a number is shown as it was written (0.50, not 0.5), NaN is null as pandas means it, and every string can be
stored as UTF-8.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from budgetplan.annotation.tools.label_file import BadRecord
from budgetplan.annotation.tools.record import Parsed, Record, excerpt

_GAP = re.compile(r"[ \t\r\n]*")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class _Number(float):
    __slots__ = ("text",)
    text: str

    def __str__(self) -> str:
        return self.text


def _number(text: str) -> float | str:
    number = _Number(text)
    number.text = text
    return number if math.isfinite(number) else text


_DECODER = json.JSONDecoder(parse_float=_number, parse_constant=lambda name: None if name == "NaN" else name)
_BROKEN = (ValueError, RecursionError)


def is_lines(text: str) -> bool:
    """Whether text that begins with an object holds one per line; a lone object on one line is such a file too."""
    body = text.strip(" \t\r\n")
    try:
        end = _DECODER.raw_decode(body)[1]
    except _BROKEN:
        return "\n" not in body or "\n{" in body
    return "\n" not in body[:end]


def read_lines(text: str) -> Iterator[Parsed]:
    """Yield the object of every line that is not blank."""
    for place, line in enumerate(text.split("\n"), start=1):
        if text := line.strip():
            try:
                yield _object(place, _DECODER.decode(text), text, line=text)
            except _BROKEN as error:
                yield BadRecord(place, f"broken JSON: {_why(error)}: {excerpt(line)}")


def read_document(text: str) -> Iterator[Parsed]:
    """Yield the one object, or the elements of the array; after a break nothing is sure, so it is the last."""
    begin = _skip(text, 0)
    if text[begin] == "[":
        yield from _elements(text, _skip(text, begin + 1))
        return
    try:
        value, end = _DECODER.raw_decode(text, begin)
    except _BROKEN as error:
        yield _break(1, text, begin, error)
        return
    yield _object(1, value, text[begin:end])
    yield from _rest(2, text, end)


def _elements(text: str, at: int) -> Iterator[Parsed]:
    place = 1
    closed = text.startswith("]", at)
    while not closed:
        try:
            value, end = _DECODER.raw_decode(text, at)
            after = _skip(text, end)
            closed = text.startswith("]", after)
            if not closed and not text.startswith(",", after):
                raise json.JSONDecodeError("Expecting ',' or ']'", text, after)
        except _BROKEN as error:
            yield _break(place, text, at, error)
            return
        yield _object(place, value, text[at:end])
        place, at = place + 1, after if closed else _skip(text, after + 1)
    yield from _rest(place, text, at + 1)


def _object(place: int, value: Any, source: str, *, line: str | None = None) -> Parsed:
    if not isinstance(value, dict):
        return BadRecord(place, f"not an object with named fields: {excerpt(source)}")
    if _SURROGATE.search(source):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return BadRecord(place, "half of a surrogate pair (\\ud800 to \\udfff) is no character: delete it")
    return Record(place, value, line)


def _break(place: int, text: str, at: int, error: Exception) -> BadRecord:
    at = error.pos if isinstance(error, json.JSONDecodeError) else at
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    where = f"line {line}, column {column}"
    return BadRecord(
        place, f"broken JSON at {where}: {_why(error)}; nothing from this record on was read: export the file again"
    )


def _rest(place: int, text: str, end: int) -> Iterator[BadRecord]:
    at = _skip(text, end)
    if at < len(text):
        where = f"line {text.count(chr(10), 0, at) + 1}"
        reason = f"text after the end of the JSON document at {where}: {excerpt(text[at : at + 240])}"
        yield BadRecord(place, f"{reason}; several documents become JSON Lines with: jq -c .")


def _skip(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    return gap.end() if gap else at


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)
