"""Small files by which a training tells how far it is and how it ended; the process that started it reads them.

Invariant: each is replaced in one step, so that a reader sees a whole one or none.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HOW_FAR = "progress.json"
FINISHED = "finished.json"
FAILURE = "failure.json"


@dataclass(frozen=True, slots=True)
class HowFar:
    """`seconds` and the peak are over all resumptions; seconds count what had to be trained again, too."""

    step: int = 0
    seconds: float = 0.0
    peak_memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a training failed, as far as it could say so itself."""

    message: str
    hint: str


def read_how_far(folder: Path) -> HowFar:
    """Read how far a training is."""
    return HowFar(**(_read(folder / HOW_FAR) or {}))


def write_how_far(folder: Path, how_far: HowFar) -> None:
    """Write how far a training is."""
    _write(folder / HOW_FAR, asdict(how_far))


def read_stopped(folder: Path) -> str | None:
    """Return why a finished training ended early ("": it did not), None where it is not finished."""
    found = _read(folder / FINISHED)
    return None if found is None else str(found["stopped"])


def write_finished(folder: Path, stopped: str) -> None:
    """Say that a training is finished."""
    _write(folder / FINISHED, {"stopped": stopped})


def read_failure(folder: Path) -> Failure | None:
    """Read why a training failed, where it said so."""
    found = _read(folder / FAILURE)
    return None if found is None else Failure(**found)


def write_failure(folder: Path, failure: Failure) -> None:
    """Say why a training failed."""
    _write(folder / FAILURE, asdict(failure))


def _read(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _write(path: Path, document: dict[str, Any]) -> None:
    partial = path.with_suffix(f".{os.getpid()}")  # several processes may fail at once
    partial.write_text(json.dumps(document), encoding="utf-8")
    partial.replace(path)
