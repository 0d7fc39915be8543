from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.errors import BudgetError
from budgetplan.selection.budget import parse_budget


@pytest.mark.parametrize(
    ("text", "kind", "amount", "currency"),
    [
        ("10%", "share", Fraction(1, 10), None),
        ("12.5 %", "share", Fraction(1, 8), None),
        ("100 percent", "share", Fraction(1), None),
        ("500", "items", Fraction(500), None),
        ("1,500 items", "items", Fraction(1500), None),
        ("1 item", "items", Fraction(1), None),
        ("40h", "time", Fraction(40), None),
        ("30min", "time", Fraction(1, 2), None),
        ("1.5 Hours", "time", Fraction(3, 2), None),
        ("90 s", "time", Fraction(1, 40), None),
        ("$2000", "money", Fraction(2000), "usd"),
        ("$2,000.50", "money", Fraction("2000.5"), "usd"),
        ("2000usd", "money", Fraction(2000), "usd"),
        ("2000 USD", "money", Fraction(2000), "usd"),
        ("€ 300", "money", Fraction(300), "eur"),
        ("300 gbp", "money", Fraction(300), "gbp"),
    ],
)
def test_it_reads_what_people_write(text, kind, amount, currency):
    budget = parse_budget(text)
    assert (budget.kind, budget.amount, budget.currency, budget.text) == (kind, amount, currency, text)


@pytest.mark.parametrize("text", ["", "0", "00", "000", ",000", "050"])
def test_what_a_shell_leaves_of_an_unquoted_dollar_sign_is_caught(text):
    with pytest.raises(BudgetError, match="no amount") as caught:
        parse_budget(text)
    assert "'$2000'" in caught.value.hint
    assert "2000usd" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("-5", "more than 0"),
        ("-10%", "more than 0"),
        ("0%", "more than 0"),
        ("0.0h", "more than 0"),
        ("nan", "cannot be read"),
        ("inf", "cannot be read"),
        ("1,5h", "cannot be read"),
        ("1e3 items", "cannot be read"),
        ("10%%", "unknown unit"),
        ("101%", "more than the whole pool"),
        ("5 apples", 'unknown unit "apples"'),
        ("$5 eur", "unknown unit"),
        ("0.1", "no whole number"),
        ("2.5 items", "no whole number"),
    ],
)
def test_the_error_says_place_value_and_fix(text, what):
    with pytest.raises(BudgetError, match=what) as caught:
        parse_budget(text, place="budgetplan.toml: budget")
    assert "budgetplan.toml: budget" in caught.value.message
    assert text in caught.value.message
    assert "--budget" in caught.value.hint


@settings(deadline=None)
@given(st.decimals("0.001", "100", places=3))
def test_a_share_is_exact(percent):
    assert parse_budget(f"{percent}%").amount == Fraction(percent) / 100


@settings(deadline=None)
@given(st.integers(1, 10**7))
def test_what_is_shown_can_be_typed_again(items):
    budget = parse_budget(str(items))
    assert parse_budget(str(budget)).amount == budget.amount
