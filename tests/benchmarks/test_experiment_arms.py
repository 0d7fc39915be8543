"""The experiment on the embedded example runs, tiny; what it shows is for its full size to say."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from experiment_arms import rows_of

EXPERIMENT = Path(__file__).with_name("experiment_arms.py")
TINY = "--items 60 --test-items 12 --seeds 1 --steps 2".split()
N_MOVES_BEYOND = 6


def ended(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, str(EXPERIMENT), *words], capture_output=True, text=True, check=False)


def n_beyond_reach(rows: list[dict[str, Any]]) -> int:
    return sum(row["n_moves"] == N_MOVES_BEYOND for row in rows)


def strict(constant: str) -> Any:
    raise AssertionError(f"{constant} is no JSON")


@pytest.mark.slow
def test_base_gains_and_learnable_of_every_arm_come_out(tmp_path: Path) -> None:
    run = ended("--pool", "beyond", "--arms", "hard,random", *TINY, "--folder", str(tmp_path))
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout, parse_constant=strict)
    assert 0 <= document["base"] <= 100
    assert list(document["arms"]) == ["hard", "random"]
    for arm in document["arms"].values():
        points, low, high = arm["gain"]
        assert low <= points <= high
        assert -100 <= points <= 100
        shares = [arm[f"learnable {which}"] for which in ("predicted at the start", "observed")]
        assert all(math.isfinite(share) and 0 <= share <= 100 for share in shares)
        assert 0 <= arm["learnable predicted over the horizon"] <= 100
    rows = [json.loads(line) for line in (tmp_path / "pool.jsonl").read_text().splitlines()]
    assert (len(rows), n_beyond_reach(rows)) == (60, 15)


@pytest.mark.parametrize(("pool", "n_beyond"), [("reach", 0), ("beyond", 250)])
def test_a_quarter_of_one_pool_is_beyond_reach(pool: str, n_beyond: int) -> None:
    rows = rows_of(pool, 1000, "train", 0)
    assert len({row["prompt"] for row in rows}) == 1000
    assert n_beyond_reach(rows) == n_beyond
    assert max(row["n_moves"] for row in rows[: 1000 - n_beyond]) == 3


@pytest.mark.parametrize(("arms", "told"), [("hardest,random", "'hardest' is none of"), ("hard,easy", "random has to")])
def test_arms_that_cannot_be_compared_are_refused_at_once(arms: str, told: str) -> None:
    run = ended("--arms", arms)
    assert run.returncode == 2
    assert told in run.stderr
