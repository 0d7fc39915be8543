"""`shortlist`: choose what the budget buys, an audit slice of the pool included, and hand it to the writers."""

from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from importlib.metadata import version
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from budgetplan.config import Settings
from budgetplan.records import Progress
from budgetplan.selection.amounts import ITEMS
from budgetplan.selection.audit import AuditSlice, cannot_conclude, default_size, draw, parse_audit
from budgetplan.selection.batch import WHOLE, first_batch, parse_batch
from budgetplan.selection.budget import Budget
from budgetplan.selection.candidates import Candidates
from budgetplan.selection.choose import Choice, Wishes, choose
from budgetplan.selection.compare import PolicyRow, compare
from budgetplan.selection.cost_model import CostModel
from budgetplan.selection.costs import Costs
from budgetplan.selection.policy import Policy
from budgetplan.selection.scores import Scores, score
from budgetplan.selection.spending import affordable_items
from budgetplan.steps.columns import Ranked, output_table
from budgetplan.steps.estimates import estimates_to_rank
from budgetplan.steps.pricing import item_costs
from budgetplan.steps.rank import Standing, standing_of
from budgetplan.steps.rounds import available, await_labels, budget_of, carried_on, enter_left, enter_planned
from budgetplan.steps.shortlist_files import FileChoices, ShortlistFiles, check_files, write_shortlist
from budgetplan.steps.signals import run_to_rank
from budgetplan.steps.wishes import NO_WISHES, PoolWishes, WishChoices, list_entry, pool_wishes
from budgetplan.store.connection import Store
from budgetplan.store.pools import is_mostly_unanswered
from budgetplan.store.shortlists import audit_size, save_audit
from budgetplan.store.verdicts import most_frequent_answers

AUDIT_SEED = 0
"""The same for all rounds and settings, so that the slice of a pool only ever grows."""
SELECTION = "selection"
"""The purpose of a shortlist that spends a budget."""


@dataclass(frozen=True, slots=True)
class ShortlistChoices:
    """What holds for one shortlist alone, and is no setting of the project; without a budget, what is left is spent.

    `given` names the settings that were not left to their defaults; the others go on as in the shortlist before.
    """

    budget: str | None
    files: FileChoices
    wishes: WishChoices = NO_WISHES
    audit: str | None = None
    batch: str | None = None
    single_pass: bool = False
    dry_run: bool = False
    given: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Audit:
    """The pool's audit slice as it now is: `new` rows are bought with this shortlist, the others were before."""

    slice: AuditSlice
    new: NDArray[np.intp]
    cannot_conclude: str | None


@dataclass(frozen=True, slots=True)
class Shortlisted:
    """What was chosen, what other policies would have chosen, and where it was written (nowhere in a dry run).

    `table` has the picks in rank order, then the audit items that are no picks; `choice` knows only what was picked
    beside the audit slice. Of the must-have items, `n_must_bought` were bought or out for annotation before.
    """

    standing: Standing
    choice: Choice
    batch: Fraction
    audit: Audit
    cost_model: CostModel | None
    comparison: list[PolicyRow]
    table: pa.Table
    n_excluded: int
    n_taken: int
    wishes: PoolWishes
    n_must_bought: int
    shortlist_id: str | None
    files: ShortlistFiles | None

    @property
    def spent(self) -> float:
        """What all of it costs, in the choice's unit."""
        return float(pc.sum(self.table["cost"]).as_py() or 0.0)


def shortlist(
    store: Store, settings: Settings, wanted: str | None, choices: ShortlistChoices, progress: Progress
) -> Shortlisted:
    """Choose under the budget; outside a dry run, write the files and enter the shortlist into the store."""
    check_files(choices.files)
    with run_to_rank(store, wanted, progress) as run, store.reading() as connection:
        budget = budget_of(connection, run.pool_id, choices.budget)
        if choices.budget is None:
            settings = carried_on(connection, run.pool_id, settings, choices.given)
        policy = Policy(settings.policy)
        estimates = estimates_to_rank(
            store, run, settings.group_size, settings.passes_per_item, single_pass=choices.single_pass
        )
        free = available(connection, run.pool_id, estimates.table.num_rows)
        wishes = pool_wishes(store, run.pool_id, choices.wishes)
        candidates = estimates.candidates(wishes.eligible, free)
        if choices.budget is None and choices.batch is None and not candidates.verified.any():
            await_labels(connection, run.pool_id)
        pricing = item_costs(connection, run.pool_id, settings, candidates, budget)
        costs = pricing.costs
        unanswered, earlier = is_mostly_unanswered(connection, run.pool_id), audit_size(connection, run.pool_id)
        audit = _audit(candidates, costs, budget, choices, default=unanswered, earlier=earlier)
        batch = _batch(candidates, policy, affordable_items(budget, costs, candidates), choices)
        must = wishes.must[candidates.available[wishes.must]]
        wished = Wishes(np.setdiff1d(audit.new, must), must, wishes.quotas)
        choice = choose(candidates, policy, costs, budget, seed=settings.seed, wishes=wished, batch=batch)
        ranked = _ranked(score(candidates, policy, settings.seed), choice, audit, must, costs)
        table = output_table(store, estimates, policy, ranked, full=True)
        if choices.files.show_model_answer:
            answers = most_frequent_answers(connection, run.run_id, run.verdicts_by, table["item_id"])
            table = table.append_column("model_answer", answers)
        standing = standing_of(connection, run, estimates, policy, settings.group_size)
    in_audit = pc.is_in(table["item_id"], value_set=candidates.item_id.take(pa.array(audit.slice.index)))
    result = Shortlisted(
        standing=standing,
        choice=choice,
        batch=batch,
        audit=audit,
        cost_model=pricing.model,
        comparison=compare(candidates, costs, choice, wished, batch),
        table=table.append_column("audit", in_audit),
        n_excluded=int((~candidates.eligible).sum()),
        n_taken=int((candidates.eligible & ~candidates.available).sum()),
        wishes=wishes,
        n_must_bought=len(wishes.must) - len(must),
        shortlist_id=None,
        files=None,
    )
    return result if choices.dry_run else _stored(store, settings, choices, result, candidates.item_id)


def _batch(candidates: Candidates, policy: Policy, n_affordable: int, choices: ShortlistChoices) -> Fraction:
    """The share of the budget asked for, or by default a first part of it while no answer of the pool is known."""
    if choices.batch is not None:
        return parse_batch(choices.batch)
    learns = choices.budget is not None and policy != Policy.RANDOM
    return first_batch(n_affordable) if learns and not candidates.verified.any() else WHOLE


def _audit(
    candidates: Candidates, costs: Costs, budget: Budget, choices: ShortlistChoices, *, default: bool, earlier: int
) -> Audit:
    """The slice asked for, or by default one that pays, for a pool that is mostly without answers.

    What is left of a budget has paid for its slice already.
    """
    n_pool = int(candidates.eligible.sum())
    size, asked = 0, choices.audit
    if asked is not None:
        size = parse_audit(asked, n_pool)
    elif default and choices.budget is None:
        size = earlier
    elif default and n_pool:
        size = default_size(n_pool, affordable_items(budget, costs, candidates), earlier)
    drawn = draw(candidates.item_id, candidates.eligible, AUDIT_SEED, size)
    new = drawn.index[candidates.available[drawn.index]]
    wanted = default or asked is not None
    return Audit(drawn, new, cannot_conclude(len(drawn.index), n_pool) if wanted and n_pool else None)


def _ranked(scores: Scores, choice: Choice, audit: Audit, must: NDArray[np.intp], costs: Costs) -> Ranked:
    """Picks and new audit items in one table: those of the slice that would be picked anyway stand among the picks.

    At unequal costs a solver decides, so there nobody can say which would. What must be in says nothing of the cut.
    """
    in_slice = np.setdiff1d(audit.new[scores.candidate[audit.new]], choice.order)
    if choice.solver.status != "sorted":
        in_slice = in_slice[:0]
    by_policy = np.setdiff1d(choice.order, must)
    merged = scores.best_first(np.concatenate([by_policy, in_slice]))
    n_before_cut = int(np.flatnonzero(np.isin(merged, by_policy)).max(initial=-1)) + 1
    ranked = scores.best_first(np.concatenate([merged[:n_before_cut], np.intersect1d(choice.order, must)]))
    n_ranked = len(ranked)
    order = np.concatenate([ranked, np.setdiff1d(audit.new, ranked)])
    places = np.arange(1, len(order) + 1)
    return Ranked(order, pa.array(places, mask=places > n_ranked), scores.score[order], costs.values[order])


def _stored(
    store: Store, settings: Settings, choices: ShortlistChoices, result: Shortlisted, item_id: pa.StringArray
) -> Shortlisted:
    choice, audit = result.choice, result.audit
    entry = _settings(settings, result) | _wishes(choices.wishes, result, item_id)
    with write_shortlist(store, choices.files, entry, result.table, settings.seed) as (connection, name, files):
        if len(audit.slice.index):
            drawn = item_id.take(pa.array(audit.slice.index))
            save_audit(connection, result.standing.pool.pool_id, name, drawn, audit.slice.inclusion)
        enter_planned(connection, name, result.table.num_rows, result.spent, choice.unit)
        planned = result.table.num_rows if choice.left_unit == ITEMS else result.spent
        enter_left(connection, name, choice.left if choices.budget else -planned, choice.left_unit)
    return replace(result, shortlist_id=name, files=files)


def _settings(settings: Settings, result: Shortlisted) -> dict[str, Any]:
    """What was asked for and what came of it: the manifest's head, and the store's record."""
    standing, choice, audit = result.standing, result.choice, result.audit
    return {
        "budgetplan": version("budgetplan"),
        "purpose": SELECTION,
        "policy": choice.policy.value,
        "budget": choice.budget.text,
        "batch": float(result.batch),
        "spent": result.spent,
        "unit": choice.unit,
        "left": choice.left,
        "left_unit": choice.left_unit,
        "n_items": result.table.num_rows,
        "n_pool": choice.n_pool,
        "n_excluded": result.n_excluded,
        "n_taken": result.n_taken,
        "seed": choice.seed,
        "group_size": settings.group_size,
        "passes_per_item": settings.passes_per_item,
        "audit": {
            "n_items": len(audit.slice.index),
            "n_new": len(audit.new),
            "inclusion": audit.slice.inclusion,
            "half_width": audit.slice.half_width,
        },
        "n_tied_at_cut": choice.n_tied_at_cut,
        "n_tied_picked": choice.n_tied_picked,
        "tie_rule": choice.tie_rule,
        "solver": {"status": choice.solver.status, "bound": choice.solver.bound, "gap": choice.solver.gap},
        "cost_column": settings.cost_column,
        "cost_unit": settings.cost_unit,
        "cost_per_item": settings.cost_per_item,
        "cost_model": asdict(result.cost_model) if result.cost_model else None,
        "pool_id": standing.pool.pool_id,
        "pool": standing.pool.source,
        "run_id": standing.run.run_id,
        "probe": {**standing.run.config, "k": standing.run.k, "verifier": standing.run.verdicts_by},
        "without_answers": asdict(standing.without_answers) if standing.without_answers else None,
        "prior": {"a": standing.prior.a, "b": standing.prior.b},
    }


def _wishes(choices: WishChoices, result: Shortlisted, item_id: pa.StringArray) -> dict[str, Any]:
    """What was wished for, and how it came out."""
    return {
        "exclude": list(choices.exclude),
        "quotas": [
            {"quota": f"{one.quota.place}:{one.quota.asked}", "n_items": one.items, "share": one.share}
            for one in result.choice.quotas
        ],
        "must": list_entry(choices.must, result.wishes.must, item_id),
        "never": list_entry(choices.never, result.wishes.never, item_id),
    }
