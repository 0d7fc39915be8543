"""How much of a budget is spent at once.

Invariant: a batch is a share of the budget above 0; what it leaves is for later shortlists, which know its labels.
"""

from fractions import Fraction

from budgetplan.errors import BudgetError
from budgetplan.selection.amounts import SHARE, parse_amount

WHOLE = Fraction(1)
FIRST = Fraction(1, 3)
"""Of a pool without answers: the hardest third by signals first. Its labels, and the audit slice's, tell which p to
expect of the rest and how far the ranking can be trusted while most of the budget can still be spent otherwise; the
order of the rest they change only where they are many and speak against it."""

FEWEST_ITEMS = 5
"""A first batch of fewer items would teach nothing."""


def first_batch(n_affordable: int) -> Fraction:
    """Choose the share of a budget to spend before any answer is known."""
    return FIRST if int(n_affordable * FIRST) >= FEWEST_ITEMS else WHOLE


def parse_batch(text: str, place: str = "--batch") -> Fraction:
    """Read a share of the budget: `30%`, `100%`."""
    hint = "Write a share of the budget: --batch 30%, or --batch 100% for all at once."
    amount = parse_amount(text, place, hint)
    if amount.unit != SHARE or not 0 < amount.number <= 1:
        raise BudgetError(f'{place}: "{text}" is no share of the budget between 0% and 100%.', hint=hint)
    return amount.number
