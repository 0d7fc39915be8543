"""ingest of labels that re-score every stored sample, beside DuckDB's own `read_json` of the same file into a table.

    python tests/benchmarks/bench_ingest.py --items 100000

The store is made by the script: `--items` items without answers, 8 judged samples each, and one label per item. Time is
of `Project.ingest` from end to end, each on a store that has no labels yet, and of its phases: read (the file to
columns), store and report (history, changes, ledger), decide (majority, gold) and judge (all samples again, verdicts
written). Memory is the peak of a process of its own, its workers apart.
"""

import argparse
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pairs import interleaved

TARGET = "all but judging at most 15 times read_json, under 1536 MiB"
ANNOTATORS = 5


def make_store(path: Path, items: int) -> None:
    """Write a pool without answers, its samples and their verdicts straight into the store."""
    from budgetplan.store.connection import Store
    from budgetplan.verifying.verifier import load_verifier

    by = f"math@{load_verifier('math').version}"
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
        connection.execute("INSERT INTO pool_item SELECT 'pool-bench', item_id, i + 1, ['q' || i], [], '{}' FROM drawn")
        run = ("run-bench", "pool-bench", "bench", "", "import", "{}", 8, "math", by)
        connection.execute("INSERT INTO probe_run VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, now(), now(), 'base')", run)
        connection.execute(
            """INSERT INTO completion
               SELECT 'run-bench', item_id, s, NULL,
                      'The answer is ' || 2 * i + (hash(i * 8 + s) % 1000 / 1000.0 >= p)::INT || '.',
                      5, 'stop', -0.5, NULL, 'x'
               FROM drawn, range(8) t(s)"""
        )
        connection.execute(
            """INSERT INTO verdict SELECT run_id, item_id, sample_index, ?, 'unknown', NULL, NULL FROM completion""",
            [by],
        )


def write_labels(path: Path, items: int, store: Path) -> None:
    """Write one label per item, in an order of their own."""
    from budgetplan.store.connection import Store

    with Store(store).reading() as connection:
        rows = connection.execute(
            "SELECT item_id, row - 1 FROM pool_item ORDER BY hash(item_id) LIMIT ?", [items]
        ).fetchall()
    with path.open("w", encoding="utf-8") as file:
        for place, (item_id, number) in enumerate(rows):
            label = {
                "item_id": item_id,
                "annotator": f"annotator-{place % ANNOTATORS}",
                "answer": str(2 * number),
                "verdict": "ok",
                "seconds": 20.5 + place % 60,
                "labeled_at": f"2026-03-{1 + place % 28:02}T{place % 24:02}:{place % 60:02}:00+00:00",
            }
            file.write(json.dumps(label) + "\n")


def ingest(store: Path, labels: Path) -> dict[str, float]:
    """Take the labels back; returns seconds by phase."""
    from budgetplan import Project
    from budgetplan.steps import adjudicate
    from budgetplan.steps import ingest as step

    seconds: dict[str, float] = {}
    began = time.perf_counter()
    with (
        timed_as(seconds, "read", step, "read_label_file"),
        timed_as(seconds, "decide and judge", step, "adjudicate_labels"),
        timed_as(seconds, "judge", adjudicate, "_judge_again"),
    ):
        report = Project(db=store).ingest([labels])
    if (report.n("new"), report.rescored.n_runs) != (report.files[0].n_labels, 1):
        raise SystemExit(f"the labels did not come in: {report.n('new')} new")
    return phases(seconds, time.perf_counter() - began)


def phases(seconds: dict[str, float], total: float) -> dict[str, float]:
    """Seconds that add up to the total."""
    together, judge = seconds["decide and judge"], seconds["judge"]
    rest = total - seconds["read"] - together
    return {"read": seconds["read"], "store and report": rest, "decide": together - judge, "judge": judge}


@contextmanager
def timed_as(seconds: dict[str, float], name: str, module: Any, function: str) -> Iterator[None]:
    """Add up what calls of a module's function take."""
    plain: Callable[..., Any] = getattr(module, function)

    def timed(*values: Any, **named: Any) -> Any:
        began = time.perf_counter()
        try:
            return plain(*values, **named)
        finally:
            seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - began

    setattr(module, function, timed)
    try:
        yield
    finally:
        setattr(module, function, plain)


def read_json(labels: Path) -> None:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE labels AS SELECT * FROM read_json(?)", [str(labels)])


def measure(verb: str, store: Path, labels: Path) -> None:
    """Print the peak memory of one verb, in MiB."""
    {"ingest": lambda: ingest(store, labels), "read_json": lambda: read_json(labels)}[verb]()
    print(
        json.dumps({
            "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
            "largest_worker_mib": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024),
        })
    )  # fmt: skip


def in_own_process(verb: str, *words: str | Path) -> str:
    command = [sys.executable, __file__, "--verb", verb, *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--labels", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--verb", choices=("make", "ingest", "read_json"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.verb == "make":
        make_store(arguments.store, arguments.items)
        write_labels(arguments.labels, arguments.items, arguments.store)
    elif arguments.verb:
        measure(arguments.verb, arguments.store, arguments.labels)
    else:
        print(json.dumps(compare(arguments.items, arguments.pairs), indent=2))


def compare(items: int, pairs: int) -> dict[str, Any]:
    """Peaks first, while this process is small: a child counts the memory of the one that starts it."""
    with tempfile.TemporaryDirectory() as folder:
        store, labels = Path(folder) / "bench.duckdb", Path(folder) / "labels.jsonl"
        in_own_process("make", "--store", store, "--labels", labels, "--items", str(items))
        fresh = [Path(shutil.copy(store, Path(folder) / f"{number}.duckdb")) for number in range(pairs + 2)]
        peaks = {
            verb: json.loads(in_own_process(verb, "--store", fresh[-1], "--labels", labels))
            for verb in ("ingest", "read_json")
        }
        runs: list[dict[str, float]] = []
        timing = interleaved(lambda: runs.append(ingest(fresh[len(runs)], labels)), lambda: read_json(labels), pairs)
        return {
            "benchmark": "ingest",
            "labels": items,
            "samples": 8 * items,
            "file_mb": round(labels.stat().st_size / 1e6, 1),
            **timing,
            **summary(runs[1:], timing["theirs_median_seconds"]),
            **peaks,
            "target": TARGET,
        }


def summary(runs: list[dict[str, float]], theirs: float) -> dict[str, Any]:
    """Median seconds of each phase, and of all but judging over `read_json`."""
    medians = {name: round(statistics.median(run[name] for run in runs), 3) for name in runs[0]}
    without = statistics.median(sum(run.values()) - run["judge"] for run in runs)
    return {"phase_seconds": medians, "all_but_judging_over_read_json": round(without / theirs, 1)}


if __name__ == "__main__":
    main()
