"""The one table behind every output, under its stable names."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from budgetplan.selection.policy import Policy
from budgetplan.steps.estimates import ESTIMATE_COLUMNS, SIGNAL_COLUMNS, PoolEstimates
from budgetplan.store.connection import Store
from budgetplan.store.pools import item_details


@dataclass(frozen=True, slots=True)
class Ranked:
    """Rows of the pool in rank order, and what a policy gave each."""

    order: NDArray[np.intp]
    rank: pa.Array
    score: NDArray[np.float64]
    cost: NDArray[np.float64]


def output_table(store: Store, estimates: PoolEstimates, policy: Policy, ranked: Ranked, *, full: bool) -> pa.Table:
    """One row per ranked item under the stable names; `full` adds the prompt and the user's own columns."""
    estimated = estimates.table.take(pa.array(ranked.order))
    columns = {"rank": ranked.rank} | {name: estimated[name] for name in ("item_id", "id")}
    details = None
    if full:
        with store.reading() as connection:
            details = item_details(connection, estimates.pool.pool_id, estimated["item_id"])
        columns["prompt"] = details["prompt"]
    columns |= {name: estimated[name] for name in ("k", "n_correct", *ESTIMATE_COLUMNS)}
    columns["score"] = pa.array(ranked.score, from_pandas=True)
    columns["cost"] = pa.array(ranked.cost)
    columns["policy"] = pa.repeat(policy.value, len(ranked.order))
    columns |= {name: estimated[name] for name in ("source", *SIGNAL_COLUMNS, "outcomes", "other_ids")}
    own = [] if details is None else [name for name in details.column_names if name != "prompt"]
    return pa.table(columns | {name: details[name] for name in own if details is not None})
