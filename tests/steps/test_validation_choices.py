"""What is said against choices before anything is read."""

from fractions import Fraction

import pytest

from budgetplan import BudgetError
from budgetplan.steps.validation_choices import part_of_items


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0", '--budget: "0" is no amount.'),
        ("0%", '--budget: "0%" must be more than 0.'),
        ("150%", '--budget: "150%" is more than the whole pool.'),
        ("ten", '--budget: "ten" cannot be read as an amount.'),
        ("", '--budget: "" is no amount.'),
        ("5h", '--budget "5h": arms are equal in items, so time and money say nothing here.'),
        ("10usd", '--budget "10usd": arms are equal in items, so time and money say nothing here.'),
    ],
)
def test_what_is_no_part_of_the_items_is_named_with_what_would_be(text: str, told: str) -> None:
    with pytest.raises(BudgetError) as refused:
        part_of_items(text, "--budget", "arms are equal in items", "10%")
    assert (refused.value.message, refused.value.hint) == (told, "Write --budget 10% or --budget 100")


def test_a_share_or_a_number_of_items_is_read() -> None:
    share, items = (part_of_items(text, "--holdout", "", "20%") for text in ("12.5%", "40 items"))
    assert (share.kind, share.amount) == ("share", Fraction(1, 8))
    assert (items.kind, items.amount) == ("items", 40)
