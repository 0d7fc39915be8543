"""Where every item of a run's pool stands: counts from the store, through difficulty, into one table.

Invariant: the estimates of one run only, and p̂ only from samples judged against gold.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from budgetplan.difficulty.posterior import Prior, estimate, fit_prior
from budgetplan.selection.candidates import SIGNALS, VERIFIED, Candidates
from budgetplan.steps.health import OUTCOMES, health_of
from budgetplan.store.connection import Store
from budgetplan.store.pools import PoolRow, find_pool
from budgetplan.store.runs import ProbeRun
from budgetplan.store.verdicts import item_counts, truncated_share

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

    def candidates(self, eligible: NDArray[np.bool_] | None = None) -> Candidates:
        """The pool as the policies see it; all of it eligible where nothing is said."""
        everywhere = np.ones(self.table.num_rows, np.bool_)
        return Candidates.from_table(
            self.table.append_column("eligible", pa.array(everywhere if eligible is None else eligible))
        )


def pool_estimates(store: Store, run: ProbeRun, group_size: int) -> PoolEstimates:
    """Estimate every item of a run's pool."""
    with store.reading() as connection:
        pool = find_pool(connection, run.pool_id)
        counts = item_counts(connection, run.run_id, run.pool_id, run.verdicts_by)
        cut = truncated_share(connection, run.run_id)
    k, n_correct = counts["k"].to_numpy(), counts["n_correct"].to_numpy()
    prior = fit_prior(n_correct, k)
    estimates = estimate(n_correct, k, prior, group_size)
    table = counts.select(["item_id", "id", "other_ids", "k", "n_correct", "agreement", "first_correct"])
    for name in ESTIMATE_COLUMNS:
        table = table.append_column(name, pa.array(getattr(estimates, name), from_pandas=True))
    outcomes = pa.StructArray.from_arrays(
        [counts["n_" + name].combine_chunks() for name in OUTCOMES], names=list(OUTCOMES)
    )
    return PoolEstimates(
        pool=pool,
        table=table.append_column("source", _sources(counts)).append_column("outcomes", outcomes),
        prior=prior,
        n_conflicting=int(pc.sum(counts["conflicting"]).as_py() or 0),
        warnings=health_of(counts, cut, run.config.get("max_tokens")).warnings,
    )


def _sources(counts: pa.Table) -> pa.Array:
    """`verified` where p̂ exists, `signals` where only agreement does, else null.

    An item whose known answers contradict each other has neither, until the user says which holds.
    """
    verified = pc.greater(counts["k"], 0)
    signalled = pc.and_(pc.is_valid(counts["agreement"]), pc.invert(counts["conflicting"]))
    return pc.if_else(verified, VERIFIED, pc.if_else(signalled, SIGNALS, pa.scalar(None, pa.string())))
