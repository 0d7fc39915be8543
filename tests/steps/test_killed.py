"""A probe killed again and again, as a whole process with a real model, ends as if nothing had happened."""

import json
import random
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from budgetplan.store.chunks import chunk_files
from budgetplan.store.connection import Store

KILLS = 20
ITEMS, FIRST_K, MORE_K = 3_000, 4, 4
MOST_SECONDS_LOST = 10.0
MOST_DIFFERING = 0.01

Sample = tuple[str, int]


def command(model: Path, db: str, k: int) -> list[str]:
    options = ["--model", str(model), "--k", str(k), "--max-tokens", "48", "--template", "none", "--yes", "--seed", "3"]
    script = str(Path(sys.executable).with_name("budgetplan"))
    return [script, "probe", "pool.jsonl", *options, "--engine", "transformers", "--db", db, "--log-file", f"{db}.log"]


def stored(path: Path) -> dict[Sample, str]:
    """Every stored sample by item and index; two rows of one sample would show as a count."""
    if not path.exists():
        return {}
    with Store(path).reading() as connection:
        rows = connection.execute("SELECT item_id, sample_index, text FROM completion").fetchall()
    assert len({(item, index) for item, index, _ in rows}) == len(rows), "a sample is stored twice"
    return {(item, index): text for item, index, text in rows}


def on_disk(db: Path) -> dict[Sample, str]:
    """What a kill must not lose: samples in the store and in complete chunks."""
    samples = stored(db)
    for folder in db.with_name(db.name + ".samples").glob("run-*"):
        for file in chunk_files(folder):
            for row in pq.read_table(file).to_pylist():
                samples[row["item_id"], row["sample_index"]] = row["text"]
    return samples


def sampling_since(log: Path, started: float) -> float | None:
    """When this process began to sample, from its log; None if it did not come that far."""
    begun = [line for line in log.read_text().splitlines() if "budgetplan: sampling: " in line] if log.exists() else []
    if not begun:
        return None
    at = datetime.strptime(begun[-1][:23], "%Y-%m-%d %H:%M:%S,%f").timestamp()
    return at if at >= started else None


def killed_once(folder: Path, model: Path, k: int, draw: random.Random) -> tuple[float, bool]:
    """Kill one probe at a random moment; returns the seconds of sampling since the last chunk, and whether it lived."""
    db = folder / "killed.duckdb"
    samples = db.with_name(db.name + ".samples")
    started = time.time()
    with subprocess.Popen(
        command(model, db.name, k), cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        if draw.random() < 0.7:  # most of the time wait until it samples, so that the kills do not all hit its start
            while process.poll() is None and sampling_since(folder / f"{db.name}.log", started) is None:
                time.sleep(0.05)
        time.sleep(draw.uniform(0.0, 5.0))
        was_alive = process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    killed_at = time.time()
    begun = sampling_since(folder / f"{db.name}.log", started)
    if not was_alive or begun is None:
        return 0.0, was_alive
    chunks = [file.stat().st_mtime for run in samples.glob("run-*") for file in chunk_files(run)]
    return killed_at - max([begun, *chunks]), was_alive


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_twenty_kills_lose_nothing_and_change_nothing(tmp_path: Path, tiny_model: Any) -> None:
    model = tiny_model("qwen3")
    rows = [{"id": n, "question": f"What is {n} plus {n * n}?", "answer": str(n + n * n)} for n in range(ITEMS)]
    (tmp_path / "pool.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    draw = random.Random(20)
    lost_seconds = []
    before: dict[Sample, str] = {}
    k = FIRST_K
    while len(lost_seconds) < KILLS:
        seconds, was_alive = killed_once(tmp_path, model, k, draw)
        if was_alive:
            lost_seconds.append(seconds)
        else:  # it ended by itself: give it more to do
            k += MORE_K
        after = on_disk(tmp_path / "killed.duckdb")
        assert before.items() <= after.items(), "a kill lost samples that a finished chunk held"
        before = after
    assert max(lost_seconds) <= MOST_SECONDS_LOST
    subprocess.run(command(model, "killed.duckdb", k), cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(command(model, "whole.duckdb", k), cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    resumed, whole = stored(tmp_path / "killed.duckdb"), stored(tmp_path / "whole.duckdb")
    assert len(resumed) == ITEMS * k
    assert resumed.keys() == whole.keys()
    differing = sum(resumed[key] != whole[key] for key in whole)
    print(f"{KILLS} kills: at most {max(lost_seconds):.1f} s lost; {differing} of {len(whole)} samples differ")
    assert differing <= MOST_DIFFERING * len(whole)
    assert not (tmp_path / "killed.duckdb.samples").exists()
