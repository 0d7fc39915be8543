"""Features of a pool's prompts between the stage that computes them and the store that keeps them.

Invariant: they are computed once for a pool; in the store neighbours are item ids, outside rows of the pool.
"""

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from budgetplan.difficulty.prompts import N_NEAR, PROMPT_CHARACTERS, PromptFeatures, prompt_features
from budgetplan.errors import NothingToDo
from budgetplan.records import Progress
from budgetplan.store.connection import Store
from budgetplan.store.prompt_features import (
    has_prompt_features,
    load_prompt_features,
    pool_prompts,
    save_prompt_features,
)


def ready_prompt_features(store: Store, pool_id: str, progress: Progress) -> None:
    """Compute and store the features of a pool's prompts where they are missing.

    To be called while the store is not open, since it may write; nothing is open while it computes.
    """
    with store.reading() as connection:
        if has_prompt_features(connection, pool_id):
            return
        prompts = pool_prompts(connection, pool_id, PROMPT_CHARACTERS)
    features = prompt_features(prompts["prompt"], progress)
    with store.writing() as connection:
        save_prompt_features(connection, pool_id, _as_table(prompts["item_id"], features))


def prompt_features_of(connection: duckdb.DuckDBPyConnection, pool_id: str) -> PromptFeatures:
    """Read the features of a pool's prompts in file order; raises NothingToDo before `ready_prompt_features`."""
    table = load_prompt_features(connection, pool_id)
    if table is None:
        raise NothingToDo(f"the prompts of {pool_id} have no features yet.", hint="Compute them: budgetplan rank")
    values = _flat(table["components"]).to_numpy()
    components = values.reshape(table.num_rows, len(values) // max(table.num_rows, 1))
    n_near = pc.list_value_length(table["near"]).to_numpy()
    near = np.full((table.num_rows, N_NEAR), -1, np.int64)
    near[np.arange(N_NEAR) < n_near[:, None]] = pc.index_in(_flat(table["near"]), table["item_id"])
    return PromptFeatures(components, near)


def _as_table(item_ids: pa.ChunkedArray, features: PromptFeatures) -> pa.Table:
    """Features as the store keeps them."""
    n, n_components = features.components.shape
    found = features.near >= 0  # found ones come first in every row
    near = item_ids.combine_chunks().take(pa.array(features.near[found]))
    ends = np.concatenate([[0], np.cumsum(found.sum(axis=1))])
    return pa.table(
        {
            "item_id": item_ids,
            "components": _lists(np.arange(n + 1) * n_components, pa.array(features.components.ravel())),
            "near": _lists(ends, near),
        }
    )


def _lists(ends: NDArray[np.int64], values: pa.Array) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values)


def _flat(lists: pa.ChunkedArray) -> pa.Array:
    """All values of a column of lists, one after the other."""
    return lists.combine_chunks().flatten()
