"""The process that trains, seen from the one that started it: run, watched, and ended with it, however that ends.

Invariant: no process that writes to the folder's training.log outlives this one, or an earlier one that was killed.
"""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from budgetplan.errors import TrainingError
from budgetplan.probing import reaper
from budgetplan.records import Progress
from budgetplan.validation.memory import KNOBS
from budgetplan.validation.progress_file import FAILURE, read_failure, read_how_far
from budgetplan.validation.records_of_training import rewind

LOG_FILE = "training.log"
WORKER = "budgetplan.steps.train_worker"
POLL_SECONDS = 0.2
TAIL_BYTES = 1 << 20

ENVIRONMENT = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "PYTHONSAFEPATH": "1",  # a file of the user's working folder must not stand in for a library
    "TOKENIZERS_PARALLELISM": "false",
}
_ERROR = re.compile(r"^(?:\[rank\d+\]: )?((?:\w+\.)*\w*(?:Error|Exception): .+)", re.MULTILINE)
_SECOND_HAND = re.compile(r"ChildFailedError|CalledProcessError|DistBackendError|Connection reset by peer")
_KILLED = re.compile(r"exitcode\s*:\s*-9|Signal 9|SIGKILL")


def run_worker(folder: Path, progress: Progress, accelerate_config: Path | None) -> None:
    """Run the training of a folder to its end; raises TrainingError where it fails."""
    (folder / FAILURE).unlink(missing_ok=True)
    with _own_log(folder / LOG_FILE) as log:
        rewind(folder)
        begin = log.tell()
        with _running(_command(folder, accelerate_config), log) as worker:
            _watch(worker, folder, progress)
    if worker.returncode:
        raise _failure(folder, worker.returncode, begin)


def _own_log(path: Path) -> BinaryIO:
    """Go on with the log in a new file: a killed attempt's watcher may yet end what writes to the old one."""
    written = b""
    if path.exists():
        with path.open("rb") as old:
            _end_writers(old)
            written = old.read()
    partial = path.with_suffix(".partial")
    partial.write_bytes(written)
    partial.replace(path)
    return path.open("ab")


def _command(folder: Path, accelerate_config: Path | None) -> list[str]:
    if accelerate_config is None:
        return [sys.executable, "-m", WORKER, str(folder)]
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", str(accelerate_config)]
    return [*launch, "-m", WORKER, str(folder)]


@contextmanager
def _running(command: list[str], log: BinaryIO) -> Iterator[subprocess.Popen[bytes]]:
    """Start the worker, writing to the log, and end all of its processes on the way out."""
    paths = os.pathsep.join(path for path in sys.path if path)
    worker = subprocess.Popen(
        command,
        env={**os.environ, **ENVIRONMENT, "PYTHONPATH": paths},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,  # Ctrl-C is ours to handle
    )
    file = os.fstat(log.fileno())
    watcher = subprocess.Popen(
        [sys.executable, "-E", "-S", reaper.__file__, *map(str, (os.getpid(), file.st_dev, file.st_ino))],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield worker
    finally:
        _end_writers(log)
        worker.wait()
        watcher.kill()
        watcher.wait()


def _end_writers(log: BinaryIO) -> None:
    file = os.fstat(log.fileno())
    reaper.end(file.st_dev, file.st_ino)


def _watch(worker: subprocess.Popen[bytes], folder: Path, progress: Progress) -> None:
    """Tell the progress until the worker ends."""
    told = 0
    while worker.poll() is None:
        time.sleep(POLL_SECONDS)
        step = read_how_far(folder).step
        # A training that goes on begins again below where it was killed.
        progress.advance(max(0, step - told))
        told = max(told, step)
    progress.advance(max(0, read_how_far(folder).step - told))


def _failure(folder: Path, code: int, begin: int) -> TrainingError:
    """Say why the worker failed: in its own words, by the signal that ended it, or by the log's last error."""
    own = read_failure(folder)
    if own is not None:
        return TrainingError(own.message, hint=own.hint)
    with (folder / LOG_FILE).open("rb") as log:
        log.seek(max(begin, log.seek(0, os.SEEK_END) - TAIL_BYTES))
        tail = log.read().decode(errors="replace")
    if code == -signal.SIGKILL or _KILLED.search(tail):
        return TrainingError(
            f"the training was killed, as the system does where memory runs out; see {folder / LOG_FILE}.", hint=KNOBS
        )
    errors = [match for match in _ERROR.findall(tail) if not _SECOND_HAND.search(match)]
    cause = errors[-1].strip() if errors else f"exit code {code}"
    return TrainingError(f"the training failed: {cause}", hint=f"All it wrote is in {folder / LOG_FILE}")
