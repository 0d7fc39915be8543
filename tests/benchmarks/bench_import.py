"""Import of completions sampled elsewhere, beside DuckDB's own `read_json` of the same file into a table.

    python tests/benchmarks/bench_import.py --items 100000

Prints one JSON document: seconds and peak memory of each, measured in processes of their own, taken in turns.
"""

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SAMPLES_PER_ITEM = 8
WORDS = (
    "so",
    "the",
    "total",
    "is",
    "twice",
    "what",
    "remains",
    "after",
    "each",
    "step",
    "we",
    "subtract",
    "$x^2$",
    "é",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--as-objects", action="store_true", help="completions as objects, not as plain texts")
    parser.add_argument("--measure", choices=("budgetplan", "read_json"), help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measured = import_file(arguments.file) if arguments.measure == "budgetplan" else read_json(arguments.file)
    else:
        measured = compare(arguments.items, arguments.rounds, as_objects=arguments.as_objects)
    print(json.dumps(measured, indent=2 if not arguments.measure else None))


def compare(items: int, rounds: int, *, as_objects: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "samples.jsonl")
        write_samples(path, items, as_objects=as_objects)
        runs: dict[str, list[dict[str, float]]] = {"budgetplan": [], "read_json": []}
        for _ in range(rounds):
            for name, results in runs.items():
                results.append(in_own_process(name, path))
        megabytes = path.stat().st_size / 1e6
    ratios = [ours["seconds"] / theirs["seconds"] for ours, theirs in zip(*runs.values(), strict=True)]
    return {
        "items": items,
        "samples_per_item": SAMPLES_PER_ITEM,
        "as_objects": as_objects,
        "file_mb": round(megabytes, 1),
        "rounds": rounds,
        **{name: summary(results) for name, results in runs.items()},
        "time_ratio": {"median": round(statistics.median(ratios), 2), "all": [round(ratio, 2) for ratio in ratios]},
    }


def write_samples(path: Path, items: int, *, as_objects: bool) -> None:
    rng = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for number in range(items):
            texts = [
                " ".join(rng.choices(WORDS, k=50)) + rf" \boxed{{{rng.randrange(100)}}}"
                for _ in range(SAMPLES_PER_ITEM)
            ]
            row = {
                "id": f"q{number}",
                "prompt": f"{'Mary’s problem' if number % 10 == 0 else 'Problem'} {number}: "
                + " ".join(rng.choices(WORDS, k=40)),
                "answer": str(rng.randrange(100)),
                "completions": [as_object(text, rng) for text in texts] if as_objects else texts,
                "split": "train",
            }
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def as_object(text: str, rng: random.Random) -> dict[str, Any]:
    return {"text": text, "finish_reason": "stop", "n_tokens": 60, "mean_logprob": -rng.random()}


def in_own_process(name: str, path: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", name, "--file", str(path)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return dict(json.loads(output))


def import_file(path: str) -> dict[str, float]:
    from budgetplan.pool.samples import read_samples

    began = time.perf_counter()
    pool, samples = read_samples([path])
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "peak_mb": peak_mb(), "items": pool.n_items, "samples": samples.num_rows}


def read_json(path: str) -> dict[str, float]:
    import duckdb

    began = time.perf_counter()
    connection = duckdb.connect()
    connection.execute("CREATE TABLE samples AS SELECT * FROM read_json(?)", [path])
    seconds = time.perf_counter() - began
    (items,) = connection.sql("SELECT count(*) FROM samples").fetchall()[0]
    return {"seconds": seconds, "peak_mb": peak_mb(), "items": items}


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def summary(results: list[dict[str, float]]) -> dict[str, Any]:
    seconds = [result["seconds"] for result in results]
    return {
        "seconds": {"median": round(statistics.median(seconds), 3), "all": [round(one, 3) for one in seconds]},
        "peak_mb": round(max(result["peak_mb"] for result in results)),
        **{key: value for key, value in results[0].items() if key in ("items", "samples")},
    }


if __name__ == "__main__":
    main()
