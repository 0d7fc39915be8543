"""Every test of the pool works in a folder of its own."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pool.pool_files import Row


@pytest.fixture(autouse=True)
def inside_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are named as a user names them, without a path."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def lines() -> Callable[..., str]:
    """Write rows as JSON Lines and return the file's name."""

    def write(*rows: Row, name: str = "pool.jsonl") -> str:
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return name

    return write
