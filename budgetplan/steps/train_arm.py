"""Train one arm in a folder: begin it, go on with it, or find it finished.

Invariant: a folder holds one training; whoever asks again with the same spec and items gets that one, however often it
was killed, and another spec is refused.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from budgetplan.errors import TrainingError
from budgetplan.records import Progress
from budgetplan.steps.train_process import run_worker
from budgetplan.validation.checkpoints import Checkpoint as Checkpoint  # noqa: PLC0414
from budgetplan.validation.checkpoints import checkpoints
from budgetplan.validation.progress_file import read_how_far, read_stopped
from budgetplan.validation.spec import ITEMS_FILE, SPEC_FILE, TrainSpec, check_same, write_spec

LOCK_FILE = "lock"


@dataclass(frozen=True, slots=True)
class Trained:
    """A finished training; `stopped` is why it ended early, "" where it did not, `seconds` are over all resumptions."""

    folder: Path
    checkpoints: list[Checkpoint]
    stopped: str
    seconds: float
    peak_memory_bytes: int


def train_arm(
    spec: TrainSpec, items: pa.Table, folder: Path, progress: Progress, accelerate_config: Path | None = None
) -> Trained:
    """Train an arm, going on at the last whole checkpoint of the folder; returns at once where it is finished.

    `items` has item_id, messages (JSON, as the probe sent them), answer and columns (a JSON object). Progress counts
    updates. Raises TrainingError where the folder holds another configuration, or the training fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _alone_in(folder):
        _claim(spec, items, folder)
        if read_stopped(folder) is None:
            progress.start(f"training {spec.arm}, seed {spec.seed}", spec.recipe.steps)
            try:
                run_worker(folder, progress, accelerate_config)
            finally:
                progress.finish()
    stopped = read_stopped(folder)
    if stopped is None:
        raise TrainingError(f"{folder}: the training ended without saying that it is finished; see its training.log.")
    how_far = read_how_far(folder)
    return Trained(folder, checkpoints(folder), stopped, how_far.seconds, how_far.peak_memory_bytes)


def _claim(spec: TrainSpec, items: pa.Table, folder: Path) -> None:
    """Write what is to be trained, or check that it is what the folder was begun with."""
    import pyarrow.parquet as pq

    if not items.num_rows:
        raise TrainingError(f"the arm {spec.arm} has no items to train on.")
    rows = items.select(["item_id", "messages", "answer", "columns"])
    digest = hashlib.sha256(str(rows.to_pylist()).encode()).hexdigest()[:16]
    if (folder / SPEC_FILE).exists():
        check_same(spec, digest, folder)
        return
    pq.write_table(rows, folder / ITEMS_FILE)
    write_spec(spec, digest, folder)


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep a second training out of the folder; the lock goes with the process that holds it."""
    import fcntl

    with (folder / LOCK_FILE).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TrainingError(
                f"another process is training in {folder}.", hint="Wait for it, or stop it and run this again."
            ) from None
        yield
