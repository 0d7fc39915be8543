"""rank and shortlist of items that are already verified, against the same aggregation as one hand-written query.

Run: python tests/benchmarks/bench_rank.py [--items 100000]
The store is made by the script: `--items` items with 8 judged samples each. Memory is the peak of a process of its own.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from pairs import interleaved

from budgetplan import Project
from budgetplan.store.connection import Store

QUERY = """
SELECT item_id, count(*) AS k, count(*) FILTER (outcome = 'correct') AS n_correct,
       count(*) FILTER (outcome = 'correct') / count(*) AS p_hat
FROM verdict WHERE run_id = 'run-bench' AND verifier = 'math@1' GROUP BY item_id ORDER BY p_hat, item_id
"""
RUN = ("run-bench", "pool-bench", "bench", "", "import", "{}", 8, "math", "math@1")
TARGET = 3.0


def make_store(path: Path, items: int) -> None:
    """Write a pool and its verdicts straight into the store."""
    with Store(path).writing() as connection:
        connection.execute(
            """CREATE TEMP TABLE drawn AS
               SELECT 'bp-' || left(sha256(i::VARCHAR), 16) AS item_id, i, hash(i) % 1000 / 1000.0 AS p
               FROM range(?) t(i)""",
            [items],
        )
        connection.execute(
            "INSERT INTO item SELECT item_id, 'How much is ' || i || ' and ' || i || '?', NULL FROM drawn"
        )
        connection.execute("INSERT INTO pool VALUES ('pool-bench', 'bench.jsonl', ?, ?, now())", [items, items])
        connection.execute(
            "INSERT INTO pool_item SELECT 'pool-bench', item_id, i + 1, ['q' || i], [(2 * i)::VARCHAR], '{}' FROM drawn"
        )
        connection.execute("INSERT INTO gold SELECT item_id, (2 * i)::VARCHAR, 'pool', now() FROM drawn")
        connection.execute("INSERT INTO probe_run VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, now(), now(), 'base')", RUN)
        connection.execute(
            """INSERT INTO completion
               SELECT 'run-bench', item_id, s, NULL, 'It is ' || 2 * i || '.', 5, 'stop', -0.5, NULL, 'x'
               FROM drawn, range(8) t(s)"""
        )
        connection.execute(
            """INSERT INTO verdict SELECT 'run-bench', item_id, s, 'math@1',
                      CASE WHEN hash(i * 8 + s) % 1000 / 1000.0 < p THEN 'correct' ELSE 'wrong' END::outcome,
                      (2 * i)::VARCHAR, (2 * i)::VARCHAR
               FROM drawn, range(8) t(s)"""
        )


def rank(path: Path) -> None:
    Project(db=path).rank()


def shortlist(path: Path) -> None:
    Project(db=path).shortlist("10%", dry_run=True)


def query(path: Path) -> None:
    with Store(path).reading() as connection:
        connection.sql(QUERY).to_arrow_table()


def peak_mib(path: Path, verb: str) -> float:
    """Peak memory of one verb in a process of its own."""
    command = [sys.executable, __file__, "--store", str(path), "--verb", verb]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--verb", choices=("rank", "shortlist", "query"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.verb:
        {"rank": rank, "shortlist": shortlist, "query": query}[arguments.verb](arguments.store)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.duckdb"
        make_store(path, arguments.items)
        figures = {"benchmark": "rank", "items": arguments.items, "samples": 8 * arguments.items}
        for verb in (rank, shortlist):
            timing = interleaved(lambda verb=verb: verb(path), lambda: query(path), arguments.pairs)
            slower = round(1 / timing["ratio_median"], 3)
            figures[verb.__name__] = {**timing, "over_query": slower, "peak_mib": round(peak_mib(path, verb.__name__))}
        figures["query"] = {"peak_mib": round(peak_mib(path, "query"))}
        print(json.dumps({**figures, "target": f"at most {TARGET} times the query, under 1024 MiB"}, indent=2))


if __name__ == "__main__":
    main()
