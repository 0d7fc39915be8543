"""`rank`: every item's estimate under a policy, from the samples in the store."""

from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from budgetplan.annotation.landing import landing
from budgetplan.annotation.tables import check_suffix, write_table
from budgetplan.config import Settings
from budgetplan.difficulty.histogram import Bin, histogram
from budgetplan.difficulty.posterior import Prior
from budgetplan.records import Progress
from budgetplan.selection.candidates import CALIBRATED, SIGNALS, VERIFIED
from budgetplan.selection.costs import Costs
from budgetplan.selection.policy import Policy
from budgetplan.selection.scores import Scores, score
from budgetplan.steps.columns import Ranked, output_table
from budgetplan.steps.estimates import PoolEstimates, estimates_to_rank
from budgetplan.steps.pricing import item_costs
from budgetplan.steps.signals import run_to_rank
from budgetplan.steps.trust import WithoutAnswers, without_answers
from budgetplan.store.connection import Store
from budgetplan.store.ledger import left_to_plan
from budgetplan.store.pools import PoolRow
from budgetplan.store.runs import ProbeRun


@dataclass(frozen=True, slots=True)
class Standing:
    """What a ranking rests on; the same for `rank` and `shortlist`, and shown by both."""

    run: ProbeRun
    pool: PoolRow
    policy: Policy
    group_size: int
    passes_per_item: float
    prior: Prior
    histogram: list[Bin]
    n_verified: int
    n_calibrated: int
    n_signals: int
    n_conflicting: int
    without_answers: WithoutAnswers | None
    warnings: list[str]

    @property
    def n_by_signals(self) -> int:
        """Items without an answer that are ranked all the same."""
        return self.n_calibrated + self.n_signals


@dataclass(frozen=True, slots=True)
class Ranking:
    """The pool under one policy: `table` best first, items that cannot be ranked last with a null rank."""

    standing: Standing
    table: pa.Table
    out: Path | None
    budget_is_left: bool


@dataclass(frozen=True, slots=True)
class RankChoices:
    """What holds for one ranking alone: the run, where it is written, and whether first samples alone are looked at."""

    run: str | None = None
    out: Path | None = None
    single_pass: bool = False


def rank(store: Store, settings: Settings, choices: RankChoices, progress: Progress) -> Ranking:
    """Estimate and rank; `out` (JSONL, CSV or Parquet by its ending) gets every item."""
    out = choices.out
    if out:
        check_suffix(out)
    policy = Policy(settings.policy)
    with run_to_rank(store, choices.run, progress) as run, store.reading() as connection:
        estimates = estimates_to_rank(
            store, run, settings.group_size, settings.passes_per_item, single_pass=choices.single_pass
        )
        candidates = estimates.candidates()
        costs = item_costs(connection, run.pool_id, settings, candidates).costs
        ranked = _ranked(score(candidates, policy, settings.seed), costs)
        table = output_table(store, estimates, policy, ranked, full=out is not None)
        budget_is_left = any(amount > 0 for amount in left_to_plan(connection, run.pool_id).values())
        standing = standing_of(connection, run, estimates, policy, settings.group_size)
    if out:
        with landing(out) as (file,):
            write_table(table, file)
    return Ranking(standing, table, out, budget_is_left)


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


def standing_of(
    connection: duckdb.DuckDBPyConnection, run: ProbeRun, estimates: PoolEstimates, policy: Policy, group_size: int
) -> Standing:
    """What the estimates of a run rest on."""
    p_hat = estimates.table["p_hat"].fill_null(np.nan).to_numpy()
    return Standing(
        run=run,
        pool=estimates.pool,
        policy=policy,
        group_size=group_size,
        passes_per_item=estimates.passes_per_item,
        prior=estimates.prior,
        histogram=histogram(p_hat, estimates.table["k"].to_numpy()),
        n_verified=estimates.n_from(VERIFIED),
        n_calibrated=estimates.n_from(CALIBRATED),
        n_signals=estimates.n_from(SIGNALS),
        n_conflicting=estimates.n_conflicting,
        without_answers=without_answers(connection, estimates),
        warnings=estimates.warnings,
    )
