"""Which tool wrote a label file.

Invariant: the tool that was asked for is used; without one, the first that recognises the content, and none is guessed.
"""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from budgetplan.annotation.landing import Unfinished
from budgetplan.annotation.tools import argilla, label_studio, prodigy, spreadsheet
from budgetplan.annotation.tools.content import Content, read_content
from budgetplan.annotation.tools.label_file import LabelFile, unreadable
from budgetplan.annotation.tools.plain import JSONL, PARQUET
from budgetplan.annotation.tools.record import listed


class Tool(Protocol):
    """One annotation tool: a module of this folder, or an object like one."""

    @property
    def NAME(self) -> str:  # noqa: N802
        """As in `--format`."""

    @property
    def HOW_TO_OPEN(self) -> str:  # noqa: N802
        """One sentence that says how to open `{file}`, the first of `task_files`."""

    def task_files(self, stem: Path) -> tuple[Path, ...]:
        """Where a shortlist called `stem` is written for this tool."""

    def write_tasks(self, tasks: pa.Table, files: Sequence[Unfinished], shortlist_id: str) -> None:
        """Write tasks, already blind (`annotation.tasks`), to files from `landing`."""

    def recognises(self, content: Content) -> bool:
        """Say whether the content is what this tool exports."""

    def read_labels(self, content: Content) -> LabelFile:
        """Read the tool's native export."""


# Tools whose exports have keys of their own come before those that are known by ours alone.
_ALL: tuple[Tool, ...] = (label_studio, argilla, prodigy, spreadsheet, JSONL, PARQUET)
TOOLS: dict[str, Tool] = {tool.NAME: tool for tool in _ALL}


def read_label_file(path: Path, asked: str | None = None) -> LabelFile:
    """Read the labels of a file or folder as the tool `asked` for (a key of TOOLS) wrote them, or as it is detected.

    Raises LabelError for what is no label file.
    """
    if asked is not None and asked not in TOOLS:
        raise unreadable(path, f'no format is called "{asked}".', f"Formats: {', '.join(TOOLS)}.")
    with _uncollected():
        content = read_content(path)
        tool = TOOLS[asked] if asked else _detected(content)
        return tool.read_labels(content)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the garbage collector, which would look through all records again and again and find none to free."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _detected(content: Content) -> Tool:
    for tool in TOOLS.values():
        if tool.recognises(content):
            return tool
    if not content.names:
        why = f"no record can be read: {content.bad[0].reason}." if content.bad else "there are no records in it."
        raise unreadable(content.path, why, "Export the labels again.")
    raise unreadable(
        content.path,
        f"no annotation tool's labels are known by the names {listed(sorted(content.names))}.",
        f"Name the format with --format: {', '.join(TOOLS)}.",
    )
