"""The label-free signals of a pool, against the cheap ones of them as one hand-written query over the same file.

Run: python tests/benchmarks/bench_signals.py [--items 100000]
The store is made by the script: `--items` items with 8 judged samples of 100 words each, half of the sentences shared
with another sample, answers with ties. The texts are compared once, which is timed alone. Memory is the peak of a
process of its own that compares the texts and then computes the signals.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
from pairs import interleaved, timed

from budgetplan.store.connection import Store
from budgetplan.store.signals import item_signals, similarity_is_current, write_similarity

RUN, POOL, VERIFIER = "run-bench", "pool-bench", "math@1"
QUERY = """
SELECT item_id, agreement, no_answer_rate, mean_length, length_spread
FROM (SELECT item_id, max(n) FILTER (answer_key IS NOT NULL) / sum(n) AS agreement,
             coalesce(sum(n) FILTER (answer_key IS NULL), 0) / sum(n) AS no_answer_rate
      FROM (SELECT item_id, answer_key, count(*) AS n FROM verdict
            WHERE run_id = 'run-bench' AND verifier = 'math@1' AND outcome NOT IN ('engine_error', 'verifier_error')
            GROUP BY item_id, answer_key) GROUP BY item_id)
JOIN (SELECT item_id, avg(length(text)) AS mean_length, stddev_pop(length(text)) / avg(length(text)) AS length_spread
      FROM completion WHERE run_id = 'run-bench' AND finish_reason IS DISTINCT FROM 'error' GROUP BY item_id)
USING (item_id) ORDER BY item_id
"""
TARGET = 3.0
TARGET_MIB = 2048


def make_store(path: Path, items: int) -> None:
    """Write a pool, its completions and their verdicts straight into the store."""
    with Store(path).writing() as connection:
        connection.execute(
            "CREATE TEMP TABLE drawn AS SELECT 'bp-' || left(sha256(i::VARCHAR), 16) AS item_id, i FROM range(?) t(i)",
            [items],
        )
        connection.execute(
            "INSERT INTO item SELECT item_id, 'How much is ' || i || ' and ' || i || '?', NULL FROM drawn"
        )
        connection.execute("INSERT INTO pool VALUES (?, 'bench.jsonl', ?, ?, now())", [POOL, items, items])
        connection.execute("INSERT INTO pool_item SELECT ?, item_id, i + 1, ['q' || i], [], '{}' FROM drawn", [POOL])
        _write_samples(connection)


def _write_samples(connection: duckdb.DuckDBPyConnection) -> None:
    """Sentences of ten words, frequent and rare ones; an item has one to six answers, and some samples have none."""
    connection.execute(
        """CREATE TEMP TABLE sentences AS SELECT list(sentence ORDER BY n) AS sentences FROM (
               SELECT n, string_agg('w' || floor(exp(hash(n, j) % 1000 / 125))::INT, ' ' ORDER BY j) || '. ' AS sentence
               FROM range(2000) t(n), range(10) u(j) GROUP BY n)"""
    )
    connection.execute(
        """INSERT INTO completion
           SELECT ?, item_id, s, NULL, array_to_string([
                      sentences[1 + (hash(i, j, CASE WHEN hash(i, j, s) % 2 = 0 THEN 0 ELSE s END) % 2000)::INT]
                      FOR j IN range(10)], ''),
                  150, CASE WHEN hash(i, s, 'cut') % 20 = 0 THEN 'length' ELSE 'stop' END,
                  -0.001 * (hash(i, s) % 1000), NULL, NULL
           FROM drawn, range(8) t(s), sentences ORDER BY item_id, s""",
        [RUN],
    )
    connection.execute(
        """INSERT INTO verdict
           SELECT run_id, item_id, sample_index, ?, 'unknown', key, key FROM (
               SELECT *, CASE WHEN finish_reason <> 'length' AND hash(item_id, sample_index, 'none') % 12 > 0
                              THEN (hash(item_id, sample_index) % (1 + hash(item_id) % 6))::VARCHAR END AS key
               FROM completion)""",
        [VERIFIER],
    )


def compare_texts(path: Path) -> None:
    with Store(path).writing() as connection:
        write_similarity(connection, RUN, POOL)


def compute_signals(path: Path) -> None:
    with Store(path).reading() as connection:
        item_signals(connection, RUN, POOL, VERIFIER)


def check_texts(path: Path) -> None:
    with Store(path).reading() as connection:
        similarity_is_current(connection, RUN, POOL)


def query(path: Path) -> None:
    with Store(path).reading() as connection:
        connection.sql(QUERY).to_arrow_table()


def worked(path: Path) -> dict[str, float]:
    """Seconds of comparing the texts, and the peak of this process, signals included."""
    seconds = timed(lambda: compare_texts(path))
    compute_signals(path)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"write_similarity_seconds": round(seconds, 2), "peak_mib": round(peak_mib)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.store:
        print(json.dumps(worked(arguments.store)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.duckdb"
        make_store(path, arguments.items)
        command = [sys.executable, __file__, "--store", str(path)]
        once = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        timing = interleaved(lambda: compute_signals(path), lambda: query(path), arguments.pairs)
        figures = {
            "benchmark": "signals",
            "items": arguments.items,
            "samples": 8 * arguments.items,
            "item_signals": {**timing, "over_query": round(1 / timing["ratio_median"], 3)},
            **once,
            "similarity_is_current_seconds": round(timed(lambda: check_texts(path)), 3),
            "target": f"at most {TARGET} times the query, under {TARGET_MIB} MiB",
        }
        print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
