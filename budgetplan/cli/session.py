"""One command's session: its log file, its progress bar and its project, opened and closed together."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from budgetplan.cli.terminal import TerminalProgress, ask, stay_on
from budgetplan.errors import ConfigError
from budgetplan.project import Project


@contextmanager
def opened(log_file: Path | None, **flags: Any) -> Iterator[tuple[Project, Callable[[str], bool]]]:
    """A project with the flags that were given, and a way to ask the user."""
    with _logging_to(log_file), TerminalProgress() as progress:
        project = Project(progress=progress, **flags)
        stay_on(project.settings.db)
        yield project, _asking(progress)


def _asking(progress: TerminalProgress) -> Callable[[str], bool]:
    def confirm(question: str) -> bool:
        with progress.paused():
            return ask(question)

    return confirm


@contextmanager
def _logging_to(log_file: Path | None) -> Iterator[None]:
    if log_file is None:
        yield
        return
    try:
        handler = logging.FileHandler(log_file, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"--log-file {log_file} cannot be written: {error.strerror}.", hint="Name another."
        ) from error
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.getLogger("budgetplan").info("started: %s", " ".join(sys.argv))
    try:
        yield
    except BaseException:
        logging.getLogger("budgetplan").exception("ended by an error")
        raise
    finally:
        root.removeHandler(handler)
        handler.close()
