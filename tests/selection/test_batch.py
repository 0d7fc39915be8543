from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetplan.errors import BudgetError
from budgetplan.selection.batch import FEWEST_ITEMS, FIRST, WHOLE, first_batch, parse_batch


@pytest.mark.parametrize(("n_affordable", "share"), [(0, WHOLE), (1, WHOLE), (14, WHOLE), (15, FIRST), (10_000, FIRST)])
def test_the_first_batch_is_a_third_where_that_is_enough_items_to_learn_from(n_affordable, share):
    assert first_batch(n_affordable) == share


@given(st.integers(0, 10**6))
def test_a_first_batch_teaches_something_or_is_everything(n_affordable):
    share = first_batch(n_affordable)
    assert share == WHOLE or int(n_affordable * share) >= FEWEST_ITEMS


@pytest.mark.parametrize(
    ("text", "share"),
    [("30%", Fraction(3, 10)), ("100%", WHOLE), ("33.3 %", Fraction(333, 1000)), ("0.5 percent", Fraction(1, 200))],
)
def test_a_batch_is_read_exactly(text, share):
    assert parse_batch(text) == share


@pytest.mark.parametrize("text", ["101%", "0%", "-5%", "0.3", "30", "20 items", "4h", "$100", "many", ""])
def test_what_is_no_share_of_the_budget_is_refused_with_the_way_to_write_one(text):
    with pytest.raises(BudgetError) as refused:
        parse_batch(text)
    assert "--batch" in refused.value.message
    assert f'"{text}"' in refused.value.message


@pytest.mark.parametrize("text", ["30", "20 items", "101%", "0%", "many"])
def test_the_hint_shows_a_share(text):
    with pytest.raises(BudgetError) as refused:
        parse_batch(text)
    assert "--batch 30%" in refused.value.hint


def test_the_place_of_a_wrong_batch_is_named():
    with pytest.raises(BudgetError, match=r"^budgetplan.toml: batch"):
        parse_batch("2", place="budgetplan.toml: batch")
