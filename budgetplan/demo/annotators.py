"""Owns the demo's two annotators: they read the tasks file as people would, err, skip, take their time, and disagree.

Invariant: what they return follows from the tasks and the seed alone, in the shape of Label Studio's JSON export. They
are simulated, and nobody should read a finding about people into them.
"""

import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from budgetplan.demo.task import LETTERS, Exercise

_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Annotator:
    """One simulated person: chances of a wrong answer, a skip and "ambiguous", and seconds per move."""

    number: int
    email: str
    wrong: float
    skips: float
    ambiguous: float
    seconds_per_move: float


ANNOTATORS = (
    Annotator(1, "ana@example.org", wrong=0.04, skips=0.03, ambiguous=0.02, seconds_per_move=20.0),
    Annotator(2, "bo@example.org", wrong=0.10, skips=0.05, ambiguous=0.0, seconds_per_move=12.0),
)


def write_export(tasks_file: Path, export: Path, seed: int = 0) -> Path:
    """Answer every task of a Label Studio tasks file, and write the export beside it."""
    tasks = json.loads(tasks_file.read_text(encoding="utf-8"))
    random_state = random.Random(seed)
    clocks = dict.fromkeys(ANNOTATORS, _START)
    exported = []
    for number, task in enumerate(tasks, start=1):
        annotations = []
        for annotator in ANNOTATORS:
            seconds = _seconds(annotator, task["data"]["prompt"], random_state)
            clocks[annotator] += timedelta(seconds=seconds)
            annotation = _annotation(annotator, task["data"]["prompt"], random_state)
            stamp = clocks[annotator].isoformat().replace("+00:00", "Z")
            annotations.append(
                annotation
                | {"id": 2 * number + annotator.number, "lead_time": seconds, "created_at": stamp, "updated_at": stamp}
            )
        exported.append({"id": number, "data": task["data"], "annotations": annotations, "predictions": []})
    export.write_text(json.dumps(exported, ensure_ascii=False, indent=1), encoding="utf-8")
    return export


def _seconds(annotator: Annotator, prompt: str, random_state: random.Random) -> float:
    """Log-normal around the annotator's pace; every fiftieth task there is a break."""
    moves = len(_exercise(prompt).moves)
    pause = 1200.0 if random_state.random() < 0.02 else 0.0
    return round(pause + (5 + annotator.seconds_per_move * moves) * random_state.lognormvariate(0, 0.3), 2)


def _annotation(annotator: Annotator, prompt: str, random_state: random.Random) -> dict[str, Any]:
    answer, luck = _exercise(prompt).answer, random_state.random()
    if luck < annotator.skips:
        return {"completed_by": {"id": annotator.number, "email": annotator.email}, "was_cancelled": True, "result": []}
    verdict = "ok"
    if luck < annotator.skips + annotator.ambiguous:
        verdict, answer = "ambiguous", ""
    elif luck < annotator.skips + annotator.ambiguous + annotator.wrong:
        answer = " ".join(random_state.sample(LETTERS, len(answer.split())))
    elif luck > 0.9:
        answer = answer.upper()
    result = [_control("verdict", "choices", {"choices": [verdict]})]
    if answer:
        result.append(_control("answer", "textarea", {"text": [answer]}))
    return {
        "completed_by": {"id": annotator.number, "email": annotator.email},
        "was_cancelled": False,
        "result": result,
    }


def _control(name: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"from_name": name, "to_name": "question", "type": kind, "origin": "manual", "value": value}


def _exercise(prompt: str) -> Exercise:
    """Read a prompt of the task back."""
    state, moves = prompt.split("\n")
    return Exercise(state.removeprefix("State: ").replace(" ", ""), tuple(moves.removeprefix("Moves: ").split(", ")))
