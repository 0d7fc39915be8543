"""How files reach the user's disk.

Invariant: a file is there whole or not at all; what stood there before stays until its successor is complete.
"""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NewType

from budgetplan.errors import BudgetplanError

Unfinished = NewType("Unfinished", Path)
"""Where a writer of this room may write: a file that is not yet in its place."""


@contextmanager
def landing(*paths: Path) -> Iterator[tuple[Unfinished, ...]]:
    """Hand out one unfinished file per path, with the same suffix; on success all replace their paths, together.

    On any exception none does. An OSError (full disk, folder that cannot be written) becomes a BudgetplanError naming
    the path and the cause.
    """
    unfinished = tuple(_beside(path) for path in paths)
    try:
        for path in paths:
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        yield unfinished
        for file in unfinished:
            _sync(file)
        for file, path in zip(unfinished, paths, strict=True):
            file.replace(path)
    except OSError as cause:
        raise _cannot_write(paths, cause) from cause
    finally:
        for file in unfinished:
            with suppress(OSError):
                file.unlink()


def _beside(path: Path) -> Unfinished:
    return Unfinished(path.parent / f".{secrets.token_hex(4)}-{path.name}")


def _sync(file: Path) -> None:
    """Wait until the content is on the disk, so that a full one is met before anything is replaced."""
    with file.open("rb") as stream:
        os.fsync(stream.fileno())


def _cannot_write(paths: tuple[Path, ...], cause: OSError) -> BudgetplanError:
    names = " and ".join(str(path) for path in paths)
    missing = [path.parent for path in paths if not path.parent.exists()]
    hint = f"Make the folder: mkdir -p {missing[0]}" if missing else "Free some space, or write elsewhere: --out PATH"
    return BudgetplanError(f"cannot write {names}: {cause.strerror or cause}.", hint=hint)
