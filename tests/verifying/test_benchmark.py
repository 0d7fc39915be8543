import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "benchmarks" / "bench_verify.py"


@pytest.mark.slow
def test_the_benchmark_runs_and_both_sides_agree():
    ran = subprocess.run(
        [sys.executable, SCRIPT, "--n", "160"], capture_output=True, text=True, check=True, timeout=120
    )
    report = json.loads(ran.stdout)
    assert report["latex_share"] >= 0.3
    assert {name: result["same_verdicts"] for name, result in report["classes"].items()} == {
        **dict.fromkeys(
            ["integers", "decimals and money", "numbers with units", "fractions", "roots", "sets", "intervals"], 1.0
        )
    }
    assert 0 < report["mix"]["correct"] < 1
