"""What labelling each item costs, in whole milliseconds or millionths of a currency.

Invariant: costs are non-negative integers (`quanta`), so sums are exact and ten items at 0.1 cost 1, never more.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from budgetplan.errors import BudgetError
from budgetplan.selection.amounts import CURRENCIES, HOURS, ITEMS, Amount, parse_amount, unit_of

_QUANTA = {ITEMS: 1, HOURS: 3_600_000, **dict.fromkeys(CURRENCIES, 1_000_000)}
_LARGEST_TOTAL = 2**62
_COST_HINT = "Write what one item costs with its unit: --cost-per-item 4usd or --cost-per-item 5min."


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """One cost per item of the pool; `unit` is "items" (nothing known: each item costs one item), "h" or a currency."""

    quanta: NDArray[np.int64]
    unit: str

    @property
    def quanta_per_unit(self) -> int:
        """How many quanta make one item, hour or currency unit."""
        return _QUANTA[self.unit]

    @property
    def values(self) -> NDArray[np.float64]:
        """Costs in `unit`."""
        return self.quanta / self.quanta_per_unit

    def total(self, index: NDArray[np.intp]) -> float:
        """Add up the costs of the items at `index`, in `unit`."""
        return int(self.quanta[index].sum()) / self.quanta_per_unit

    def amount(self, quanta: int) -> Amount:
        """Turn a sum of quanta into an amount to show."""
        return Amount(Fraction(quanta, self.quanta_per_unit), self.unit)


def unpriced(items: int) -> Costs:
    """Let every item cost one item: for budgets in items or in percent."""
    return Costs(np.ones(items, dtype=np.int64), ITEMS)


def parse_cost_per_item(text: str, items: int, place: str = "--cost-per-item") -> Costs:
    """Give every item the same cost, `4usd` or `5min`."""
    amount = parse_amount(text, place, _COST_HINT)
    if amount.unit not in (HOURS, *CURRENCIES):
        raise BudgetError(f'{place}: "{text}" needs a unit of time or money.', hint=_COST_HINT)
    quanta = round(amount.number * _QUANTA[amount.unit])
    if not 0 < quanta <= _LARGEST_TOTAL // max(items, 1):
        raise BudgetError(f'{place}: "{text}" is too small or too large to add up exactly.', hint=_COST_HINT)
    return Costs(np.full(items, quanta, dtype=np.int64), amount.unit)


def cost_unit_of(column: str, given: str | None = None) -> tuple[str, Fraction]:
    """Find a cost column's unit: as given, else the last word of its name that is one (`cost_usd`, `label_minutes`)."""
    words = [given] if given else re.findall(r"[^\W_]+|[$€£]", column)[::-1]
    for word in words:
        found = unit_of(word)
        if found and found[0] in (HOURS, *CURRENCIES):
            return found
    what = f'unit "{given}" of cost column "{column}"' if given else f'cost column "{column}"'
    raise BudgetError(
        f"{what}: no unit of time or money that is known.",
        hint="Name it: --cost-unit min (s, min, h) or --cost-unit usd (usd, eur, gbp).",
    )


def parse_cost_column(
    column: str,
    values: pa.Array | pa.ChunkedArray,
    item_id: pa.StringArray,
    eligible: NDArray[np.bool_],
    unit: str | None = None,
) -> Costs:
    """Read the user's column, numbers or their text, one per item; items that are not eligible may lack a cost.

    Raises BudgetError naming the first item whose cost is missing, not a number, negative or not finite.
    """
    measure, factor = cost_unit_of(column, unit)
    numbers = _as_numbers(values)
    bad = np.flatnonzero(eligible & ~(np.isfinite(numbers) & (numbers >= 0)))
    if bad.size:
        value = values[int(bad[0])].as_py()
        raise BudgetError(
            f'cost column "{column}": item {item_id[int(bad[0])].as_py()} has '
            + ("no cost." if value is None else f'"{value}", which is no cost.'),
            hint="Give it a number of 0 or more, leave it out with --exclude, or use --cost-per-item.",
        )
    exact = np.where(eligible, numbers, 0.0) * float(factor * _QUANTA[measure])
    if exact.sum() > _LARGEST_TOTAL:
        raise BudgetError(f'cost column "{column}": the costs add up to more than can be counted.', hint=_COST_HINT)
    return Costs(np.rint(exact).astype(np.int64), measure)


def _as_numbers(values: pa.Array | pa.ChunkedArray) -> NDArray[np.float64]:
    """Read a column as floats, nan for whatever is none (bool included)."""
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        trimmed = pc.utf8_trim_whitespace(values)
        numeric = pc.match_substring_regex(trimmed, r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$")
        values = pc.if_else(numeric, trimmed, pa.scalar(None, values.type))
    elif not (
        pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_decimal(values.type)
    ):
        return np.full(len(values), np.nan)
    return np.asarray(values.cast(pa.float64()).fill_null(np.nan).to_numpy(), dtype=np.float64)
