import json
import random
from pathlib import Path
from typing import Any

import pytest
from scripted import number_in, reply

from budgetplan.records import Completion, SampleRequest

OPTIONS = ("--model", "tiny", "--template", "none", "--verifier", "exact", "--k", "4")


def by_chance(request: SampleRequest, index: int) -> Completion:
    number = number_in(request.messages)
    right = random.Random(f"{number} {index}").random() < number / 24
    return reply(request, index, f"#### {2 * number if right else 999}")


@pytest.fixture
def pool(tmp_path: Path) -> str:
    rows = [{"question": f"{n}+{n}=?", "answer": str(2 * n)} for n in range(24)]
    (tmp_path / "pool.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "pool.jsonl"


def test_the_screen_says_what_was_taken_saved_and_lost(run: Any, pool: str, scripted: Any) -> None:
    scripted(by_chance)
    ended = run("probe", pool, *OPTIONS, "--budget", "25%", "--policy", "learnable")
    assert ended.exit_code == 0, ended.output
    assert "Adaptive, for --budget 25% (learnable, 6 items): " in ended.stdout
    assert " samples instead of 96 (" in ended.stdout
    assert "in the share of mixed groups of the picks." in ended.stdout


def test_json_has_the_same(run: Any, pool: str, scripted: Any) -> None:
    scripted(by_chance)
    placed = json.loads(run("probe", pool, *OPTIONS, "--budget", "25%", "--json").stdout)["placed"]
    assert placed["aim"] == {"budget": "25%", "policy": "hard"}
    assert 24 <= placed["n_samples"] <= placed["n_uniform"] / 2 == 48
    assert placed["expected_loss"] >= 0


def test_without_answers_the_screen_says_why_all_got_k(run: Any, tmp_path: Path, scripted: Any) -> None:
    scripted(by_chance)
    (tmp_path / "bare.jsonl").write_text("".join(json.dumps({"question": f"{n}+{n}=?"}) + "\n" for n in range(12)))
    ended = run("probe", "bare.jsonl", *OPTIONS, "--budget", "25%")
    assert "every item got K" in ended.stdout


def test_uniform_and_a_budget_contradict_each_other(run: Any, pool: str) -> None:
    ended = run("probe", pool, *OPTIONS, "--budget", "25%", "--uniform")
    assert ended.exit_code == 1
    assert "--uniform takes K of every item, whatever --budget says." in ended.stderr
