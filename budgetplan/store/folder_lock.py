"""One process at a time per folder beside the store; the system frees the lock when the process dies."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from budgetplan.errors import StoreError, StoreLocked


@contextmanager
def sole_user(folder: Path, doing: str) -> Iterator[None]:
    """Hold a folder, made if need be, and removed afterwards where nothing is left in it.

    Raises StoreLocked where another process is doing the same to this store.
    """
    descriptor = _lock_folder(folder, doing)
    try:
        yield
    finally:
        if not any(folder.iterdir()):
            folder.rmdir()
        os.close(descriptor)


def _lock_folder(folder: Path, doing: str) -> int:
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(folder, os.O_RDONLY)
        except OSError as error:
            raise unwritable(folder, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise StoreLocked(
                f"another process is {doing} this store (it holds {folder}).",
                hint="Wait for it to end, or use another store: --db other.duckdb",
            ) from error
        if folder.exists() and os.fstat(descriptor).st_ino == folder.stat().st_ino:
            return descriptor
        os.close(descriptor)  # the last holder removed the folder between our open and our lock


def unwritable(folder: Path, error: OSError) -> StoreError:
    """The error for what cannot be kept beside the store."""
    return StoreError(
        f"{folder} could not be written: {error.strerror or error}.",
        hint="What was stored before is safe. Free some disk space (df -h), then run the same command again.",
    )
