"""The one table behind every output, under its stable names."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from budgetplan.selection.policy import Policy
from budgetplan.steps.estimates import ESTIMATE_COLUMNS, PoolEstimates
from budgetplan.store.connection import Store
from budgetplan.store.pools import prompts, user_columns, user_ids


@dataclass(frozen=True, slots=True)
class Ranked:
    """Rows of the pool in rank order, and what a policy gave each."""

    order: NDArray[np.intp]
    rank: pa.Array
    score: NDArray[np.float64]
    cost: NDArray[np.float64]


def output_table(store: Store, estimates: PoolEstimates, policy: Policy, ranked: Ranked, *, full: bool) -> pa.Table:
    """One row per ranked item under the stable names; `full` adds the prompt and the user's own columns."""
    rows = pa.array(ranked.order)
    with store.reading() as connection:
        ids = user_ids(connection, estimates.pool.pool_id).take(rows)
        own = user_columns(connection, estimates.pool.pool_id).take(rows) if full else None
        texts = prompts(connection, estimates.pool.pool_id).take(rows) if full else None
    estimated = estimates.table.take(rows)
    columns = {"rank": ranked.rank, "item_id": ids["item_id"], "id": ids["id"]}
    if texts is not None:
        columns["prompt"] = texts
    columns |= {name: estimated[name] for name in ("k", "n_correct", *ESTIMATE_COLUMNS)}
    columns["score"] = pa.array(ranked.score, from_pandas=True)
    columns["cost"] = pa.array(ranked.cost)
    columns["policy"] = pa.array(np.full(len(rows), policy.value))
    columns |= {name: estimated[name] for name in ("source", "agreement", "outcomes")}
    columns["other_ids"] = ids["other_ids"]
    return pa.table(columns | ({name: own[name] for name in own.column_names} if own is not None else {}))
