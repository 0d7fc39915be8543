"""The labelled items of a pool, as training sets take them."""

import duckdb
import pyarrow as pa

from budgetplan.store.connection import scalar


def labelled_items(
    connection: duckdb.DuckDBPyConnection, pool_id: str, shortlist_id: str | None, *, with_known: bool
) -> pa.Table:
    """Items with an answer that are fit for training, in the order of their shortlists.

    Those of one shortlist, or of all and what else was labelled; `with_known` adds every item whose answer was known.
    Columns: item_id, id, prompt, messages (JSON, null for a text), answer, gold_source ("label" or "pool"), n_labels,
    shortlist_id, policy, audit (in the audit slice), picked (by the policy).
    """
    return connection.sql(
        """WITH bought AS (
               SELECT DISTINCT ON (item_id) item_id, shortlist_id, policy, number, rank
               FROM shortlist_item JOIN shortlist USING (shortlist_id)
               WHERE purpose = 'selection' AND recalled_at IS NULL AND shortlist_id = coalesce($shortlist, shortlist_id)
               ORDER BY number),
           labels AS (
               SELECT item_id, count(*) AS n FROM current_label WHERE status = 'submitted' GROUP BY item_id)
           SELECT p.item_id, ids[1] AS id, prompt, messages, gold.answer, gold.source AS gold_source,
                  coalesce(labels.n, 0) AS n_labels, b.shortlist_id, b.policy, a.item_id IS NOT NULL AS audit,
                  b.rank IS NOT NULL AS picked
           FROM pool_item AS p JOIN item USING (item_id) JOIN gold USING (item_id)
           LEFT JOIN bought AS b USING (item_id) LEFT JOIN labels USING (item_id)
           LEFT JOIN (SELECT item_id FROM audit_item WHERE pool_id = $pool) AS a USING (item_id)
           ANTI JOIN (SELECT item_id FROM adjudicated WHERE state = 'unusable') USING (item_id)
           WHERE p.pool_id = $pool AND (b.item_id IS NOT NULL OR (
               $shortlist IS NULL AND (gold.source = 'label' OR $known)))
           ORDER BY b.number, b.rank, p.row, p.item_id""",
        params={"pool": pool_id, "shortlist": shortlist_id, "known": with_known},
    ).to_arrow_table()


def n_unusable(connection: duckdb.DuckDBPyConnection, pool_id: str) -> int:
    """Items of a pool that someone called ambiguous or unanswerable."""
    n = scalar(
        connection,
        """SELECT count(*) FROM adjudicated SEMI JOIN (SELECT item_id FROM pool_item WHERE pool_id = ?) USING (item_id)
           WHERE state = 'unusable'""",
        [pool_id],
    )
    return int(n)
