"""The command as it is typed, on scripted trainings: what its words mean, what it prints, how it ends."""

import json
from pathlib import Path
from typing import Any

import pytest
from scripted_training import Academy, academy, answering

from budgetplan.validation.spec import TrainSpec

__all__ = ["academy"]

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()


@pytest.fixture
def probed(run: Any, scripted: Any, tmp_path: Path) -> Any:
    """Two hundred prompts with answers, of which the model knows half."""
    rows = [{"prompt": f"Say {WORDS[i % 10]} {WORDS[i // 10 % 10]} {i}", "answer": str(i)} for i in range(200)]
    (tmp_path / "pool.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    scripted(answering(0.5, "rev-tiny"))
    words = "probe pool.jsonl --model tiny --engine transformers --template none --k 4 --verifier exact --yes"
    ended = run(*words.split())
    assert ended.exit_code == 0, ended.output
    return run


def specs_of(academy: Academy) -> list[TrainSpec]:
    seen: list[TrainSpec] = []
    academy.before = seen.append
    return seen


def test_every_word_reaches_the_training(probed: Any, academy: Academy) -> None:
    seen = specs_of(academy)
    words = (
        "validate --arms hard,random --seeds 2 --steps 4 --evaluate-every 2 --prompts-per-update 2 --group-size 2 "
        "--learning-rate 1e-4 --beta 0.2 --recipe dr-grpo --full --budget 20 --samples 3 --out there --json"
    )
    ended = probed(*words.split())
    assert ended.exit_code == 0, ended.output
    document = json.loads(ended.stdout)
    assert [arm["arm"] for arm in document["arms"]] == ["hard", "random"]
    assert {(spec.lora, spec.recipe.name, spec.recipe.group_size) for spec in seen} == {(False, "dr-grpo", 2)}
    assert {(spec.recipe.learning_rate, spec.recipe.beta, spec.recipe.steps) for spec in seen} == {(1e-4, 0.2, 4)}
    assert {spec.temperature for spec in seen} == {1.0}
    assert (document["n_samples"], document["arms"][0]["n_items"]) == (3, 20)
    assert Path("there/curves.png").exists()


def test_the_screen_begins_and_ends_with_the_verdict(probed: Any, academy: Academy) -> None:
    words = "validate --arms hard,random --seeds 2 --steps 2 --evaluate-every 2 --prompts-per-update 2"
    lines = probed(*words.split()).stdout.splitlines()
    assert lines[0].startswith("Verdict: hard beat random by ")
    assert sum(line.startswith("Verdict: hard beat") for line in lines) == 2
    assert lines[-1].startswith("Next: budgetplan ")


def test_a_dry_run_says_hours_and_trains_nothing(probed: Any, academy: Academy) -> None:
    words = "validate --yes --arms hard,random --steps 4 --evaluate-every 2 --dry-run --gpu-price 2usd"
    ended = probed(*words.split())
    assert ended.exit_code == 0, ended.output
    assert "usd" in ended.stdout
    assert not Path("budgetplan.duckdb.validation").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--arms hardest", "there is no arm 'hardest'"),
        ("--budget 5h", "arms are equal in items"),
        ("--budget 0", "Write --budget 10% or --budget 100"),
        ("--holdout 0", "Write --holdout 20% or --holdout 100"),
        ("--holdout 100%", "leaves nothing to train on"),
        ("--model phi-4", "no samples of phi-4"),
        ("--control audit", "--control audit is no arm of this validation: it is not among --arms"),
        ("--control hard", "is the first arm"),
        ("--seeds 0", "--seeds 0: at least 1 is needed"),
        ("--steps 0", "--steps 0 is too few"),
        ("--learning-rate -1", "--learning-rate -1 trains nothing"),
        ("--accelerate-config nowhere.yaml", "there is no such file"),
        ("--full --four-bit", "weights of 4 bits cannot be trained"),
        ("--test pool.jsonl", "--test: 39 of its 200 prompts are trained on"),
        ("--seeds 1", "no verdict would be possible (one seed says nothing of luck)"),
        ("--out pool.jsonl", "--out pool.jsonl is a file"),
    ],
)
def test_wrong_words_are_named_and_nothing_is_trained(probed: Any, academy: Academy, words: str, told: str) -> None:
    arms = [] if "--arms" in words else ["--arms", "hard,random"]
    ended = probed("validate", *arms, *words.split())
    assert ended.exit_code == 1
    assert told in " ".join(ended.stderr.split())
    assert not academy.trained
