"""What may be spent on labels: a share of the pool, items, annotators' time or money.

Invariant: a `Budget` is positive and at most the whole pool if it is a share; its amount is exact.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from budgetplan.errors import BudgetError
from budgetplan.selection.amounts import HOURS, ITEMS, SHARE, Amount, parse_amount

BudgetKind = Literal["share", "items", "time", "money"]
_HINT = "Write a share (--budget 10%), items (--budget 500), time (--budget 40h) or money (--budget 2000usd)."


@dataclass(frozen=True, slots=True)
class Budget:
    """`amount` of 1 for a share, in hours for time, else in items or money; `text` as the user gave it."""

    kind: BudgetKind
    amount: Fraction
    text: str
    currency: str | None = None

    @property
    def unit(self) -> str:
        """What the amount counts: "share", "items", "h" or the currency."""
        return self.currency or {"share": SHARE, "items": ITEMS, "time": HOURS}[self.kind]

    def __str__(self) -> str:
        return str(Amount(self.amount, self.unit))


def parse_budget(text: str, place: str = "--budget") -> Budget:
    """Read `10%`, `500 items` or `500`, `40h`, `30min`, `$2000`, `2000usd`, `€2,000`; a bare number means items."""
    amount = parse_amount(text, place, _HINT)
    number, unit, text = amount.number, amount.unit or ITEMS, text.strip()
    if unit == SHARE:
        if number > 1:
            raise BudgetError(f'{place}: "{text}" is more than the whole pool.', hint="At most --budget 100%.")
        return Budget("share", number, text)
    if unit == ITEMS:
        if number.denominator != 1:
            raise BudgetError(f'{place}: "{text}" is no whole number of items.', hint=_HINT)
        return Budget("items", number, text)
    if unit == HOURS:
        return Budget("time", number, text)
    return Budget("money", number, text, currency=unit)
