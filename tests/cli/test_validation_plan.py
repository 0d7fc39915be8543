"""What the dry run of validate shows, and how numbers are written in its cells."""

import json
import math
from dataclasses import replace

import pytest

from budgetplan.cli.cells import by_seed, duration, points, probability
from budgetplan.cli.validated import show_plan
from budgetplan.steps.validated import Left, PlannedArm, ValidationPlan
from budgetplan.validation.arms import NoArm
from budgetplan.validation.learnable import Predicted

PLAN = ValidationPlan(
    model="phi-4",
    recipe="paper",
    device="1 GPU",
    arms=(
        PlannedArm("hard", 100, Predicted(31.2, 28.0, 34.5), Predicted(40.0, 36.0, 44.0)),
        PlannedArm("all", 1_900, None, None),
    ),
    impossible=(NoArm("audit", "no slice was drawn"),),
    seeds=(0, 1, 2),
    steps=1000,
    n_test=300,
    left=Left(6, 0, 6_000, 61, 0, 73_200),
    seconds_per_update=3.42,
    seconds_per_evaluation=40.0,
    training_hours=5.7,
    evaluation_hours=0.75,
    money="16.13 usd",
    smallest_detectable=5.24,
    said=("all trains on 1,900 items, the others on 100",),
)


def test_the_plan_says_what_it_takes_and_what_it_can_show(capsys: pytest.CaptureFixture[str]) -> None:
    show_plan(PLAN, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    rows = [" ".join(line.split()) for line in lines]
    assert lines[0] == "Plan: phi-4, recipe paper, on 1 GPU: 2 arms × 3 seeds = 6 trainings."
    assert "hard 100 31.2 (28.0 to 34.5) 40.0 (36.0 to 44.0)" in rows
    assert "all 1,900 – –" in rows
    for text in (
        "all trains on 1,900 items, the others on 100.",
        "No arm audit: no slice was drawn",
        "Training:   0 finished, 6 left, 6,000 updates at 3.4 s: about 5.7 h.",
        "Evaluation: 0 finished, 61 left, 300 held-out prompts, 40 s each time: about 45 min.",
        "Together:   about 6.5 h, 16.13 usd.",
        "Smallest difference between two arms that this test would probably show, if seeds differ by 2: 5.2 points.",
        "Dry run: nothing was trained.",
    ):
        assert text in lines
    assert lines[-1] == "Next: the same command without --dry-run"


def test_what_is_finished_is_said_and_costs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    done = {"training_hours": 0.0, "evaluation_hours": 0.0, "seconds_per_update": math.nan, "money": "0.00 usd"}
    nothing = replace(PLAN, **done, seconds_per_evaluation=math.nan, left=Left(0, 6, 0, 0, 61, 0))
    show_plan(nothing, as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-6:-3] == [
        "Training:   6 finished, 0 left.",
        "Evaluation: 61 finished, 0 left.",
        "Together:   nothing is left.",
    ]
    show_plan(nothing, as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert (document["seconds_per_update"], document["training_hours"]) == (None, 0.0)
    assert document["left"]["n_trainings_done"] == 6


def test_the_plan_is_a_document_too(capsys: pytest.CaptureFixture[str]) -> None:
    show_plan(replace(PLAN, smallest_detectable=math.inf, money=None), as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert document["training_hours"] == 5.7
    assert document["smallest_detectable"] is None
    assert document["next"] == "the same command without --dry-run"


def test_numbers_are_written_as_they_are_meant() -> None:
    assert [points(-0.04), points(0.06)] == ["+0.0", "+0.1"]
    assert [probability(p) for p in (1.0, 0.995, 0.5, 0.0)] == ["> 99%", "> 99%", "50%", "< 1%"]
    assert [duration(seconds / 3600) for seconds in (0.42, 40, 600, 7200)] == ["0.4 s", "40 s", "10 min", "2.0 h"]
    assert by_seed((1.0, math.nan)) == "+1.0 –"
