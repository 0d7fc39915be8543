"""What the user sees while something lasts, and how errors look. Results go to stdout, everything else to stderr."""

import logging
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from budgetplan.errors import BudgetplanError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID
    from rich.table import Table

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

log = logging.getLogger("budgetplan")
log.addHandler(logging.NullHandler())  # without a log file, nothing is logged to the screen


def stderr_console() -> "Console":
    """A console on the stderr of the moment (tests replace it)."""
    from rich.console import Console

    return Console(file=sys.stderr, highlight=False, soft_wrap=True, emoji=False)


def stdout_console() -> "Console":
    """A console for results."""
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False, emoji=False)


def say(text: str) -> None:
    """Print a line of results."""
    stdout_console().print(_harmless(text), markup=False, soft_wrap=True)


def add_row(table: "Table", *cells: str) -> None:
    """Add a row of text as it is: what users write may look like markup."""
    from rich.text import Text

    table.add_row(*(Text(_harmless(cell)) for cell in cells))


def _harmless(text: str) -> str:
    """Text without control characters: what others wrote must not move the cursor or clear the screen."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def say_next(command: str) -> None:
    """Print the last line of every command: the one that comes next, on the same store."""
    say(f"Next: {command}{_store_option}")


_store_option = ""


def stay_on(db: Path) -> None:
    """Let the next command that is named be one on this store."""
    global _store_option  # noqa: PLW0603 - one command is one process
    _store_option = "" if db == Path("budgetplan.duckdb") else f" --db {shlex.quote(str(db))}"


class TerminalProgress:
    """A bar with rate and time left, on stderr; satisfies `records.Progress`."""

    def __init__(self) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._console = stderr_console()
        self._bars: Progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> "TerminalProgress":
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def start(self, task: str, total: int | None) -> None:
        """Begin a bar."""
        log.info("%s: %s to do", task, "an unknown number" if total is None else total)
        self._task = self._bars.add_task(task, total=total, rate="")

    def advance(self, steps: int) -> None:
        """Move the bar on."""
        if self._task is not None:
            self._bars.advance(self._task, steps)
            task = next(task for task in self._bars.tasks if task.id == self._task)
            self._bars.update(self._task, rate=f"{task.speed:,.1f}/s" if task.speed else "")

    def note(self, text: str) -> None:
        """Print a line above the bar."""
        log.info(text)
        self._console.print(text, style="dim", markup=False)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Take the bars off the screen while the user is asked something."""
        self._bars.stop()
        yield
        self._bars.start()

    def finish(self) -> None:
        """End the bar."""
        if self._task is not None:
            self._bars.stop_task(self._task)
            self._task = None


def show_error(error: BudgetplanError) -> None:
    """Print what happened and the way on."""
    log.error("%s", error, exc_info=error)
    console = stderr_console()
    console.print("[bold red]error:[/]", end=" ")
    console.print(_harmless(error.message), markup=False)
    if error.hint:
        console.print(error.hint, markup=False)


def show_warnings(warnings: list[str]) -> None:
    """Print warnings."""
    console = stderr_console()
    for warning in warnings:
        log.warning(warning)
        console.print("[bold yellow]warning:[/]", end=" ")
        console.print(_harmless(warning), markup=False)


def ask(question: str) -> bool:
    """Ask on a terminal; without one, the answer is no."""
    import typer

    return sys.stdin.isatty() and typer.confirm(question, err=True)


def or_dash(value: float | None, form: str) -> str:
    """A number in a table's cell, or a dash where there is none."""
    return "-" if value is None else format(value, form)
