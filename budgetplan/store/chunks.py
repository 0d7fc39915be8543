"""Finished samples on disk beside the store, chunk by chunk, until they are merged.

Invariant: a chunk file is complete or absent (written aside, synced, renamed), so a kill loses only what was in memory.
"""

import os
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from budgetplan.records import COMPLETION_SCHEMA, Completion
from budgetplan.store.folder_lock import sole_user, unwritable

FLUSH_SECONDS = 3.0
"""How much sampling a kill may cost at most, but for the samples still in flight."""
FLUSH_ROWS = 20_000


class ChunkWriter:
    """Collects completions of one run and writes them as Parquet files in the run's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._waiting: list[Completion] = []
        self._flushed_at = time.monotonic()

    def add(self, completions: Sequence[Completion]) -> None:
        """Take completions; write a chunk when enough time has passed or enough have gathered."""
        self._waiting.extend(completions)
        if time.monotonic() - self._flushed_at >= FLUSH_SECONDS or len(self._waiting) >= FLUSH_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting as one chunk."""
        if self._waiting:
            table = pa.Table.from_pylist([asdict(completion) for completion in self._waiting], COMPLETION_SCHEMA)
            self._write(table)
            self._waiting.clear()
        self._flushed_at = time.monotonic()

    def _write(self, table: pa.Table) -> None:
        final = self.folder / f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}.parquet"
        aside = final.with_suffix(".writing")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with aside.open("wb") as file:
                pq.write_table(table, file)
                file.flush()
                os.fsync(file.fileno())
            aside.rename(final)
        except OSError as error:
            aside.unlink(missing_ok=True)
            raise unwritable(self.folder, error) from error


def chunk_files(folder: Path) -> list[Path]:
    """The complete chunks of a run, oldest first."""
    return sorted(folder.glob("*.parquet"))


def tidy(folder: Path) -> None:
    """Remove torn chunks and empty run folders; only for the one who may sample, since others may be writing."""
    for run in folder.glob("run-*"):
        for torn in run.glob("*.writing"):
            torn.unlink(missing_ok=True)
        if not any(run.iterdir()):
            run.rmdir()


@contextmanager
def sole_sampler(folder: Path) -> Iterator[None]:
    """Let one process at a time sample into a store; the system frees the lock when the process dies."""
    with sole_user(folder, "sampling into"):
        try:
            yield
        finally:
            tidy(folder)
