"""Every benchmark runs, tiny, and prints one JSON document; its figures are for a quiet machine, not looked at here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
QUICK = {
    "bench_adaptive.py": ["--repeats", "2", "--items", "80"],
    "bench_help.py": ["--pairs", "1"],
    "bench_knapsack.py": ["--items", "2000", "--milp-seconds", "5"],
    "bench_rank.py": ["--items", "300", "--pairs", "1"],
    "bench_import.py": ["--items", "200", "--rounds", "1"],
    "bench_ingest.py": ["--items", "200", "--pairs", "1"],
    "bench_prompts.py": ["--items", "6000", "--compared", "300", "--pairs", "1"],
    "bench_signals.py": ["--items", "300", "--pairs", "1"],
    "bench_verify.py": ["--n", "200"],
    "bench_transformers.py": ["--pairs", "1", "--prompts", "8"],
    "bench_probe.py": ["--pairs", "1", "--prompts", "8", "--k", "2"],
    "bench_vllm_engine.py": ["--pairs", "1", "--prompts", "8"],
}


def test_every_benchmark_is_run_here() -> None:
    elsewhere = {"bench_difficulty.py", "bench_policies.py"}  # need real samples; no figure depends on the machine
    assert {path.name for path in FOLDER.glob("bench_*.py")} == set(QUICK) | elsewhere


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_a_benchmark_prints_one_json_document(name: str) -> None:
    command = [sys.executable, str(FOLDER / name), *QUICK[name]]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert isinstance(json.loads(ended.stdout), dict)
