import pyarrow as pa
import pytest

from budgetplan.errors import BudgetError
from budgetplan.selection.budget import parse_budget
from budgetplan.selection.choose import choose
from budgetplan.selection.costs import parse_cost_column, parse_cost_per_item, unpriced
from budgetplan.selection.policy import Policy


def refusal(pool, costs, budget):
    with pytest.raises(BudgetError) as caught:
        choose(pool, Policy.HARD, costs, parse_budget(budget))
    return str(caught.value)


def suggested(text):
    return text.split("--budget ")[1].split()[0]


def test_below_the_cheapest_item(pool_of):
    pool = pool_of([0.1, 0.2])
    costs = parse_cost_column("hours", pa.array([0.7, 3.0]), pool.item_id, pool.eligible)
    text = refusal(pool, costs, "0.5h")
    assert text == (
        "budget 0.5 h is below the cheapest item (bp-0000000000000000, 0.7 h). "
        "Raise it: budgetplan shortlist --budget 1h"
    )
    assert choose(pool, Policy.HARD, costs, parse_budget(suggested(text))).spent == 0.7


def test_below_the_cheapest_item_as_a_share(pool_of):
    pool = pool_of([0.1] * 6)
    text = refusal(pool, unpriced(6), "10%")
    assert "budget 10% of 6 items is below the cheapest item" in text
    assert suggested(text) == "17%"
    assert len(choose(pool, Policy.HARD, unpriced(6), parse_budget("17%")).order) == 1


def test_below_the_cheapest_item_that_the_policy_can_buy(pool_of):
    pool = pool_of([0.1], nothing=1)
    costs = parse_cost_column("usd", pa.array([9.5, 1.0]), pool.item_id, pool.eligible)
    assert "(bp-0000000000000000, 9.5 usd). Raise it: budgetplan shortlist --budget 10usd" in refusal(pool, costs, "$5")


@pytest.mark.parametrize(
    ("cost", "budget", "message"),
    [
        (None, "126 items", "budget 126 items is above the pool (125 items)."),
        ("4usd", "$501", "budget 501 usd is above the pool (500 usd)."),
        ("30min", "63h", "budget 63 h is above the pool (62.5 h)."),
    ],
)
def test_above_the_pool(pool_of, cost, budget, message):
    pool = pool_of([0.1] * 125)
    text = refusal(pool, parse_cost_per_item(cost, 125) if cost else unpriced(125), budget)
    assert message in text
    assert suggested(text) == "100%"


@pytest.mark.parametrize(
    ("cost", "budget", "message", "fix"),
    [
        (None, "40h", "budget 40 h needs a cost per item, and none is known.", "--budget 40h --cost-per-item 5min"),
        (None, "$2000", "budget 2000 usd needs a cost per item", "--budget 2000usd --cost-per-item 4usd"),
        ("4usd", "40h", "budget 40 h is in h, but the costs are in usd.", "--cost-per-item 5min"),
        ("4usd", "€40", "budget 40 eur is in eur, but the costs are in usd.", "--cost-per-item 4eur"),
    ],
)
def test_in_another_unit_than_the_costs(pool_of, cost, budget, message, fix):
    pool = pool_of([0.1] * 5)
    text = refusal(pool, parse_cost_per_item(cost, 5) if cost else unpriced(5), budget)
    assert message in text
    assert fix in text


def test_what_is_kept_out_does_not_count_as_pool(pool_of):
    pool = pool_of([0.1] * 10, eligible=[True] * 5 + [False] * 5)
    assert "above the pool (5 items)" in refusal(pool, unpriced(10), "6")


@pytest.mark.parametrize(
    ("cost", "budget", "message", "enough"),
    [
        (None, "76 items", "budget 76 items is above what is left to buy: 75 items (50 items of 125 items", "75"),
        (None, "100%", "budget 100% is above what is left to buy: 75 items", "75"),
        ("1usd", "$125", "budget 125 usd is above what is left to buy: 75 usd (50 usd of 125 usd bought", "75usd"),
        ("1s", "2min", "budget 0.033333 h is above what is left to buy: 0.020833 h", "0.020833h"),
    ],
)
def test_above_what_earlier_rounds_left(pool_of, cost, budget, message, enough):
    pool = pool_of([0.1] * 125, available=[True] * 75 + [False] * 50)
    costs = parse_cost_per_item(cost, 125) if cost else unpriced(125)
    text = refusal(pool, costs, budget)
    assert message in text
    assert suggested(text) == enough
    assert 74 <= len(choose(pool, Policy.HARD, costs, parse_budget(enough)).order) <= 75


def test_what_is_left_for_nothing_is_bought_with_any_budget(pool_of):
    pool = pool_of([0.1, 0.2], available=[True, False])
    costs = parse_cost_column("usd", pa.array([0, 5]), pool.item_id, pool.eligible)
    assert choose(pool, Policy.HARD, costs, parse_budget("$5")).order.tolist() == [0]
