"""Completions: one row per sample, merged from chunks or imported; never doubled; only a failed one is replaced."""

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from budgetplan.store.connection import scalar

_END_CHARACTERS = 2_000


def merge_chunks(connection: duckdb.DuckDBPyConnection, run_id: str, files: Sequence[Path]) -> int:
    """Add the samples in chunk files that the run does not have yet; a success replaces an earlier failure.

    Returns the number of samples added. Merging the same chunk twice adds nothing.
    """
    connection.execute(
        """CREATE OR REPLACE TEMP TABLE incoming_sample AS
           SELECT * FROM read_parquet(?)
           QUALIFY row_number() OVER (PARTITION BY item_id, sample_index ORDER BY finish_reason = 'error') = 1""",
        [[str(file) for file in files]],
    )
    connection.execute(
        """DELETE FROM completion USING incoming_sample AS fresh
           WHERE completion.run_id = ? AND completion.item_id = fresh.item_id
             AND completion.sample_index = fresh.sample_index AND completion.finish_reason = 'error'""",
        [run_id],
    )
    added = scalar(
        connection,
        """INSERT INTO completion
           SELECT ?, item_id, sample_index, seed, text, n_tokens, finish_reason, mean_logprob, error, NULL
           FROM incoming_sample
           ANTI JOIN (SELECT item_id, sample_index FROM completion WHERE run_id = ?) USING (item_id, sample_index)
           ORDER BY item_id, sample_index""",
        [run_id, run_id],
    )
    connection.execute(
        """DELETE FROM verdict USING incoming_sample AS fresh
           WHERE verdict.run_id = ? AND verdict.item_id = fresh.item_id AND verdict.sample_index = fresh.sample_index
             AND verdict.outcome = 'engine_error'""",
        [run_id],
    )
    connection.execute("DROP TABLE incoming_sample")
    return int(added)


def missing_samples(connection: duckdb.DuckDBPyConnection, run_id: str, pool: pa.Table, wanted: pa.Array) -> pa.Table:
    """The gaps below what is wanted of each item of a pool (`POOL_SCHEMA`): its columns, first (sample index), count.

    In file order. Failed samples count as missing.
    """
    connection.register("incoming", pool)
    connection.register("asked", pa.table({"item_id": pool["item_id"], "wanted": wanted}))
    gaps = connection.sql(
        """WITH held AS (
               SELECT item_id, sample_index, wanted FROM completion JOIN asked USING (item_id)
               WHERE run_id = ? AND sample_index < wanted AND finish_reason IS DISTINCT FROM 'error'),
           partial AS (SELECT item_id, any_value(wanted) AS wanted FROM held GROUP BY item_id),
           absent AS (
               SELECT item_id, sample_index FROM (SELECT item_id, unnest(range(wanted)) AS sample_index FROM partial)
               ANTI JOIN held USING (item_id, sample_index)),
           island AS (
               SELECT item_id, sample_index,
                      sample_index - row_number() OVER (PARTITION BY item_id ORDER BY sample_index) AS place
               FROM absent),
           gap AS (
               SELECT item_id, min(sample_index) AS first, count(*) AS count FROM island GROUP BY item_id, place
               UNION ALL
               SELECT item_id, 0, wanted FROM asked ANTI JOIN partial USING (item_id) WHERE wanted > 0)
           SELECT incoming.*, first::INTEGER AS first, count::INTEGER AS count
           FROM gap JOIN incoming USING (item_id) ORDER BY row, item_id, first""",
        params=[run_id],
    ).to_arrow_table()
    connection.unregister("incoming")
    connection.unregister("asked")
    return gaps


def import_samples(connection: duckdb.DuckDBPyConnection, run_id: str, samples: pa.Table) -> int:
    """Add samples made elsewhere (`SAMPLES_SCHEMA`) behind those an item has; a row already imported adds nothing."""
    connection.register("incoming", samples)
    added = scalar(
        connection,
        """INSERT INTO completion
           SELECT ?, item_id,
                  (coalesce(n_stored, 0) + row_number() OVER (PARTITION BY item_id ORDER BY source, position) - 1)::INT,
                  NULL, coalesce(text, ''), n_tokens, finish_reason, mean_logprob, NULL, source
           FROM incoming
           ANTI JOIN (SELECT DISTINCT item_id, source FROM completion WHERE run_id = ?) USING (item_id, source)
           LEFT JOIN (SELECT item_id, max(sample_index) + 1 AS n_stored FROM completion WHERE run_id = ?
                      GROUP BY item_id) USING (item_id)
           ORDER BY ALL""",
        [run_id, run_id, run_id],
    )
    connection.unregister("incoming")
    return int(added)


def some_texts(connection: duckdb.DuckDBPyConnection, run_id: str, most: int) -> list[str]:
    """The ends of a run's first texts that did not fail and were not cut off, at most so many."""
    rows = connection.execute(
        f"""SELECT right(text, {_END_CHARACTERS}) FROM completion
            WHERE run_id = ? AND coalesce(finish_reason, 'stop') = 'stop'
            ORDER BY item_id, sample_index LIMIT ?""",
        [run_id, most],
    ).fetchall()
    return [text for (text,) in rows]
