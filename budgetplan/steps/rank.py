"""`rank`: every item's estimate under a policy, from the samples in the store."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from budgetplan.annotation.landing import landing
from budgetplan.annotation.tables import check_suffix, write_table
from budgetplan.config import Settings
from budgetplan.difficulty.histogram import Bin, histogram
from budgetplan.difficulty.posterior import Prior
from budgetplan.records import Progress
from budgetplan.selection.candidates import SIGNALS, VERIFIED
from budgetplan.selection.costs import Costs
from budgetplan.selection.policy import Policy
from budgetplan.selection.scores import Scores, score
from budgetplan.steps.columns import Ranked, output_table
from budgetplan.steps.estimates import PoolEstimates, pool_estimates
from budgetplan.steps.pricing import item_costs
from budgetplan.steps.upkeep import ready_run
from budgetplan.store.connection import Store
from budgetplan.store.pools import PoolRow
from budgetplan.store.runs import ProbeRun


@dataclass(frozen=True, slots=True)
class Standing:
    """What a ranking rests on; the same for `rank` and `shortlist`, and shown by both."""

    run: ProbeRun
    pool: PoolRow
    policy: Policy
    group_size: int
    prior: Prior
    histogram: list[Bin]
    n_verified: int
    n_signals: int
    n_conflicting: int
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The pool under one policy: `table` best first, items that cannot be ranked last with a null rank."""

    standing: Standing
    table: pa.Table
    out: Path | None


def rank(store: Store, settings: Settings, wanted: str | None, out: Path | None, progress: Progress) -> Ranking:
    """Estimate and rank; `out` (JSONL, CSV or Parquet by its ending) gets every item."""
    if out:
        check_suffix(out)
    policy = Policy(settings.policy)
    with ready_run(store, wanted, progress) as run, store.reading() as connection:
        estimates = pool_estimates(store, run, settings.group_size)
        candidates = estimates.candidates()
        costs = item_costs(connection, run.pool_id, settings, candidates).costs
        ranked = _ranked(score(candidates, policy, settings.seed), costs)
        table = output_table(store, estimates, policy, ranked, full=out is not None)
    if out:
        with landing(out) as (file,):
            write_table(table, file)
    return Ranking(standing_of(run, estimates, policy, settings.group_size), table, out)


def _ranked(scores: Scores, costs: Costs) -> Ranked:
    """The whole pool, best first; items that the policy cannot rank come last, without a rank."""
    ranking = scores.ranking()
    order = np.concatenate([ranking, np.flatnonzero(~scores.candidate)])
    places = np.arange(1, len(order) + 1)
    return Ranked(
        order=order,
        rank=pa.array(places, mask=places > len(ranking)),
        score=scores.score[order],
        cost=costs.values[order],
    )


def standing_of(run: ProbeRun, estimates: PoolEstimates, policy: Policy, group_size: int) -> Standing:
    """What the estimates of a run rest on."""
    p_hat = estimates.table["p_hat"].fill_null(np.nan).to_numpy()
    return Standing(
        run=run,
        pool=estimates.pool,
        policy=policy,
        group_size=group_size,
        prior=estimates.prior,
        histogram=histogram(p_hat, estimates.table["k"].to_numpy()),
        n_verified=estimates.n_from(VERIFIED),
        n_signals=estimates.n_from(SIGNALS),
        n_conflicting=estimates.n_conflicting,
        warnings=estimates.warnings,
    )
