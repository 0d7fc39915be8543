"""Pools without answers whose truth is known: samples of a model that is right on each item with a hidden chance."""

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetplan import Project
from budgetplan.records import Silent
from budgetplan.steps.ingest import IngestReport

TOPICS = ("apples", "trains", "coins", "clocks", "rivers")
N_WRONG_ANSWERS = 20


@dataclass(frozen=True, slots=True)
class MadePool:
    """Rows as `import-samples` reads them, and of each its answer and the hidden chance `p` that a sample is right."""

    rows: list[dict[str, Any]]
    answers: list[str]
    p: NDArray[np.float64]

    @property
    def answer_of(self) -> dict[str, str]:
        """The answers by prompt, which is what annotators see."""
        return {row["prompt"]: answer for row, answer in zip(self.rows, self.answers, strict=True)}

    def hidden_p(self, ids: list[str]) -> NDArray[np.float64]:
        """The hidden p of the items with these ids."""
        return self.p[[int(name.removeprefix("q")) for name in ids]]

    def with_answers(self, n: int) -> list[dict[str, Any]]:
        """The rows, of which the first n bring their answer."""
        known = [row | {"answer": answer} for row, answer in zip(self.rows[:n], self.answers[:n], strict=True)]
        return known + self.rows[n:]


class Notes(Silent):
    """Progress that keeps what it was told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        """Keep it."""
        self.said.append(text)


def make_pool(n: int, k: int = 8, *, seed: int = 0) -> MadePool:
    """Make items q0, q1 … with `k` samples each; wrong answers are spread, so that agreement falls with difficulty."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=n)
    answers = [str(1000 + item) for item in range(n)]
    rows = [
        {
            "id": f"q{item}",
            "prompt": prompt(item),
            "completions": [
                said(answers[item] if right else rng.integers(N_WRONG_ANSWERS))
                for right in rng.uniform(size=k) < p[item]
            ],
        }
        for item in range(n)
    ]
    return MadePool(rows, answers, p)


def prompt(item: int) -> str:
    """The prompt of the item q`item`."""
    return f"Question {item} about {TOPICS[item % len(TOPICS)]}"


def said(answer: object) -> str:
    """A completion that gives this answer."""
    return f"The answer is {answer}."


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def imported(folder: Path, rows: list[dict[str, Any]], **settings: Any) -> Project:
    """A project in a store of its own in this folder, with these samples; answers are compared as text by default."""
    folder.mkdir(exist_ok=True)
    given: dict[str, Any] = {"db": folder / "store.duckdb", "model": "tiny", "verifier": "exact"}
    project = Project(**given | settings)
    project.import_samples([write_rows(folder / "rollouts.jsonl", rows)])
    return project


def bring_reference(project: Project, folder: Path, answers: Mapping[str, str], **settings: Any) -> Project:
    """Bring the answers of another model, `big`, by prompt."""
    rows = [{"prompt": asked, "answer": answer} for asked, answer in answers.items()]
    big = Project(db=project.settings.db, model="big", **settings)
    big.import_samples([write_rows(folder / "reference.jsonl", rows)], role="reference")
    return big


def fill_in(sheet: Path, answer_of: Mapping[str, str], annotator: str = "ana") -> Path:
    """Answer the annotators' spreadsheet, where an answer is given for the prompt; returns the file that comes back."""
    with sheet.open(encoding="utf-8-sig", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["prompt"] in answer_of]
    filled = sheet.with_name(f"{sheet.stem}.{annotator}.csv")
    with filled.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0].keys())
        writer.writeheader()
        writer.writerows(row | {"answer": answer_of[row["prompt"]], "annotator": annotator} for row in rows)
    return filled


def bought(project: Project, folder: Path, answer_of: Mapping[str, str], budget: str, **choices: Any) -> IngestReport:
    """Spend a budget on a shortlist, and bring its labels back."""
    shortlisted = project.shortlist(budget, out=folder / "sl.csv", force=True, **choices)
    assert shortlisted.files is not None
    return project.ingest([fill_in(shortlisted.files.annotators[0], answer_of)])
