"""Verdicts: what a verifier said of a completion, apart from its text, so that texts can be judged again.

Invariant: a completion has at most one verdict per verifier version, made against the gold that now holds; whoever
changes gold deletes the verdicts on it, so what has no verdict is what must be judged.
"""

from pathlib import Path

import duckdb
import pyarrow as pa

from budgetplan.store.connection import scalar


def write_pending(connection: duckdb.DuckDBPyConnection, run_id: str, verifier: str, path: Path) -> int:
    """Write a run's completions without a verdict to a Parquet file and return their number.

    Columns: item_id, sample_index, text, finish_reason, gold (null where none is known or several are), columns.
    """
    n_pending = scalar(
        connection,
        f"""COPY (
               WITH extra AS (
                   SELECT item_id, columns FROM pool_item
                   WHERE pool_id = (SELECT pool_id FROM probe_run WHERE run_id = $run)),
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


def quoted(path: Path) -> str:
    """A path as the inside of an SQL string, where no parameter is allowed."""
    return str(path).replace("'", "''")


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
    """Every item of a pool under the user's ids, its samples counted, in file order.

    `k` and `n_correct` count only samples judged against gold (eq. 1); `agreement`, of items without gold, is the share
    of the most frequent answer among all samples that did not fail, so a sample without an answer disagrees;
    `first_correct` is the verdict on sample 0; `conflicting` says that several answers are known.
    """
    return connection.sql(
        """WITH answered AS (
               SELECT item_id, max(n) AS top FROM (
                   SELECT item_id, answer_key, count(*) AS n FROM verdict
                   WHERE run_id = $run AND verifier = $verifier AND outcome = 'unknown' AND answer_key IS NOT NULL
                   GROUP BY item_id, answer_key)
               GROUP BY item_id),
           counted AS (
               SELECT item_id,
                      count(*) FILTER (outcome IN ('correct', 'wrong', 'no_answer', 'truncated')) AS k,
                      count(*) FILTER (outcome = 'correct') AS n_correct,
                      count(*) FILTER (outcome = 'wrong') AS n_wrong,
                      count(*) FILTER (outcome = 'no_answer') AS n_no_answer,
                      count(*) FILTER (outcome = 'truncated') AS n_truncated,
                      count(*) FILTER (outcome = 'verifier_error') AS n_verifier_error,
                      count(*) FILTER (outcome = 'engine_error') AS n_engine_error,
                      count(*) FILTER (outcome = 'unknown') AS n_unknown,
                      bool_or(outcome = 'correct') FILTER (sample_index = 0 AND outcome IN
                          ('correct', 'wrong', 'no_answer', 'truncated')) AS first_correct
               FROM verdict WHERE run_id = $run AND verifier = $verifier GROUP BY item_id)
           SELECT p.item_id, p.id, p.other_ids, coalesce(k, 0) AS k, coalesce(n_correct, 0) AS n_correct,
                  coalesce(n_wrong, 0) AS n_wrong, coalesce(n_no_answer, 0) AS n_no_answer,
                  coalesce(n_truncated, 0) AS n_truncated, coalesce(n_verifier_error, 0) AS n_verifier_error,
                  coalesce(n_engine_error, 0) AS n_engine_error, coalesce(n_unknown, 0) AS n_unknown, first_correct,
                  top / n_unknown AS agreement,
                  p.item_id IN (SELECT item_id FROM pool_item ANTI JOIN gold USING (item_id)
                                WHERE pool_id = $pool AND len(answers) > 1) AS conflicting
           FROM (SELECT item_id, row, ids[1] AS id, ids[2:] AS other_ids FROM pool_item WHERE pool_id = $pool) AS p
           LEFT JOIN counted USING (item_id) LEFT JOIN answered USING (item_id)
           ORDER BY p.row, p.item_id""",
        params={"run": run_id, "pool": pool_id, "verifier": verifier},
    ).to_arrow_table()


def truncated_share(connection: duckdb.DuckDBPyConnection, run_id: str) -> float:
    """Share of a run's samples that were cut off at the token limit, whatever their verdict."""
    share = scalar(
        connection,
        """SELECT coalesce(avg((finish_reason = 'length')::INT), 0) FROM completion
           WHERE run_id = ? AND finish_reason IS NOT NULL""",
        [run_id],
    )
    return float(share)
