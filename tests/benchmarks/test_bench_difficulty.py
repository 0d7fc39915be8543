"""What is claimed of rankings without answers, on real samples; these figures do not depend on the machine."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARK = Path(__file__).with_name("bench_difficulty.py")


@pytest.fixture(scope="module")
def mean(shared_data: Path) -> Any:
    """The means over six files, of fewer repetitions than the claims were measured with."""
    command = [sys.executable, str(BENCHMARK), "--data", str(shared_data / "rollouts"), "--repeats", "4"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)["mean"]


@pytest.mark.slow
def test_without_labels_the_ranking_beats_agreement_and_knows_no_answer(mean: Any) -> None:
    cold, baselines = mean["labels"]["0"], mean["baselines"]
    assert 0.65 <= cold["quality"] <= 0.75  # above, an answer has leaked
    assert cold["auroc"] >= 0.77
    assert cold["quality"] > baselines["agreement"]["quality"] + 0.02
    assert baselines["ceiling"]["quality"] > cold["quality"] > baselines["random"]["quality"] + 0.5
    assert mean["leave_one_out"]["quality"] <= cold["quality"] + 0.02  # learned weights do no better than the rule


@pytest.mark.slow
def test_labels_calibrate_and_never_spoil_the_ranking(mean: Any) -> None:
    cold, fifty = mean["labels"]["0"], mean["labels"]["50"]
    assert fifty["auroc"] >= 0.80
    assert fifty["ece"] <= 0.075
    assert 0.87 <= fifty["coverage"] <= 0.94
    assert fifty["quality"] >= cold["quality"]
    for labels in ("10", "25", "50", "100"):
        now = mean["labels"][labels]
        assert now["quality_unlabelled"] >= now["quality_unlabelled_without_labels"] - 0.02
        assert now["auroc_unlabelled"] >= now["auroc_unlabelled_without_labels"] - 0.01


@pytest.mark.slow
def test_spending_in_rounds_is_no_worse_than_all_at_once(mean: Any) -> None:
    for rounds in mean["rounds"].values():
        assert rounds["in_rounds"] >= rounds["at_once"] - 0.02
