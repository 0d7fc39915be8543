import numpy as np
import pyarrow as pa
import pytest

from budgetplan.errors import BudgetError
from budgetplan.selection.costs import parse_cost_column, parse_cost_per_item, unpriced

IDS = pa.array(["bp-a", "bp-b", "bp-c"])
ALL = np.ones(3, np.bool_)


@pytest.mark.parametrize(
    ("column", "values", "unit", "expected"),
    [
        ("minutes", [30, 60, 90], "h", [0.5, 1.0, 1.5]),
        ("label_seconds", [36.0, 72.0, 0.0], "h", [0.01, 0.02, 0.0]),
        ("hours", ["1", " 2.5 ", ".5"], "h", [1.0, 2.5, 0.5]),
        ("cost_usd", ["4", "4.5", "1e1"], "usd", [4.0, 4.5, 10.0]),
        ("Price (EUR)", [1, 2, 3], "eur", [1.0, 2.0, 3.0]),
    ],
)
def test_a_column_is_read_in_the_unit_of_its_name(column, values, unit, expected):
    costs = parse_cost_column(column, pa.array(values), IDS, ALL)
    assert costs.unit == unit
    assert costs.values.tolist() == expected
    assert len(set(costs.quanta.tolist())) > 1


def test_a_given_unit_goes_before_the_name_and_chunks_do_not_matter():
    values = pa.chunked_array([["30"], ["30", "30"]])
    costs = parse_cost_column("usd", values, IDS, ALL, unit="min")
    assert (costs.unit, costs.values.tolist()) == ("h", [0.5] * 3)


def test_tenths_add_up_exactly():
    costs = parse_cost_column("usd", pa.array([0.1, 0.2, 0.3]), IDS, ALL)
    assert costs.total(np.array([0, 1])) == 0.3
    assert int(costs.quanta.sum()) == 600_000


@pytest.mark.parametrize(
    ("values", "item", "shown"),
    [
        ([1.0, None, 2.0], "bp-b", "no cost"),
        ([1.0, 2.0, -3.0], "bp-c", '"-3.0"'),
        ([float("nan"), 2.0, 3.0], "bp-a", '"nan"'),
        ([1.0, float("inf"), 3.0], "bp-b", '"inf"'),
        (["1", "2", "three"], "bp-c", '"three"'),
        (["1", "", "3"], "bp-b", '""'),
        ([True, False, True], "bp-a", '"True"'),
    ],
)
def test_a_cost_that_is_none_is_named_with_its_item(values, item, shown):
    with pytest.raises(BudgetError) as caught:
        parse_cost_column("cost_usd", pa.array(values), IDS, ALL)
    assert 'cost column "cost_usd"' in caught.value.message
    assert item in caught.value.message
    assert shown in caught.value.message


def test_items_kept_out_need_no_cost():
    costs = parse_cost_column("hours", pa.array([1.0, None, 2.0]), IDS, np.array([True, False, True]))
    assert costs.values.tolist() == [1.0, 0.0, 2.0]


@pytest.mark.parametrize(("column", "unit"), [("price", None), ("items", None), ("usd", "fortnight")])
def test_a_unit_that_is_not_known_is_asked_for(column, unit):
    with pytest.raises(BudgetError, match="no unit of time or money") as caught:
        parse_cost_column(column, pa.array([1, 2, 3]), IDS, ALL, unit=unit)
    assert "--cost-unit" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "unit", "value"), [("4usd", "usd", 4.0), ("5min", "h", 5 / 60), ("£1.50", "gbp", 1.5)]
)
def test_one_cost_for_all(text, unit, value):
    costs = parse_cost_per_item(text, 4)
    assert (costs.unit, costs.values.tolist()) == (unit, [value] * 4)


@pytest.mark.parametrize("text", ["4", "10%", "3 items", "-4usd", "0.0000001usd", "99999999999999usd"])
def test_one_cost_for_all_needs_an_amount_with_a_unit(text):
    with pytest.raises(BudgetError) as caught:
        parse_cost_per_item(text, 4)
    assert f'--cost-per-item: "{text}"' in caught.value.message
    assert "4usd" in caught.value.hint


def test_with_no_costs_an_item_costs_an_item():
    assert unpriced(3).amount(2) == unpriced(3).amount(2)
    assert str(unpriced(3).amount(2)) == "2 items"
    assert str(unpriced(3).amount(1)) == "1 item"


def test_costs_that_cannot_be_added_up_are_refused():
    with pytest.raises(BudgetError, match="more than can be counted"):
        parse_cost_column("usd", pa.array([1e12, 1e12, 4e12]), IDS, ALL)
