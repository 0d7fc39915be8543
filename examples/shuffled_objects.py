"""Tracking shuffled objects (BIG-Bench Hard), from its public file to a shortlist of the hardest tenth.

    python examples/shuffled_objects.py --pool tracking_shuffled_objects_seven_objects.json --model qwen3-4b

The file is the one of github.com/suzgunmirac/BIG-Bench-Hard. Its rows have no ids and no split, so this script writes
them as a pool of its own. Any other option goes to `budgetplan probe`, for example `--max-tokens 250`.
"""

import argparse
import json
import subprocess
from pathlib import Path


def write_pool(public_file: Path, limit: int | None, path: Path) -> Path:
    """Write the first `limit` examples as JSONL; every other one is kept for testing (the paper too took half)."""
    examples = json.loads(public_file.read_text(encoding="utf-8"))["examples"][:limit]
    rows = [
        {"id": place, "prompt": example["input"], "answer": example["target"], "split": ["train", "test"][place % 2]}
        for place, example in enumerate(examples)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def main() -> None:
    """Probe, rank, and shortlist from the training half."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pool", type=Path, required=True, help="the public JSON file")
    parser.add_argument("--model", default="qwen3-4b")
    parser.add_argument("--k", type=int, default=10, help="as in the paper")
    parser.add_argument("--limit", type=int, help="only the first N examples")
    parser.add_argument("--db", type=Path, default=Path("shuffled_objects.duckdb"))
    arguments, probe_options = parser.parse_known_args()
    store = ["--db", str(arguments.db)]
    out = arguments.db.with_suffix(".shortlist.csv")
    pool = write_pool(arguments.pool, arguments.limit, arguments.db.with_suffix(".pool.jsonl"))
    probe = ["budgetplan", "probe", str(pool), "--model", arguments.model, "--k", str(arguments.k), "--yes"]
    subprocess.run([*probe, "--verifier", "choice", *store, *probe_options], check=True)
    subprocess.run(["budgetplan", "rank", *store], check=True)
    shortlist = ["budgetplan", "shortlist", "--budget", "10%", "--exclude", "split=test", "--out", str(out), "--force"]
    subprocess.run([*shortlist, *store], check=True)


if __name__ == "__main__":
    main()
