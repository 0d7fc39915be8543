"""What every policy would buy for the same budget.

Invariant: all rows spend the same budget under the same costs and seed as the chosen one.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from budgetplan.errors import BudgetError, NothingToDo
from budgetplan.selection.batch import WHOLE
from budgetplan.selection.candidates import Candidates
from budgetplan.selection.choose import NO_WISHES, Choice, Wishes, bought
from budgetplan.selection.costs import Costs
from budgetplan.selection.policy import Policy


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """One policy's shortlist in numbers.

    `mean_p_hat` is over its `verified` items, `mean_p` and `mean_learnable` over the `estimated` ones, calibrated ones
    among them; None where it has none. `shared` items are also on the chosen shortlist. `items` is 0 where the policy
    cannot rank this pool.
    """

    policy: Policy
    items: int
    verified: int
    estimated: int
    mean_p_hat: float | None
    mean_p: float | None
    mean_learnable: float | None
    spent: float
    unit: str
    shared: int


def compare(
    candidates: Candidates,
    costs: Costs,
    chosen: Choice,
    wishes: Wishes = NO_WISHES,
    batch: Fraction = WHOLE,
    time_limit_seconds: float = 2.0,
) -> list[PolicyRow]:
    """Spend the chosen budget, or the same batch of it, under every policy and the same wishes.

    The limit holds for each of the others.
    """

    def picked(policy: Policy) -> NDArray[np.intp]:
        try:
            return bought(
                candidates,
                policy,
                costs,
                chosen.budget,
                seed=chosen.seed,
                wishes=wishes,
                batch=batch,
                time_limit_seconds=time_limit_seconds,
            )
        except (NothingToDo, BudgetError):  # no item, or none that is cheap enough, for this policy alone
            return np.zeros(0, dtype=np.intp)

    return [
        _row(policy, candidates, costs, chosen, chosen.order if policy == chosen.policy else picked(policy))
        for policy in Policy
    ]


def _row(policy: Policy, candidates: Candidates, costs: Costs, chosen: Choice, picked: NDArray[np.intp]) -> PolicyRow:
    verified, estimated = picked[candidates.verified[picked]], picked[candidates.estimated[picked]]
    return PolicyRow(
        policy=policy,
        items=len(picked),
        verified=len(verified),
        estimated=len(estimated),
        mean_p_hat=float(candidates.p_hat[verified].mean()) if verified.size else None,
        mean_p=float(candidates.p_mean[estimated].mean()) if estimated.size else None,
        mean_learnable=float(candidates.learnable[estimated].mean()) if estimated.size else None,
        spent=costs.total(picked),
        unit=costs.unit,
        shared=len(np.intersect1d(picked, chosen.order, assume_unique=True)),
    )
