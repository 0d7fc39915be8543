"""Verdicts: what a verifier said of a completion, apart from its text, so that texts can be judged again.

Invariant: a completion has at most one verdict per verifier version, made against the gold that now holds; whoever
changes gold deletes the verdicts on it, so what has no verdict is what must be judged.
"""

from pathlib import Path

import duckdb
import pyarrow as pa

from budgetplan.outcome import Outcome
from budgetplan.store.connection import quoted, scalar
from budgetplan.store.runs import ProbeRun


def write_pending(connection: duckdb.DuckDBPyConnection, run_id: str, verifier: str, path: Path) -> int:
    """Write a run's completions without a verdict to a Parquet file and return their number.

    Columns: item_id, sample_index, text, finish_reason, gold (null where none is known or several are), columns.
    """
    n_pending = scalar(
        connection,
        f"""COPY (
               WITH extra AS (
                   SELECT item_id,
                          max_by(columns, pool_id = (SELECT pool_id FROM probe_run WHERE run_id = $run)) AS columns
                   FROM pool_item GROUP BY item_id),
               held AS (SELECT item_id, sample_index FROM verdict WHERE run_id = $run AND verifier = $verifier)
               SELECT c.item_id, c.sample_index, c.text, c.finish_reason, g.answer AS gold, extra.columns
               FROM (SELECT * FROM completion WHERE run_id = $run) AS c
               ANTI JOIN held USING (item_id, sample_index)
               LEFT JOIN gold AS g ON g.item_id = c.item_id
               LEFT JOIN extra ON extra.item_id = c.item_id
           ) TO '{quoted(path)}' (FORMAT parquet, ROW_GROUP_SIZE 50_000)""",
        {"run": run_id, "verifier": verifier},
    )
    return int(n_pending)


def has_pending(connection: duckdb.DuckDBPyConnection, run_id: str, verifier: str) -> bool:
    """Whether a run has completions without a verdict; two counts, since there is at most one verdict each."""
    more = scalar(
        connection,
        """SELECT (SELECT count(*) FROM completion WHERE run_id = $run)
                > (SELECT count(*) FROM verdict WHERE run_id = $run AND verifier = $verifier)""",
        {"run": run_id, "verifier": verifier},
    )
    return bool(more)


def save_verdicts(connection: duckdb.DuckDBPyConnection, run_id: str, verifier: str, path: Path) -> None:
    """Take verdicts (item_id, sample_index, outcome, extracted, answer_key) from a Parquet file; none is doubled."""
    connection.execute(
        f"""INSERT INTO verdict
           SELECT ?, item_id, sample_index, ?, outcome::outcome, extracted, answer_key FROM '{quoted(path)}'
           ANTI JOIN (SELECT item_id, sample_index FROM verdict WHERE run_id = ? AND verifier = ?)
           USING (item_id, sample_index)""",
        [run_id, verifier, run_id, verifier],
    )


def outcome_counts(connection: duckdb.DuckDBPyConnection, run_id: str, pool_id: str, verifier: str) -> dict[str, int]:
    """Samples of a run on a pool by outcome, most frequent first."""
    rows = connection.execute(
        """SELECT outcome::VARCHAR, count(*) FROM verdict
           SEMI JOIN (SELECT item_id FROM pool_item WHERE pool_id = ?) USING (item_id)
           WHERE run_id = ? AND verifier = ? GROUP BY 1 ORDER BY 2 DESC, 1""",
        [pool_id, run_id, verifier],
    ).fetchall()
    return {str(outcome): int(count) for outcome, count in rows}


def item_counts(connection: duckdb.DuckDBPyConnection, run_id: str, pool_id: str, verifier: str) -> pa.Table:
    """Every item of a pool under the user's ids, its samples counted by outcome (`n_correct` …), in file order.

    `first` is the outcome of sample 0.
    """
    counts = ", ".join(f"coalesce(n_{outcome}, 0) AS n_{outcome}" for outcome in Outcome)
    filters = ", ".join(f"count(*) FILTER (outcome = '{outcome}') AS n_{outcome}" for outcome in Outcome)
    return connection.sql(
        f"""SELECT p.item_id, id, other_ids, {counts}, first::VARCHAR AS first
            FROM (SELECT item_id, row, ids[1] AS id, ids[2:] AS other_ids FROM pool_item WHERE pool_id = $pool) AS p
            LEFT JOIN (
                SELECT item_id, {filters}, max(CASE WHEN sample_index = 0 THEN outcome END) AS first
                FROM verdict WHERE run_id = $run AND verifier = $verifier GROUP BY item_id) USING (item_id)
            ORDER BY row, p.item_id""",
        params={"run": run_id, "pool": pool_id, "verifier": verifier},
    ).to_arrow_table()


def has_unknown(connection: duckdb.DuckDBPyConnection, run: ProbeRun) -> bool:
    """Whether a run has samples that were judged without gold, other than of items whose known answers conflict."""
    found = scalar(
        connection,
        """SELECT EXISTS (
               FROM verdict
               SEMI JOIN (SELECT item_id FROM pool_item WHERE pool_id = $pool AND len(answers) <= 1) USING (item_id)
               WHERE run_id = $run AND verifier = $verifier AND outcome = 'unknown')""",
        {"run": run.run_id, "pool": run.pool_id, "verifier": run.verdicts_by},
    )
    return bool(found)


def conflicting_items(connection: duckdb.DuckDBPyConnection, pool_id: str) -> list[str]:
    """The items of a pool for which several answers are known and none is gold."""
    rows = connection.execute(
        """SELECT item_id FROM pool_item ANTI JOIN gold USING (item_id)
           WHERE pool_id = ? AND len(answers) > 1 ORDER BY row""",
        [pool_id],
    ).fetchall()
    return [item_id for (item_id,) in rows]


def truncated_share(connection: duckdb.DuckDBPyConnection, run_id: str) -> float:
    """Share of a run's samples that were cut off at the token limit, whatever their verdict."""
    share = scalar(
        connection,
        """SELECT coalesce(avg((finish_reason = 'length')::INT), 0) FROM completion
           WHERE run_id = ? AND finish_reason IS NOT NULL""",
        [run_id],
    )
    return float(share)


def most_frequent_answers(
    connection: duckdb.DuckDBPyConnection, run_id: str, verifier: str, item_ids: pa.ChunkedArray
) -> pa.Array:
    """The answer that a run's samples gave most often, as the model wrote it, for each of the items; null for none."""
    connection.register("asked", pa.table({"item_id": item_ids}))
    rows = connection.execute(
        """SELECT item_id, arg_max(extracted, (n, answer)) FROM (
               SELECT item_id, coalesce(same_as, answer_key) AS answer, min(extracted) AS extracted, count(*) AS n
               FROM verdict SEMI JOIN asked USING (item_id) LEFT JOIN same_answer USING (verifier, item_id, answer_key)
               WHERE run_id = ? AND verifier = ? AND answer_key IS NOT NULL GROUP BY item_id, answer)
           GROUP BY item_id""",
        [run_id, verifier],
    ).fetchall()
    connection.unregister("asked")
    answers = dict(rows)
    return pa.array([answers.get(item_id) for item_id in item_ids.to_pylist()], pa.string())
