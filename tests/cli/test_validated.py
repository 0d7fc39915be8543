"""What validate and its dry run show, of reports built by hand."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from budgetplan.cli.validated import show_validation, validation_document
from budgetplan.steps.validated import (
    ArmResult,
    BaseResult,
    Comparison,
    CurvePoint,
    FitPoint,
    LearnableFit,
    ValidationReport,
)
from budgetplan.validation.arms import NoArm
from budgetplan.validation.effects import Effect
from budgetplan.validation.learnable import Learnable, Predicted
from budgetplan.validation.verdict import Verdict

NAN = math.nan
SENTENCE = "hard beat random by 4.1 points (90 % interval 1.2 to 7.0)"


def effect(at: float, half: float = 2.0, p_better: float = 0.97) -> Effect:
    return Effect(at, at - half, at + half, p_better, 1.1, 4.0, 0.8)


def arm(name: str, at: float, **changes: Any) -> ArmResult:
    given = ArmResult(
        arm=name,
        n_items=100,
        n_seeds=3,
        percent=49.8 + at,
        gain=effect(at),
        gain_by_seed=(at - 0.5, at, at + 0.5),
        predicted_start=Predicted(31.2, 28.04, 34.5),
        predicted_horizon=Predicted(40.0, 36.0, 44.0),
        learnable=Learnable(groups=30.0 + at, updates=99.5, n_groups=38_400),
        curve=(CurvePoint(100, 50.0, 48.0, 52.0),),
        truncated_share=0.034,
        mean_tokens=812.4,
        pass_at_k=40.0,
        stopped={},
        training_hours=1.25,
    )
    return replace(given, **changes)


def verdict(**changes: Any) -> Verdict:
    given = Verdict("better", "hard", "random", SENTENCE, effect(4.1), ("answers became 40 % longer",), "")
    return replace(given, **changes)


def report(**changes: Any) -> ValidationReport:
    given = ValidationReport(
        validation_id="val-12ab",
        model="phi-4",
        recipe="paper",
        steps=1000,
        seeds=(0, 1, 2),
        n_test=300,
        n_samples=4,
        greedy=False,
        k_of_pass=8,
        base=BaseResult(49.8, 0.05, 700.0, 33.3),
        arms=(arm("easy", 2.0), arm("hard", 10.25), arm("random", 6.1, stopped={2: "all rewards were equal"})),
        impossible=(NoArm("base-right", "only 12 of 40 have an answer; buy them: budgetplan shortlist"),),
        comparisons=(Comparison("hard", "random", effect(4.1)), Comparison("easy", "random", effect(-4.1, 2, 0.001))),
        fit=LearnableFit(0.67, 24, (FitPoint("phi-4", "hard", 40.2, 10.25),)),
        verdict=verdict(),
        said=("100 items each: the shortlist has no more",),
        pictures=(Path("pictures/curves.png"), Path("pictures/scatter.svg")),
    )
    return replace(given, **changes)


def shown(capsys: pytest.CaptureFixture[str], **changes: Any) -> list[str]:
    show_validation(report(**changes), as_json=False)
    return capsys.readouterr().out.splitlines()


def row(lines: list[str], start: str, *, nth: int = 0) -> str:
    """A table's row with single spaces: the nth line that starts with this name."""
    return [" ".join(line.split()) for line in lines if line.split()[:1] == [start]][nth]


def test_the_verdict_is_the_first_and_the_last_thing_before_the_next_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = shown(capsys)
    assert lines[0] == lines[-2] == f"Verdict: {SENTENCE}."
    assert lines[-1] == "Next: budgetplan export --for trl"


def test_the_gains_are_the_papers_table_1(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys)
    assert row(lines, "hard") == "hard 100 60.0% +10.2 1st +8.2 to +12.2 +9.8 +10.2 +10.8 0.8"
    assert row(lines, "random") == "random 100 55.9% +6.1 2nd +4.1 to +8.1 +5.6 +6.1 +6.6 0.8"
    assert row(lines, "easy") == "easy 100 51.8% +2.0 +0.0 to +4.0 +1.5 +2.0 +2.5 0.8"


def test_what_prints_alike_shares_its_place_and_a_single_arm_has_none(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, arms=(arm("hard", 6.11), arm("random", 6.09), arm("easy", 2.0)))
    assert "+6.1 1st" in row(lines, "hard")
    assert "+6.1 1st" in row(lines, "random")
    assert "+2.0 2nd" in row(lines, "easy")
    alone = "\n".join(shown(capsys, arms=(arm("hard", 6.1),)))
    assert " 1st " not in alone.split("noise of sampling)")[1]


def test_on_a_terminal_the_best_is_bold_and_the_second_underlined(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = "\n".join(shown(capsys))
    assert "\x1b[1m+10.2" in text
    assert "\x1b[4m+6.1\x1b[0m" in text
    assert "\x1b[1m40.2" in text  # of learnable %, as in Table 2


def test_learnable_is_the_papers_table_2_with_what_was_predicted(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys)
    assert row(lines, "hard", nth=2) == "hard 31.2 (28.0 to 34.5) 40.0 (36.0 to 44.0) 40.2 1st 99.5 38,400"
    assert "R² of learnable % against gain, 24 trainings in this store: 0.67." in lines


def test_differences_to_the_control_carry_their_probability(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys)
    assert row(lines, "hard", nth=1) == "hard random +4.1 +2.1 to +6.1 97%"
    assert row(lines, "easy", nth=1) == "easy random -4.1 -6.1 to -2.1 < 1%"
    assert not [line for line in shown(capsys, comparisons=()) if "control" in line]


def test_the_other_test_is_shown_where_one_was_given(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys)
    assert row(lines, "base") == "base 5.0% 700 33.3% –"
    assert row(lines, "hard", nth=3) == "hard 3.4% 812 40.0% 1.25"
    without = shown(
        capsys, base=replace(report().base, pass_at_k=None), arms=(arm("hard", 1.0, pass_at_k=None), arm("easy", 2.0))
    )
    assert row(without, "base") == "base 5.0% 700 – –"
    nowhere = shown(capsys, base=replace(report().base, pass_at_k=None), arms=(arm("hard", 1.0, pass_at_k=None),))
    assert "pass@8" not in "\n".join(nowhere)


def test_all_that_was_decided_left_out_or_stopped_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    show_validation(report(), as_json=False)
    captured = capsys.readouterr()
    for text in (
        "Validation val-12ab: phi-4, recipe paper, 1,000 steps, seeds 0, 1, 2.",
        "Test: 300 held-out prompts, 4 samples each; of the base model's 49.8% are correct.",
        "100 items each: the shortlist has no more.",
        "No arm base-right: only 12 of 40 have an answer; buy them: budgetplan shortlist",
        "Stopped early: random, seed 2: all rewards were equal.",
        "Picture: pictures/curves.png",
        "Picture: pictures/scatter.svg",
    ):
        assert text in captured.out.splitlines()
    assert captured.err == "warning: answers became 40 % longer\n"


def test_a_refused_verdict_says_what_would_suffice(capsys: pytest.CaptureFixture[str]) -> None:
    refused = verdict(
        claim="refused",
        sentence="no verdict on hard against random: too few test items (12)",
        would_suffice="300 items and 3 seeds",
    )
    lines = shown(capsys, verdict=refused)
    assert lines[:2] == lines[-3:-1]
    assert lines[0] == "No verdict on hard against random: too few test items (12)."
    assert lines[1] == "What would suffice: 300 items and 3 seeds."


def test_a_policy_that_lost_gives_way_to_the_best_one(capsys: pytest.CaptureFixture[str]) -> None:
    lost = verdict(claim="worse", arm="easy")
    assert shown(capsys, verdict=lost)[-1] == "Next: budgetplan shortlist --policy hard"
    best_is_no_policy = (arm("easy", 2.0), arm("all", 9.0), arm("random", 6.0))
    assert shown(capsys, verdict=lost, arms=best_is_no_policy)[-1] == "Next: budgetplan shortlist --policy random"
    assert shown(capsys, verdict=lost, arms=(arm("easy", 2.0),))[-1] == "Next: budgetplan export --for trl"


def test_missing_values_are_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    nothing = Effect(NAN, NAN, NAN, NAN, NAN, NAN, NAN)
    missing = arm(
        "hard",
        1.0,
        percent=NAN,
        gain=nothing,
        gain_by_seed=(),
        predicted_start=None,
        predicted_horizon=Predicted(NAN, NAN, NAN),
        learnable=None,
        truncated_share=NAN,
        mean_tokens=NAN,
        training_hours=NAN,
    )
    lines = shown(
        capsys,
        arms=(missing, arm("random", 1.0)),
        comparisons=(Comparison("hard", "random", nothing),),
        fit=LearnableFit(NAN, 2, ()),
        verdict=None,
        greedy=True,
    )
    assert "nan" not in "\n".join(lines).lower()
    assert row(lines, "hard") == "hard 100 – – – – –"
    assert row(lines, "hard", nth=1) == "hard random – – –"
    assert row(lines, "hard", nth=2) == "hard – – – – –"
    assert "R² of learnable % against gain, 2 trainings in this store: –." in lines
    assert lines[0] == lines[-2] == "No verdict: no two arms could be compared."
    assert "300 held-out prompts, one greedy answer each;" in "\n".join(lines)


def test_a_validation_without_an_arm_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, arms=(), comparisons=(), fit=None, verdict=None, pictures=())
    assert not [line for line in lines if "learnable" in line.lower()]


@pytest.mark.parametrize("columns", ["30", "80", "200"])
def test_no_width_loses_anything(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    wide = arm("base-wrong", -12.3, gain_by_seed=(-10.5, -11.5, -12.5, -13.5, -14.5), n_items=10_000)
    many = arm("base-right", 2.0, gain_by_seed=tuple(float(n) for n in range(9)))
    monkeypatch.setenv("COLUMNS", columns)
    lines = shown(capsys, arms=(wide, many))
    assert "…" not in "\n".join(lines)
    assert max(map(len, lines)) <= 100
    assert row(lines, "base-wrong").endswith("-14.3 to -10.3 -10.5 -11.5 -12.5 -13.5 -14.5 0.8")
    assert row(lines, "base-right").endswith("+0.0 to +8.0 0.8")


def test_the_document_has_every_part_and_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    show_validation(report(base=BaseResult(NAN, 0.0, 1.0, None)), as_json=True)

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    document = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert document == validation_document(report()) | {
        "base": {"percent": None, "truncated_share": 0.0, "mean_tokens": 1.0, "pass_at_k": None}
    }
    assert document["verdict"]["sentence"] == SENTENCE
    assert document["arms"][1]["gain"]["points"] == 10.25
    assert document["arms"][2]["stopped"] == {"2": "all rewards were equal"}
    assert document["impossible"] == [
        {"name": "base-right", "reason": "only 12 of 40 have an answer; buy them: budgetplan shortlist"}
    ]
    assert document["pictures"] == ["pictures/curves.png", "pictures/scatter.svg"]
    assert document["next"] == "budgetplan export --for trl"
