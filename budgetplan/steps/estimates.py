"""Where every item of a run's pool stands: counts from the store, through difficulty, into one table.

Invariant: the estimates of one run only, and p̂ only from samples judged against gold.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from budgetplan.difficulty.posterior import Estimates, Prior, estimate, fit_prior, predicted
from budgetplan.records import COUNTED, Outcome
from budgetplan.selection.candidates import CALIBRATED, SIGNALS, VERIFIED, Candidates
from budgetplan.steps.health import health_of
from budgetplan.steps.signals import RunSignals, run_signals
from budgetplan.steps.unanswered import Unanswered, unanswered
from budgetplan.store.connection import Store
from budgetplan.store.pools import PoolRow, find_pool
from budgetplan.store.runs import ProbeRun
from budgetplan.store.verdicts import conflicting_items, item_counts, truncated_share

ESTIMATE_COLUMNS = ("p_hat", "p_mean", "p_low", "p_high", "learnable", "learnable_horizon")
SIGNAL_COLUMNS = (
    "agreement",
    "answer_entropy",
    "n_answers",
    "no_answer_rate",
    "truncation_rate",
    "mean_length",
    "length_spread",
    "mean_logprob",
    "text_similarity",
    "reference_agreement",
)


@dataclass(frozen=True, slots=True)
class PoolEstimates:
    """One row per item in file order: counts, estimates, signals, source; and what the estimates rest on.

    `unanswered` is None where no signals were given; their columns are null then. `passes_per_item` is the training
    that `learnable_horizon` is for.
    """

    pool: PoolRow
    table: pa.Table
    prior: Prior
    passes_per_item: float
    unanswered: Unanswered | None
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


def estimates_to_rank(
    store: Store, run: ProbeRun, group_size: int = 8, passes_per_item: float = 40.0, *, single_pass: bool = False
) -> PoolEstimates:
    """Estimate every item of a run's pool, by signals where it has no answer; they must be up to date (`run_to_rank`).

    Only `learnable` and `learnable_horizon` depend on the group size, the latter also on the passes.
    """
    with store.reading() as connection:
        signals = run_signals(connection, run, single_pass=single_pass)
        return pool_estimates(store, run, group_size, signals, passes_per_item)


def pool_estimates(
    store: Store, run: ProbeRun, group_size: int, signals: RunSignals | None, passes_per_item: float = 40.0
) -> PoolEstimates:
    """Estimate every item of a run's pool; those without an answer only where signals are given."""
    with store.reading() as connection:
        pool = find_pool(connection, run.pool_id)
        counts = item_counts(connection, run.run_id, run.pool_id, run.verdicts_by)
        conflicting = conflicting_items(connection, run.pool_id)
        cut = truncated_share(connection, run.run_id)
    n_correct, k = counts["n_correct"].to_numpy(), sum(counts["n_" + outcome].to_numpy() for outcome in COUNTED)
    prior = fit_prior(n_correct, k)
    others = unanswered(signals, counts["item_id"], n_correct, k) if signals else None
    source = _sources(counts["item_id"], k, others, conflicting)
    verified = estimate(n_correct, k, prior, group_size, passes_per_item)
    estimates = _with_calibrated(verified, others, source, group_size, passes_per_item)
    table = counts.select(["item_id", "id", "other_ids", "n_correct"])
    for name in ESTIMATE_COLUMNS:
        table = table.append_column(name, pa.array(getattr(estimates, name), from_pandas=True))
    table = (
        table.append_column("k", pa.array(k))
        .append_column("place", _place(others, len(k)))
        .append_column("first_correct", _first_correct(counts))
        .append_column("source", source)
        .append_column("outcomes", _outcomes(counts))
    )
    for name in SIGNAL_COLUMNS:
        table = table.append_column(name, signals.table[name] if signals else pa.nulls(len(k), pa.float64()))
    health = health_of(counts, cut, run.config.get("max_tokens"))
    return PoolEstimates(pool, table, prior, passes_per_item, others, len(conflicting), health.warnings)


def _with_calibrated(
    verified: Estimates, others: Unanswered | None, source: pa.Array, group_size: int, passes_per_item: float
) -> Estimates:
    """Add the calibrated posterior of the items that have no verified one."""
    if others is None or others.calibrated is None:
        return verified
    asked = pc.fill_null(pc.equal(source, CALIBRATED), False).to_numpy(zero_copy_only=False)
    p = np.where(asked, others.calibrated.p, np.nan)
    concentration = others.calibrated.calibration.concentration
    return verified.filled_from(predicted(p, concentration, group_size, passes_per_item))


def _place(others: Unanswered | None, n_items: int) -> pa.Array:
    return pa.nulls(n_items, pa.float64()) if others is None else pa.array(others.place, from_pandas=True)


def _first_correct(counts: pa.Table) -> pa.Array:
    """Whether sample 0 was correct; null where it was not judged against gold."""
    counted = pc.is_in(counts["first"], value_set=pa.array([outcome.value for outcome in COUNTED]))
    return pc.if_else(counted, pc.equal(counts["first"], Outcome.CORRECT.value), pa.scalar(None, pa.bool_()))


def _outcomes(counts: pa.Table) -> pa.StructArray:
    return pa.StructArray.from_arrays(
        [counts["n_" + outcome].combine_chunks() for outcome in Outcome], names=[outcome.value for outcome in Outcome]
    )


def _sources(
    item_id: pa.ChunkedArray, k: NDArray[np.int64], others: Unanswered | None, conflicting: list[str]
) -> pa.Array:
    """`verified` where p̂ exists, `calibrated` or `signals` where only signals do, else null.

    An item whose known answers contradict each other has none of these, until the user says which holds.
    """
    by_signals = CALIBRATED if others and others.calibrated else SIGNALS
    signalled = pc.is_valid(_place(others, len(k)))
    if conflicting:
        signalled = pc.and_(signalled, pc.invert(pc.is_in(item_id, value_set=pa.array(conflicting))))
    return pc.if_else(pa.array(k > 0), VERIFIED, pc.if_else(signalled, by_signals, pa.scalar(None, pa.string())))
