"""Features of a pool's prompts, computed once: a row of numbers for every item, and the items most like it.

Invariant: features are read only where they were computed for exactly the items that the pool has now.
"""

import duckdb
import pyarrow as pa

from budgetplan.store.connection import scalar


def has_prompt_features(connection: duckdb.DuckDBPyConnection, pool_id: str) -> bool:
    """Whether the features of a pool are stored, for all of its items and no others."""
    held = scalar(
        connection,
        """WITH own AS (SELECT item_id FROM pool_item WHERE pool_id = $pool),
                featured AS (SELECT item_id FROM prompt_feature WHERE pool_id = $pool)
           SELECT (SELECT count(*) FROM own) = (SELECT count(*) FROM featured)
              AND NOT EXISTS (SELECT item_id FROM own ANTI JOIN featured USING (item_id))""",
        {"pool": pool_id},
    )
    return bool(held)


def pool_prompts(connection: duckdb.DuckDBPyConnection, pool_id: str, max_characters: int) -> pa.Table:
    """The beginning of every prompt of a pool (item_id, prompt), in file order."""
    return connection.sql(
        """SELECT item_id, left(prompt, $characters) AS prompt FROM pool_item JOIN item USING (item_id)
           WHERE pool_id = $pool ORDER BY row, item_id""",
        params={"pool": pool_id, "characters": max_characters},
    ).to_arrow_table()


def save_prompt_features(connection: duckdb.DuckDBPyConnection, pool_id: str, features: pa.Table) -> None:
    """Keep a pool's features (item_id, components: list of float, near: list of item ids) instead of older ones."""
    connection.register("incoming", features)
    connection.execute("DELETE FROM prompt_feature WHERE pool_id = ?", [pool_id])
    connection.execute("INSERT INTO prompt_feature SELECT ?, item_id, components, near FROM incoming", [pool_id])
    connection.unregister("incoming")


def load_prompt_features(connection: duckdb.DuckDBPyConnection, pool_id: str) -> pa.Table | None:
    """Item_id, components and near of a pool in file order; None where they are not stored for just its items."""
    if not has_prompt_features(connection, pool_id):
        return None
    return connection.sql(
        """SELECT item_id, components, near
           FROM (SELECT item_id, row FROM pool_item WHERE pool_id = $pool)
           JOIN (SELECT item_id, components, near FROM prompt_feature WHERE pool_id = $pool) USING (item_id)
           ORDER BY row, item_id""",
        params={"pool": pool_id},
    ).to_arrow_table()
