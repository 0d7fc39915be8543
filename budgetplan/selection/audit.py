"""The audit slice: items drawn at random from the whole eligible pool, not from the picks.

Invariant: the slice of size n is the first n eligible items by a seeded key, so it is a simple random sample, larger
slices contain smaller ones, and neither the row order nor the round changes it. What is already bought counts and costs
nothing.
"""

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from budgetplan.errors import BudgetError
from budgetplan.selection.amounts import ITEMS, SHARE, parse_amount
from budgetplan.selection.ties import tie_keys

TARGET_HALF_WIDTH = 0.10
_Z_90 = 1.6448536269514722  # the 95 % point of the normal distribution: 5 % outside on either side
_USUAL_SHARE_OF_BUDGET = 10  # a tenth
_SMALL_SHARE_OF_BUDGET = 4  # a quarter
_FEW_ITEMS = 10
_FEWEST_ITEMS = 5
_HINT = "Write items (--audit 30), a share of the pool (--audit 10%) or none (--audit 0)."


@dataclass(frozen=True, slots=True, eq=False)
class AuditSlice:
    """Rows of the pool, in the order they are drawn.

    `inclusion` is every eligible item's probability of being in it, `half_width` the ± of the 90 % interval that the
    slice gives for a share of the pool.
    """

    index: NDArray[np.intp]
    inclusion: float
    half_width: float


def draw(item_id: pa.StringArray, eligible: NDArray[np.bool_], seed: int, size: int) -> AuditSlice:
    """Draw `size` eligible items, or all where there are fewer."""
    pool = np.flatnonzero(eligible)
    size = min(size, len(pool))
    keys = tie_keys(item_id, seed, "audit")[pool]
    return AuditSlice(
        index=pool[np.argsort(keys, kind="stable")[:size]],
        inclusion=size / max(len(pool), 1),
        half_width=half_width(size, len(pool)),
    )


def half_width(n: int, n_pool: int) -> float:
    """Give the ± of the 90 % interval for a share of the pool at its widest, at p = .5; 1 where nothing is drawn.

    Normal approximation with the finite population correction (N - n) / (N - 1): Cochran, Sampling Techniques,
    section 3.5.
    """
    if n <= 0:
        return 1.0
    return _Z_90 * math.sqrt(0.25 / n * (n_pool - n) / max(n_pool - 1, 1))


def default_size(n_pool: int, n_affordable: int, n_before: int = 0) -> int:
    """Choose the smallest size that tells a pool share within ±0.10, or what a tenth of the budget buys if less.

    Of a small budget up to 10 new items take a quarter; none where it would not buy the 5 that trust takes without
    spending more than a third. It stays small since items drawn at random are worse
    picks: on 21 public sets of samples, a tenth of the budget spent on them cost an eighth of the quality of all that
    was bought. `n_before` items were drawn in earlier rounds.
    """
    few = max(n_affordable // _SMALL_SHARE_OF_BUDGET, _FEWEST_ITEMS if n_affordable >= 3 * _FEWEST_ITEMS else 0)
    new = max(n_affordable // _USUAL_SHARE_OF_BUDGET, min(max(_FEW_ITEMS - n_before, 0), few))
    if n_before + new < _FEWEST_ITEMS:
        new = 0
    return max(min(_sufficient_size(n_pool), n_before + new), n_before)


def parse_audit(text: str, n_pool: int, place: str = "--audit") -> int:
    """Read `30`, `30 items`, `10%` of the pool (rounded down, at least one item) or `0`."""
    if text.strip() in ("0", "0%"):
        return 0
    amount = parse_amount(text, place, _HINT)
    if amount.unit not in (SHARE, ITEMS, "") or (amount.unit != SHARE and amount.number.denominator != 1):
        raise BudgetError(f'{place}: "{text}" is neither a whole number of items nor a share of the pool.', hint=_HINT)
    items = max(math.floor(amount.number * n_pool), 1) if amount.unit == SHARE else int(amount.number)
    if items > n_pool:
        raise BudgetError(f'{place}: "{text}" is more than the pool ({n_pool} items).', hint="At most --audit 100%.")
    return items


def cannot_conclude(n: int, n_pool: int) -> str | None:
    """Say in one sentence what a slice this small cannot show; None where it is large enough."""
    enough = _sufficient_size(n_pool)
    if n >= enough:
        return None
    if n <= 0:
        return f"no audit items: nothing tells the pool's success rate; ±{TARGET_HALF_WIDTH:.2f} takes {enough}"
    tell = "1 audit item tells" if n == 1 else f"{n} audit items tell"
    within = math.ceil(100 * half_width(n, n_pool)) / 100  # up, or one item too few would read ±0.10 as well
    return f"{tell} the pool's success rate only within ±{within:.2f}; ±{TARGET_HALF_WIDTH:.2f} takes {enough}"


def _sufficient_size(n_pool: int) -> int:
    """Solve `half_width(n, n_pool) <= TARGET_HALF_WIDTH` for the smallest n."""
    unlimited = 0.25 * (_Z_90 / TARGET_HALF_WIDTH) ** 2
    return math.ceil(unlimited * n_pool / (n_pool - 1 + unlimited))
