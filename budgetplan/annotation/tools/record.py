"""One record of a label file as it came, before any tool's reader has looked at it.

Invariant: `place` is where a person finds it: the line of the file, or the number of the element.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from budgetplan.annotation.tools.label_file import BadRecord, json_of


class Record(NamedTuple):
    """A JSON object or a table's row, at its 1-based line, or its number in a JSON array or Parquet file.

    `line` is the text that an object of JSON Lines was read from.
    """

    place: int
    value: dict[str, Any]
    line: str | None = None

    @property
    def raw(self) -> str:
        """The record as JSON, in the words of the file where it is JSON Lines."""
        return self.line or json_of(self.value)


Parsed = Record | BadRecord


def listed(names: Iterable[str], most: int = 12) -> str:
    """The first names of a file, each shortened, as one text."""
    shown = [excerpt(name, 30) for name in names]
    return ", ".join(shown[:most]) + (", …" if len(shown) > most else "")


def excerpt(text: str, width: int = 60) -> str:
    """The start of a text, on one line."""
    line = " ".join(text[: 4 * width].split())
    return line if len(line) <= width else line[: width - 1] + "…"
