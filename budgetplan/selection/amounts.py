"""Amounts as people write them: a number and a unit, read exactly.

Invariant: amounts are fractions, so 10 % of 7,473 is 747.3 and not 747.3000000000001.
"""

import re
from dataclasses import dataclass
from fractions import Fraction

from budgetplan.errors import BudgetError

SHARE, ITEMS, HOURS = "share", "items", "h"
_PER_UNIT = {
    **dict.fromkeys(("%", "percent"), (SHARE, Fraction(1, 100))),
    **dict.fromkeys(("items", "item", "prompts", "prompt"), (ITEMS, Fraction(1))),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), (HOURS, Fraction(1, 3600))),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), (HOURS, Fraction(1, 60))),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), (HOURS, Fraction(1))),
    **dict.fromkeys(("$", "usd", "dollar", "dollars"), ("usd", Fraction(1))),
    **dict.fromkeys(("€", "eur", "euro", "euros"), ("eur", Fraction(1))),
    **dict.fromkeys(("£", "gbp", "pound", "pounds"), ("gbp", Fraction(1))),
}
CURRENCIES = ("usd", "eur", "gbp")
_WRITTEN = re.compile(r"([^\d\s.,+-]*)\s*([+-]?[\d.,]+)\s*([^\d.,+-]*)")
_PLAIN = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+|\d{1,3}(,\d{3})+(\.\d*)?)")
_EATEN = re.compile(r"|0\d*|,\d+")
SHELL_HINT = "A shell eats an unquoted $ and the digit after it: write '$2000' in quotes, or 2000usd."


@dataclass(frozen=True, slots=True)
class Amount:
    """`number` in `unit`: "share" (of 1), "items", "h", a currency, or "" where none was written."""

    number: Fraction
    unit: str

    def __str__(self) -> str:
        if self.unit == SHARE:
            return f"{_decimal(self.number * 100)}%"
        unit = "item" if self.unit == ITEMS and self.number == 1 else self.unit
        return f"{_decimal(self.number)} {unit}".rstrip()

    def as_argument(self) -> str:
        """Write it the way `parse_amount` reads it, without blanks."""
        return _decimal(self.number) if self.unit == ITEMS else str(self).replace(" ", "")


def unit_of(word: str) -> tuple[str, Fraction] | None:
    """Look a unit up: what it measures and how much of that it is (`min` → h, 1/60); None if it is no unit."""
    return _PER_UNIT.get(word.strip().lower())


def parse_amount(text: str, place: str, hint: str) -> Amount:
    """Read `10%`, `1.5 hours`, `$2,000`, `2000 usd` or a bare number; `place` and `hint` go into the error."""
    written = text.strip()
    if _EATEN.fullmatch(written):
        raise BudgetError(f'{place}: "{text}" is no amount.', hint=SHELL_HINT)
    parts = _WRITTEN.fullmatch(written)
    if parts is None or not _PLAIN.fullmatch(parts[2]):
        raise BudgetError(f'{place}: "{text}" cannot be read as an amount.', hint=hint)
    number = Fraction(parts[2].replace(",", ""))
    if number <= 0:
        raise BudgetError(f'{place}: "{text}" must be more than 0.', hint=hint)
    words = [word for word in (parts[1].strip(), parts[3].strip()) if word]
    units = {unit_of(word) for word in words} or {("", Fraction(1))}
    found = units.pop()
    if found is None or units:
        raise BudgetError(f'{place}: "{text}" has an unknown unit "{" ".join(words)}".', hint=hint)
    unit, factor = found
    return Amount(number * factor, unit)


def _decimal(number: Fraction) -> str:
    return f"{float(number):.6f}".rstrip("0").rstrip(".")
