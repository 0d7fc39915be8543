"""The checkpoints of a training folder: which are whole, and which a kill left behind.

Invariant: a checkpoint counts only once its mark is written, which happens after every process has written its part.
"""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

CHECKPOINTS = "checkpoints"
MARK = "whole.json"
_NAME = re.compile(r"checkpoint-(\d+)")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The weights (or the adapter) after `step` updates, with what is needed to go on from there."""

    step: int
    folder: Path


def checkpoints(folder: Path) -> list[Checkpoint]:
    """List the whole checkpoints of a training folder, by step."""
    found = [Checkpoint(int(match[1]), path) for path, match in _named(folder) if (path / MARK).exists()]
    return sorted(found, key=lambda checkpoint: checkpoint.step)


def mark_whole(checkpoint: Path) -> None:
    """Say that a checkpoint is whole."""
    partial = checkpoint / f"{MARK}.partial"
    partial.write_text(json.dumps({"whole": True}), encoding="utf-8")
    partial.replace(checkpoint / MARK)


def drop_partial(folder: Path) -> None:
    """Remove the checkpoints that a kill interrupted."""
    for path, _ in _named(folder):
        if not (path / MARK).exists():
            shutil.rmtree(path)


def _named(folder: Path) -> list[tuple[Path, re.Match[str]]]:
    paths = (folder / CHECKPOINTS).glob("checkpoint-*")
    return [(path, match) for path in paths if (match := _NAME.fullmatch(path.name))]
