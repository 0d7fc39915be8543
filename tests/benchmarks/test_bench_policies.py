"""What is claimed of the policies on real samples; these figures do not depend on the machine."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_policies import error, picked

BENCHMARK = Path(__file__).with_name("bench_policies.py")


@pytest.fixture(scope="module")
def figures(shared_data: Path) -> Any:
    command = [sys.executable, str(BENCHMARK), "--data", str(shared_data), "--repeats", "20"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.slow
def test_learnable_is_first_or_within_noise_of_the_first_on_every_file(figures: Any) -> None:
    by_k = [at_k for file in figures["rollouts"].values() for at_k in file["k"].values()]
    assert len(by_k) == 9
    for at_k in by_k:
        assert at_k["learnable_holds"], at_k
        assert at_k["mixed"]["learnable"] > at_k["mixed"]["random"] + 0.1


@pytest.mark.slow
def test_over_a_real_training_horizon_is_worth_more_than_the_start(figures: Any) -> None:
    for later in (figures["history"]["epochs_of_all_items"], figures["history"]["all_epochs"]):
        eight, four = later["k"]["8"], later["k"]["4"]
        assert eight["mixed"]["horizon"] >= 0.86
        assert eight["mixed"]["horizon"] > max(eight["mixed"][name] for name in ("learnable", "middle", "random"))
        assert four["mixed"]["horizon"] >= 0.78
        assert later["ceiling"] > eight["mixed"]["horizon"]
    assert figures["history"]["epochs_of_all_items"]["k"]["4"]["reached"]


def test_equals_at_the_cut_share_what_is_left() -> None:
    assert picked(np.array([0.1, 0.9, 0.5, 0.5]), 2).tolist() == [0.0, 1.0, 0.5, 0.5]


def test_the_error_of_a_share_is_the_binomial_one() -> None:
    mixed = np.random.default_rng(0).random((1, 4_000)) < 0.3
    apart = np.full((1, 4_000), 1 / 4_000) * (mixed - mixed.mean())
    assert error(apart) == pytest.approx(np.sqrt(0.3 * 0.7 / 4_000), rel=0.05)
