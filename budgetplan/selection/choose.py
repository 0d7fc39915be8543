"""Which items a budget buys under a policy.

Invariant: the picks never cost more than the budget, and depend on the seed and the items, not on the row order.
"""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from budgetplan.errors import NothingToDo
from budgetplan.selection.batch import WHOLE
from budgetplan.selection.budget import Budget
from budgetplan.selection.candidates import Candidates
from budgetplan.selection.constrained import pack_within
from budgetplan.selection.costs import Costs
from budgetplan.selection.impossible import Ask, why_not
from budgetplan.selection.knapsack import Packing, fill, pack
from budgetplan.selection.policy import Policy
from budgetplan.selection.quotas import QuotaKept, Quotas, check_floors, kept, rows_of
from budgetplan.selection.rows import Rows
from budgetplan.selection.scores import Scores, score
from budgetplan.selection.seeded import draw_within
from budgetplan.selection.spending import above_for_must, below_cheapest, capacity_of, costs_under

_SEEDED = (Policy.RANDOM, Policy.BASE_WRONG)
_TIES_BY_KEY = "equal scores: lowest seeded hash of the item_id first"
_TIES_BY_SOLVER = "equal score and cost: lowest seeded hash of the item_id first; equally good combinations: the solver"


NO_ROWS: NDArray[np.intp] = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class Wishes:
    """What holds beside policy and budget, as rows of the pool.

    `reserved` rows (new audit items) are paid out of the budget first, and are not picked; `must` rows are paid next,
    and are picked whatever the policy says of them. `quotas` hold for all picks, the must-have ones among them.
    """

    reserved: NDArray[np.intp] = field(default_factory=NO_ROWS.copy)
    must: NDArray[np.intp] = field(default_factory=NO_ROWS.copy)
    quotas: Quotas | None = None


NO_WISHES = Wishes()


@dataclass(frozen=True, slots=True)
class Solver:
    """How the picks were found: "sorted" (equal costs), "filled" (seeded order), "optimal", "time limit", "stopped".

    `objective` is the summed value of the picks, `bound` what no set within the budget exceeds, `gap` their relative
    distance; None where nothing is maximised.
    """

    status: str
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The picks, best first: `order` indexes the candidates' columns, `score` and `cost` go with it.

    `left` of the budget buys nothing more, in `left_unit`: "items" for a budget in items, else the unit of the costs.
    `n_tied_at_cut` items are equal to the last picks, of which `n_tied_picked` were picked by the tie rule; both 0 when
    the cut falls between two scores. `exhausted`: every candidate was bought and budget is left.
    """

    policy: Policy
    seed: int
    budget: Budget
    order: NDArray[np.intp]
    score: NDArray[np.float64]
    cost: NDArray[np.float64]
    spent: float
    unit: str
    left: float
    left_unit: str
    n_pool: int
    n_candidates: int
    exhausted: bool
    n_tied_at_cut: int
    n_tied_picked: int
    tie_rule: str
    solver: Solver
    n_must: int = 0
    quotas: tuple[QuotaKept, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Offer:
    """The candidates' rows (`index`), and what the policy and the budget say of each.

    `capacity` is what may be spent now, `granted` what the whole budget grants for picks beside the must-have ones;
    both in quanta. `rows` are the quotas, None without any.
    """

    index: NDArray[np.intp]
    value: NDArray[np.float64]
    tie_key: NDArray[np.uint64]
    quanta: NDArray[np.int64]
    capacity: int
    granted: int
    rows: Rows | None


@dataclass(frozen=True, slots=True, eq=False)
class _Picks:
    """Marks over the offer, and the keys in which equals are equal."""

    taken: NDArray[np.bool_]
    tied_by: tuple[NDArray[np.generic], ...]
    tie_rule: str
    solver: Solver


def choose(
    candidates: Candidates,
    policy: Policy,
    costs: Costs,
    budget: Budget,
    *,
    seed: int = 0,
    wishes: Wishes = NO_WISHES,
    batch: Fraction = WHOLE,
    time_limit_seconds: float = 10.0,
) -> Choice:
    """Pick what the budget buys: the top floor(p·N) at equal costs, else the most summed value (knapsack).

    N and the total a share is taken of are all eligible items, also those without an estimate and those already bought.
    random and base-wrong maximise nothing: at unequal costs they take items in their seeded order and skip what no
    longer fits; under quotas, the first n of each group that keep them (`seeded`). Of what reserved and must-have items
    leave of the budget, the share `batch` is spent (rounded up, at least the cheapest item). Raises BudgetError for a
    budget below the must-have items or the cheapest item, above what is left to buy or in another unit than the costs,
    and for quotas that cannot be kept; NothingToDo where the policy can rank no item that is left.
    """
    scores = score(candidates, policy, seed)
    paid_in = costs_under(budget, costs)
    offer = _offer(candidates, scores, paid_in, budget, wishes, batch)
    picks = _pick(policy, offer, wishes, paid_in, time_limit_seconds)
    order = scores.best_first(np.concatenate([wishes.must, offer.index[picks.taken]]))
    tied, tied_picked = _split_ties(picks.tied_by, picks.taken)
    return Choice(
        policy=policy,
        seed=seed,
        budget=budget,
        order=order,
        score=scores.score[order],
        cost=costs.values[order],
        spent=costs.total(order),
        unit=costs.unit,
        left=(offer.granted - int(offer.quanta[picks.taken].sum())) / paid_in.quanta_per_unit,
        left_unit=paid_in.unit,
        n_pool=int(candidates.eligible.sum()),
        n_candidates=len(offer.index),
        exhausted=bool(picks.taken.all()) and int(offer.quanta.sum()) < offer.granted,
        n_tied_at_cut=tied,
        n_tied_picked=tied_picked,
        tie_rule=picks.tie_rule,
        solver=picks.solver,
        n_must=len(wishes.must),
        quotas=kept(wishes.quotas, order) if wishes.quotas else (),
    )


def bought(
    candidates: Candidates,
    policy: Policy,
    costs: Costs,
    budget: Budget,
    *,
    seed: int,
    wishes: Wishes,
    batch: Fraction,
    time_limit_seconds: float,
) -> NDArray[np.intp]:
    """Only the rows that `choose` would pick, in file order, without what it says about them; raises the same."""
    scores = score(candidates, policy, seed)
    paid_in = costs_under(budget, costs)
    offer = _offer(candidates, scores, paid_in, budget, wishes, batch)
    taken = _pick(policy, offer, wishes, paid_in, time_limit_seconds).taken
    return np.union1d(wishes.must, offer.index[taken])


def _offer(
    candidates: Candidates, scores: Scores, paid_in: Costs, budget: Budget, wishes: Wishes, batch: Fraction
) -> _Offer:
    offered = scores.candidate.copy()
    offered[wishes.reserved] = False
    offered[wishes.must] = False
    index = np.flatnonzero(offered)
    if not index.size and not wishes.must.size:
        raise _nothing_left(candidates, scores)
    for_slice, for_must = (int(paid_in.quanta[rows].sum()) for rows in (wishes.reserved, wishes.must))
    granted = capacity_of(budget, paid_in, candidates) - for_slice - for_must
    if for_must and granted < 0:
        raise above_for_must(budget, paid_in, candidates, len(wishes.must), for_must, for_slice)
    quanta, tie_key = paid_in.quanta[index], scores.tie_key[index]
    if index.size and quanta.min() > granted and not wishes.must.size:
        cheapest = int(index[np.lexsort((tie_key, quanta))[0]])
        raise below_cheapest(budget, paid_in, candidates, cheapest, for_slice)
    capacity = min(max(math.ceil(granted * batch), int(quanta.min(initial=granted))), granted)
    rows = None
    if wishes.quotas:
        check_floors(wishes.quotas)
        rows = rows_of(wishes.quotas, index, wishes.must)
    return _Offer(index, scores.value[index], tie_key, quanta, capacity, granted, rows)


def _nothing_left(candidates: Candidates, scores: Scores) -> NothingToDo:
    if scores.candidate.any():
        return NothingToDo(
            f"the audit slice takes every item that policy {scores.policy} could pick.", hint="Draw fewer: --audit 10%"
        )
    return _nothing_to_rank(candidates, scores.policy)


def _pick(policy: Policy, offer: _Offer, wishes: Wishes, paid_in: Costs, time_limit_seconds: float) -> _Picks:
    if offer.rows is not None and wishes.quotas:
        picks = _within_quotas(policy, offer, offer.rows, time_limit_seconds)
        if picks is None:
            spent = int(paid_in.quanta[wishes.must].sum() + paid_in.quanta[wishes.reserved].sum())
            ask = Ask(wishes.quotas, offer.rows, offer.index, wishes.must, offer.quanta, offer.capacity, spent)
            raise why_not(ask, paid_in)
        return picks
    value, quanta, cheapest = offer.value, offer.quanta, int(offer.quanta.min(initial=offer.capacity + 1))
    if cheapest > offer.capacity:
        return _Picks(np.zeros(len(value), dtype=np.bool_), (value,), _TIES_BY_KEY, Solver("sorted"))
    if cheapest == int(quanta.max()):
        count = min(offer.capacity // cheapest, len(value)) if cheapest else len(value)
        return _Picks(_top(value, offer.tie_key, count), (value,), _TIES_BY_KEY, Solver("sorted"))
    if policy in _SEEDED:
        seeded = np.lexsort((offer.tie_key, -value))
        taken = np.zeros(len(value), dtype=np.bool_)
        taken[seeded] = fill(quanta[seeded], offer.capacity)
        return _Picks(taken, (value,), _TIES_BY_KEY, Solver("filled"))
    packing = pack(value, quanta, offer.tie_key, offer.capacity, time_limit_seconds)
    return _Picks(packing.taken, (value, quanta), _TIES_BY_SOLVER, _solver(packing))


def _within_quotas(policy: Policy, offer: _Offer, rows: Rows, time_limit_seconds: float) -> _Picks | None:
    value, quanta, key = offer.value, offer.quanta, offer.tie_key
    if policy in _SEEDED:
        first = key if policy == Policy.RANDOM else ~key  # base-wrong: equals, so the lowest key goes first
        drawn = draw_within(quanta, first, offer.capacity, rows, time_limit_seconds)
        if drawn is not None:
            return _Picks(drawn, (value, rows.group), _TIES_BY_KEY, Solver("filled"))
    packing = pack_within(value, quanta, key, offer.capacity, rows, time_limit_seconds)
    return _Picks(packing.taken, (value, quanta, rows.group), _TIES_BY_SOLVER, _solver(packing)) if packing else None


def _solver(packing: Packing) -> Solver:
    return Solver(packing.status, packing.objective, packing.bound, packing.gap, packing.seconds)


def _top(value: NDArray[np.float64], key: NDArray[np.uint64], count: int) -> NDArray[np.bool_]:
    """Mark the `count` largest values, equals by lowest key, without sorting the rest."""
    cut = float(np.partition(value, len(value) - count)[len(value) - count])
    taken: NDArray[np.bool_] = value > cut
    tied = np.flatnonzero(value == cut)
    still = count - int(taken.sum())
    taken[tied[np.argpartition(key[tied], still - 1)[:still]]] = True
    return taken


def _split_ties(tied_by: tuple[NDArray[np.generic], ...], taken: NDArray[np.bool_]) -> tuple[int, int]:
    """Count the items of all groups of equals that were bought in part, and how many of them were bought."""
    if taken.all() or not taken.any():
        return 0, 0
    value = tied_by[0]
    near = (value >= value[taken].min()) & (value <= value[~taken].max())  # all that a split group can hold
    if not near.any():
        return 0, 0
    tied_by, taken = tuple(key[near] for key in tied_by), taken[near]
    order = np.lexsort(tied_by)
    new = np.zeros(len(order), dtype=np.bool_)
    new[0] = True
    for key in tied_by:
        new[1:] |= key[order[1:]] != key[order[:-1]]
    starts = np.flatnonzero(new)
    bought = np.add.reduceat(taken[order].astype(np.int64), starts)
    size = np.diff(starts, append=len(order))
    split = (bought > 0) & (bought < size)
    return int(size[split].sum()), int(bought[split].sum())


def _nothing_to_rank(candidates: Candidates, policy: Policy) -> NothingToDo:
    if not candidates.eligible.any():
        return NothingToDo("every item of the pool is kept out of shortlists.", hint="Loosen --exclude.")
    whole_pool = replace(candidates, available=np.ones_like(candidates.available))
    if score(whole_pool, policy, seed=0).candidate.any():
        return NothingToDo(
            f"every item that policy {policy} can rank is already bought or out for annotation.",
            hint="Bring the labels in: budgetplan ingest FILE, or take back what is out: budgetplan recall SHORTLIST",
        )
    if np.any(candidates.eligible & ~np.isnan(candidates.location)):
        reason = (
            "found no item whose first sample was, or is predicted to be, wrong"
            if policy == Policy.BASE_WRONG
            else "needs estimates of p, which signals give only once some items are labelled"
        )
        return NothingToDo(f"policy {policy} {reason}.", hint="Use another: budgetplan shortlist --policy hard")
    return NothingToDo("no item has samples to rank by.", hint="Sample them: budgetplan probe POOL")
