"""What adaptive probes are for, and how many samples they want of each item by now.

Invariant: targets only grow, and are written before they are sampled, so that a killed probe first finishes the round
it was in and then goes on as one that was never stopped.
"""

from dataclasses import dataclass

import duckdb
import pyarrow as pa


@dataclass(frozen=True, slots=True)
class SamplingAim:
    """The picks that samples are placed for: what a budget buys under a policy."""

    budget: str
    policy: str


def sampling_aim(connection: duckdb.DuckDBPyConnection, run_id: str, pool_id: str) -> SamplingAim | None:
    """What a run's samples of a pool were last placed for; None where every item gets K."""
    rows = connection.execute(
        "SELECT budget, policy FROM sampling_aim WHERE run_id = ? AND pool_id = ?", [run_id, pool_id]
    ).fetchall()
    return SamplingAim(*rows[0]) if rows else None


def save_sampling_aim(connection: duckdb.DuckDBPyConnection, run_id: str, pool_id: str, aim: SamplingAim) -> None:
    """Remember it, in place of an earlier one."""
    connection.execute(
        """INSERT INTO sampling_aim VALUES (?, ?, ?, ?)
           ON CONFLICT DO UPDATE SET budget = excluded.budget, policy = excluded.policy""",
        [run_id, pool_id, aim.budget, aim.policy],
    )


def drop_sampling_aim(connection: duckdb.DuckDBPyConnection, run_id: str, pool_id: str) -> None:
    """From now on every item gets K."""
    connection.execute("DELETE FROM sampling_aim WHERE run_id = ? AND pool_id = ?", [run_id, pool_id])


def sample_targets(connection: duckdb.DuckDBPyConnection, run_id: str, item_ids: pa.Array) -> pa.Array:
    """How many samples are wanted of each of these items, in their order: as asked for, and at least those there are.

    0 where nothing was asked for and nothing is there.
    """
    connection.register("asked", pa.table({"item_id": item_ids, "place": pa.array(range(len(item_ids)))}))
    targets = connection.sql(
        """SELECT greatest(coalesce(target.n_samples, 0), coalesce(held.n_samples, 0))::INTEGER AS n_samples FROM asked
           LEFT JOIN (SELECT item_id, n_samples FROM sample_target WHERE run_id = ?) AS target USING (item_id)
           LEFT JOIN (SELECT item_id, count(*) AS n_samples FROM completion
                      WHERE run_id = ? AND finish_reason IS DISTINCT FROM 'error' GROUP BY item_id) AS held
               USING (item_id)
           ORDER BY place""",
        params=[run_id, run_id],
    ).to_arrow_table()
    connection.unregister("asked")
    return targets["n_samples"].combine_chunks()


def save_sample_targets(
    connection: duckdb.DuckDBPyConnection, run_id: str, item_ids: pa.Array, n_samples: pa.Array
) -> None:
    """Raise the targets of these items."""
    connection.register("wanted", pa.table({"item_id": item_ids, "n_samples": n_samples}))
    connection.execute(
        """INSERT INTO sample_target SELECT ?, item_id, n_samples FROM wanted
           ON CONFLICT DO UPDATE SET n_samples = greatest(n_samples, excluded.n_samples)""",
        [run_id],
    )
    connection.unregister("wanted")
