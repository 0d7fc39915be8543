import csv
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from budgetplan.demo.files import demo_model_path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run(script: str, folder: Path, *arguments: str | Path) -> None:
    """Run an example as a user would, with the demo's model, which reads other people's words as unknown ones."""
    command = [sys.executable, EXAMPLES / script, "--model", demo_model_path(), "--k", "2", "--max-tokens", "8"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_gsm8k_ends_in_a_shortlist_of_a_tenth(tmp_path):
    rows = [{"question": f"What is {n} + 1?", "answer": f"{n} + 1 = {n + 1}\n#### {n + 1}"} for n in range(30)]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run("gsm8k.py", tmp_path, "--pool", "train.jsonl", "--limit", "20")
    chosen = [json.loads(line) for line in (tmp_path / "gsm8k.shortlist.jsonl").read_text().splitlines()]
    assert [row["rank"] for row in chosen] == [1, 2]
    assert {row["prompt"] for row in chosen} <= {row["question"] for row in rows[:20]}
    assert all(row["source"] == "verified" and row["k"] == 2 for row in chosen)


def test_shuffled_objects_shortlists_from_the_training_half_only(tmp_path):
    questions = [f"Question {n}.\nOptions:\n(A) one\n(B) two" for n in range(40)]
    public = {"canary": "none", "examples": [{"input": text, "target": "(A)"} for text in questions]}
    (tmp_path / "objects.json").write_text(json.dumps(public))
    run("shuffled_objects.py", tmp_path, "--pool", "objects.json")
    with (tmp_path / "shuffled_objects.shortlist.csv").open(newline="") as file:
        chosen = [row["prompt"] for row in csv.DictReader(file)]
    assert len(chosen) == 2
    assert set(chosen) <= set(questions[::2])


def test_custom_verifier_judges_with_the_users_function(tmp_path):
    run("custom_verifier.py", tmp_path)
    manifest = (tmp_path / "custom_verifier.shortlist.manifest.json").read_text()
    assert "my_verifier.py:within_one_percent" in manifest


@pytest.mark.parametrize(
    ("completion", "known", "reward"),
    [
        ("roughly 44.8", "44.72", 1.0),
        ("first 44.72, no: 45.5", "44.72", 0.0),
        ("It is 300,000 km/s.", "299792", 1.0),
        ([{"role": "user", "content": "7"}, {"role": "assistant", "content": "1e3"}], "1000", 1.0),
        ("I do not know", "5", 0.0),
        ("5", None, None),
    ],
)
def test_within_one_percent(completion, known, reward):
    spec = importlib.util.spec_from_file_location("my_verifier", EXAMPLES / "my_verifier.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.within_one_percent(completions=[completion], answer=[known], id=["x"]) == [reward]
