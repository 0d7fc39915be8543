"""What every policy would buy for the same budget.

Invariant: all rows spend the same budget under the same costs and seed as the chosen one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from budgetplan.errors import BudgetError, NothingToDo
from budgetplan.selection.candidates import Candidates
from budgetplan.selection.choose import Choice, bought
from budgetplan.selection.costs import Costs
from budgetplan.selection.policy import Policy


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """One policy's shortlist in numbers; the means are over its `verified` items, None where it has none.

    `shared` items are also on the chosen shortlist. `items` is 0 where the policy cannot rank this pool.
    """

    policy: Policy
    items: int
    verified: int
    mean_p_hat: float | None
    mean_learnable: float | None
    spent: float
    unit: str
    shared: int


def compare(candidates: Candidates, costs: Costs, chosen: Choice, time_limit_seconds: float = 2.0) -> list[PolicyRow]:
    """Spend the chosen budget under every policy; the limit holds for each of the others."""
    rows = []
    for policy in Policy:
        picked = chosen.order
        if policy != chosen.policy:
            picked = _picked(policy, candidates, costs, chosen, time_limit_seconds)
        rows.append(_row(policy, candidates, costs, chosen, picked))
    return rows


def _picked(
    policy: Policy, candidates: Candidates, costs: Costs, chosen: Choice, time_limit_seconds: float
) -> NDArray[np.intp]:
    try:
        return bought(candidates, policy, costs, chosen.budget, seed=chosen.seed, time_limit_seconds=time_limit_seconds)
    except (NothingToDo, BudgetError):  # no item, or none that is cheap enough, for this policy alone
        return np.zeros(0, dtype=np.intp)


def _row(policy: Policy, candidates: Candidates, costs: Costs, chosen: Choice, picked: NDArray[np.intp]) -> PolicyRow:
    verified = picked[candidates.verified[picked]]
    return PolicyRow(
        policy=policy,
        items=len(picked),
        verified=len(verified),
        mean_p_hat=float(candidates.p_hat[verified].mean()) if verified.size else None,
        mean_learnable=float(candidates.learnable[verified].mean()) if verified.size else None,
        spent=costs.total(picked),
        unit=costs.unit,
        shared=len(np.intersect1d(picked, chosen.order, assume_unique=True)),
    )
