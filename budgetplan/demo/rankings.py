"""Owns the demo's look at a ranking: what the store ranks its pool by at this moment, in columns.

Invariant: only what `rank` itself would use; nothing here knows an answer that the store does not.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from budgetplan.records import Silent
from budgetplan.steps.estimates import estimates_to_rank
from budgetplan.steps.signals import run_to_rank
from budgetplan.store.connection import Store


@dataclass(frozen=True, slots=True, eq=False)
class PoolRanking:
    """One entry per item in file order, low = hard, nan where there is no such number.

    `place` is what the ranking ranks by, `p_mean` the posterior mean, `p_hat` the share of correct samples, `blind` the
    place that an item has without its own label, `agreement` self-agreement; `answered` marks items with an answer.
    """

    item_id: pa.ChunkedArray
    place: NDArray[np.float64]
    p_mean: NDArray[np.float64]
    p_hat: NDArray[np.float64]
    blind: NDArray[np.float64]
    agreement: NDArray[np.float64]
    answered: NDArray[np.bool_]


def ranking_of(store: Store, run_id: str | None = None) -> PoolRanking:
    """Look at the ranking of a run's pool, the last used run's where none is named."""
    with run_to_rank(store, run_id, Silent()) as run:
        estimates = estimates_to_rank(store, run)
    candidates, others = estimates.candidates(), estimates.unanswered
    blind = candidates.location
    if others is not None:
        blind = others.place if others.blind is None else others.blind
    return PoolRanking(
        item_id=estimates.table["item_id"],
        place=candidates.location,
        p_mean=candidates.p_mean,
        p_hat=candidates.p_hat,
        blind=blind,
        agreement=np.asarray(estimates.table["agreement"].cast(pa.float64()).fill_null(np.nan)),
        answered=candidates.verified,
    )
