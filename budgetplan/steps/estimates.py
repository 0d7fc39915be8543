"""Where every item of a run's pool stands: counts from the store, through difficulty, into one table.

Invariant: the estimates of one run only, and p̂ only from samples judged against gold.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from budgetplan.difficulty.posterior import Prior, estimate, fit_prior
from budgetplan.records import COUNTED, Outcome
from budgetplan.selection.candidates import SIGNALS, VERIFIED, Candidates
from budgetplan.steps.health import health_of
from budgetplan.store.connection import Store
from budgetplan.store.pools import PoolRow, find_pool
from budgetplan.store.runs import ProbeRun
from budgetplan.store.verdicts import agreement, conflicting_items, item_counts, truncated_share

ESTIMATE_COLUMNS = ("p_hat", "p_mean", "p_low", "p_high", "learnable")


@dataclass(frozen=True, slots=True)
class PoolEstimates:
    """One row per item in file order: counts, estimates, agreement, source; and what the estimates rest on."""

    pool: PoolRow
    table: pa.Table
    prior: Prior
    n_conflicting: int
    warnings: list[str]

    def n_from(self, source: str) -> int:
        """Items with estimates from this source."""
        return int(pc.sum(pc.equal(self.table["source"], source)).as_py() or 0)

    def candidates(
        self, eligible: NDArray[np.bool_] | None = None, available: NDArray[np.bool_] | None = None
    ) -> Candidates:
        """The pool as the policies see it; all of it eligible and available where nothing is said."""
        table = self.table
        for name, marks in (("eligible", eligible), ("available", available)):
            everywhere = np.ones(self.table.num_rows, np.bool_)
            table = table.append_column(name, pa.array(everywhere if marks is None else marks))
        return Candidates.from_table(table)


def pool_estimates(store: Store, run: ProbeRun, group_size: int) -> PoolEstimates:
    """Estimate every item of a run's pool."""
    with store.reading() as connection:
        pool = find_pool(connection, run.pool_id)
        counts = item_counts(connection, run.run_id, run.pool_id, run.verdicts_by)
        conflicting = conflicting_items(connection, run.pool_id)
        agreed = pa.nulls(counts.num_rows, pa.float64())
        if pc.any(pc.greater(counts["n_unknown"], 0)).as_py():
            agreed = agreement(connection, run.run_id, run.pool_id, run.verdicts_by)
        cut = truncated_share(connection, run.run_id)
    k = sum(counts["n_" + outcome].to_numpy() for outcome in COUNTED)
    prior = fit_prior(counts["n_correct"].to_numpy(), k)
    estimates = estimate(counts["n_correct"].to_numpy(), k, prior, group_size)
    table = counts.select(["item_id", "id", "other_ids", "n_correct"])
    for name in ESTIMATE_COLUMNS:
        table = table.append_column(name, pa.array(getattr(estimates, name), from_pandas=True))
    outcomes = pa.StructArray.from_arrays(
        [counts["n_" + outcome].combine_chunks() for outcome in Outcome], names=[outcome.value for outcome in Outcome]
    )
    return PoolEstimates(
        pool=pool,
        table=table.append_column("k", pa.array(k))
        .append_column("agreement", agreed)
        .append_column("first_correct", _first_correct(counts))
        .append_column("source", _sources(table["item_id"], k, agreed, conflicting))
        .append_column("outcomes", outcomes),
        prior=prior,
        n_conflicting=len(conflicting),
        warnings=health_of(counts, cut, run.config.get("max_tokens")).warnings,
    )


def _first_correct(counts: pa.Table) -> pa.Array:
    """Whether sample 0 was correct; null where it was not judged against gold."""
    counted = pc.is_in(counts["first"], value_set=pa.array([outcome.value for outcome in COUNTED]))
    return pc.if_else(counted, pc.equal(counts["first"], Outcome.CORRECT.value), pa.scalar(None, pa.bool_()))


def _sources(item_id: pa.ChunkedArray, k: NDArray[np.int64], agreed: pa.Array, conflicting: list[str]) -> pa.Array:
    """`verified` where p̂ exists, `signals` where only agreement does, else null.

    An item whose known answers contradict each other has neither, until the user says which holds.
    """
    signalled = pc.is_valid(agreed)
    if conflicting:
        signalled = pc.and_(signalled, pc.invert(pc.is_in(item_id, value_set=pa.array(conflicting))))
    return pc.if_else(pa.array(k > 0), VERIFIED, pc.if_else(signalled, SIGNALS, pa.scalar(None, pa.string())))
