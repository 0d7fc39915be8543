import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted import scripted
from typer.testing import CliRunner, Result

from budgetplan.cli import app

__all__ = ["imported", "rollouts", "run", "scripted"]

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Type a command in a folder of its own, under no settings but those given."""
    monkeypatch.chdir(tmp_path)

    def typed(*words: str, **environment: str) -> Result:
        monkeypatch.setattr("sys.argv", ["budgetplan", *words])
        return CliRunner().invoke(app, list(words), env={"COLUMNS": "120", **environment})

    yield typed


@pytest.fixture
def rollouts(tmp_path: Path) -> Path:
    """Twenty items with four samples each: item N is right min(N, 4) times."""
    rows: list[dict[str, Any]] = []
    for n in range(20):
        texts = [f"The answer is {2 * n if sample < n else 999}." for sample in range(4)]
        rows.append({"id": f"q{n}", "prompt": f"{n}+{n}=?", "answer": 2 * n, "completions": texts, "minutes": 5})
    path = tmp_path / "rollouts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def imported(run: Run, rollouts: Path) -> Run:
    """The same, with samples in the store."""
    assert run("import-samples", str(rollouts), "--model", "tiny").exit_code == 0
    return run
