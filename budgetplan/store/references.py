"""References: runs of another model whose answers the base run's are compared with; nothing of them is gold."""

import duckdb
import pyarrow as pa

from budgetplan.store.connection import scalar
from budgetplan.store.pools import Share
from budgetplan.store.runs import REFERENCE, ProbeRun, all_runs


def find_reference(connection: duckdb.DuckDBPyConnection, run: ProbeRun) -> ProbeRun | None:
    """The last used reference, other than the run itself, that has samples of items of the run's pool."""
    references = [other for other in all_runs(connection) if other.role == REFERENCE and other.run_id != run.run_id]
    if not references:
        return None
    rows = connection.execute(
        """SELECT DISTINCT run_id FROM completion
           SEMI JOIN (SELECT item_id FROM pool_item WHERE pool_id = ?) USING (item_id)
           WHERE list_contains(?, run_id)""",
        [run.pool_id, [reference.run_id for reference in references]],
    ).fetchall()
    sharing = {run_id for (run_id,) in rows}
    return next((reference for reference in references if reference.run_id in sharing), None)


def reference_agreement(
    connection: duckdb.DuckDBPyConnection, run: ProbeRun, reference: ProbeRun, *, first_only: bool = False
) -> pa.ChunkedArray:
    """The share of an item's counted samples that give the reference's most frequent answer, in file order.

    Equal answers in other words are one answer; of equally frequent ones the lowest key counts. A sample without an
    answer does not agree. With `first_only`, the run's sample 0 is all that is compared. Null where the reference has
    no answer, or the run no counted sample; everywhere, where the two cannot be compared.
    """
    comparable = reference.judged_by == run.judged_by
    return connection.sql(
        """WITH spoken AS (
               SELECT run_id, item_id, coalesce(same_as, answer_key) AS answer, outcome
               FROM (SELECT run_id, verifier, item_id, answer_key, outcome FROM verdict
                     WHERE (run_id = $run AND verifier = $verifier AND (NOT $first_only OR sample_index = 0))
                        OR (run_id = $reference AND verifier = $reference_verifier))
               LEFT JOIN same_answer USING (verifier, item_id, answer_key)),
           counted AS (
               SELECT item_id, answer, count(*) AS n FROM spoken
               WHERE run_id = $reference AND answer IS NOT NULL GROUP BY item_id, answer),
           usual AS (SELECT item_id, arg_min(answer, (-n, answer)) AS expected FROM counted GROUP BY item_id),
           agreed AS (
               SELECT item_id, avg(coalesce(answer = expected, false)::INTEGER) AS agreement
               FROM spoken JOIN usual USING (item_id)
               WHERE run_id = $run AND outcome NOT IN ('engine_error', 'verifier_error') GROUP BY item_id)
           SELECT agreement FROM (SELECT item_id, row FROM pool_item WHERE pool_id = $pool) AS p
           LEFT JOIN agreed USING (item_id) ORDER BY row, p.item_id""",
        params={
            "run": run.run_id,
            "verifier": run.verdicts_by,
            "reference": reference.run_id,
            "reference_verifier": reference.verdicts_by if comparable else run.verdicts_by,
            "pool": run.pool_id,
            "first_only": first_only,
        },
    ).to_arrow_table()["agreement"]


def items_covered(connection: duckdb.DuckDBPyConnection, pool_id: str, run_id: str) -> Share:
    """How many of a pool's items a run has samples of."""
    return Share(
        *connection.execute(
            """SELECT count(*) FILTER (item_id IN (SELECT item_id FROM completion WHERE run_id = ?)), count(*)
               FROM pool_item WHERE pool_id = ?""",
            [run_id, pool_id],
        ).fetchall()[0]
    )


def unknown_items(connection: duckdb.DuckDBPyConnection, items: pa.Table) -> pa.Table:
    """Those of the items (`POOL_SCHEMA`) that belong to no pool yet, in file order."""
    connection.register("incoming", items)
    unknown = connection.sql(
        "SELECT * FROM incoming ANTI JOIN (SELECT item_id FROM pool_item) USING (item_id) ORDER BY row"
    ).to_arrow_table()
    connection.unregister("incoming")
    return unknown.cast(items.schema)


def holds_items(connection: duckdb.DuckDBPyConnection, pool_id: str, items: pa.Table) -> bool:
    """Whether a pool has any of the items."""
    return _count(connection, "pool_item SEMI JOIN incoming USING (item_id) WHERE pool_id = ?", items, pool_id) > 0


def n_with_gold(connection: duckdb.DuckDBPyConnection, items: pa.Table) -> int:
    """How many of the items have an answer, known beforehand or from labels."""
    return _count(connection, "gold SEMI JOIN incoming USING (item_id)", items)


def is_stored(connection: duckdb.DuckDBPyConnection, pool_id: str) -> bool:
    """Whether the store has this pool."""
    return bool(scalar(connection, "SELECT count(*) > 0 FROM pool WHERE pool_id = ?", [pool_id]))


def _count(connection: duckdb.DuckDBPyConnection, rows: str, items: pa.Table, *parameters: str) -> int:
    connection.register("incoming", items.select(["item_id"]))
    number = scalar(connection, f"SELECT count(*) FROM {rows}", list(parameters))
    connection.unregister("incoming")
    return int(number)
