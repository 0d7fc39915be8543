"""GSM8K, from its public file to a shortlist of the tenth that is hardest for a model.

    python examples/gsm8k.py --pool train.jsonl --model qwen3-4b

`train.jsonl` is the file of github.com/openai/grade-school-math (`question`, and `answer` ending in `#### 72`). Nothing
has to be renamed: the fields and the final answer are found. Any other option goes to `budgetplan probe`, for example
`--max-tokens 512`.
"""

import argparse
import subprocess
from itertools import islice
from pathlib import Path


def write_pool(public_file: Path, limit: int | None, path: Path) -> Path:
    """Write the first `limit` rows of the public file, as they are."""
    with public_file.open(encoding="utf-8") as lines:
        path.write_text("".join(islice(lines, limit)), encoding="utf-8")
    return path


def main() -> None:
    """Probe, rank, shortlist."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pool", type=Path, required=True, help="train.jsonl")
    parser.add_argument("--model", default="qwen3-4b")
    parser.add_argument("--k", type=int, default=8)
    parser.add_argument("--limit", type=int, help="only the first N rows")
    parser.add_argument("--db", type=Path, default=Path("gsm8k.duckdb"))
    arguments, probe_options = parser.parse_known_args()
    store = ["--db", str(arguments.db)]
    out = arguments.db.with_suffix(".shortlist.jsonl")
    pool = write_pool(arguments.pool, arguments.limit, arguments.db.with_suffix(".pool.jsonl"))
    probe = ["budgetplan", "probe", str(pool), "--model", arguments.model, "--k", str(arguments.k), "--yes"]
    subprocess.run([*probe, "--verifier", "math", *store, *probe_options], check=True)
    subprocess.run(["budgetplan", "rank", *store], check=True)
    subprocess.run(["budgetplan", "shortlist", "--budget", "10%", "--out", str(out), "--force", *store], check=True)


if __name__ == "__main__":
    main()
