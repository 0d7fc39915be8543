"""A pool judged by a function of one's own: numbers that may be off by one per cent.

    python examples/custom_verifier.py --pool estimates.jsonl --model qwen3-4b

The function is `within_one_percent` in my_verifier.py, next to this file; without `--pool` three questions are asked.
Any other option goes to `budgetplan probe`.
"""

import argparse
import json
import subprocess
from itertools import islice
from pathlib import Path

VERIFIER = Path(__file__).with_name("my_verifier.py")
QUESTIONS = [
    {"id": "light", "prompt": "How many kilometres does light travel in a second?", "answer": "299792"},
    {"id": "moon", "prompt": "How far is the moon from the earth on average, in kilometres?", "answer": "384400"},
    {"id": "root", "prompt": "What is the square root of 2000?", "answer": "44.72"},
]


def write_pool(pool: Path | None, limit: int | None, path: Path) -> Path:
    """Write the first `limit` rows of the pool, or of the built-in questions."""
    lines = (json.dumps(row) for row in QUESTIONS) if pool is None else pool.read_text(encoding="utf-8").splitlines()
    path.write_text("".join(line + "\n" for line in islice(lines, limit)), encoding="utf-8")
    return path


def main() -> None:
    """Probe with the verifier, rank, shortlist."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pool", type=Path, help="JSONL with prompt and answer")
    parser.add_argument("--model", default="qwen3-4b")
    parser.add_argument("--k", type=int, default=8)
    parser.add_argument("--limit", type=int, help="only the first N rows")
    parser.add_argument("--db", type=Path, default=Path("custom_verifier.duckdb"))
    arguments, probe_options = parser.parse_known_args()
    store = ["--db", str(arguments.db)]
    out = arguments.db.with_suffix(".shortlist.csv")
    pool = write_pool(arguments.pool, arguments.limit, arguments.db.with_suffix(".pool.jsonl"))
    probe = ["budgetplan", "probe", str(pool), "--model", arguments.model, "--k", str(arguments.k), "--yes"]
    subprocess.run([*probe, "--verifier", f"{VERIFIER}:within_one_percent", *store, *probe_options], check=True)
    subprocess.run(["budgetplan", "rank", *store], check=True)
    shortlist = ["budgetplan", "shortlist", "--budget", "1 item" if arguments.pool is None else "10%"]
    subprocess.run([*shortlist, "--out", str(out), "--force", *store], check=True)


if __name__ == "__main__":
    main()
