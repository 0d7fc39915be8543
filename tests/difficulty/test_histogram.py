import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.difficulty.histogram import histogram


def test_one_bin_per_grid_point_when_every_item_has_the_same_few_samples():
    bins = histogram(np.array([0, 0, 0.3, 1.0, np.nan]), np.array([10, 10, 10, 10, 0]))
    assert [step.label for step in bins[:4]] == ["0.00", "0.10", "0.20", "0.30"]
    assert {step.low: step.items for step in bins if step.items} == {0.0: 2, 0.3: 1, 1.0: 1}


def test_else_zero_stands_alone_before_ten_bins_closed_above():
    bins = histogram(np.array([0.0, 0.05, 3 * 0.1, 0.31, 1.0]), np.array([4, 20, 10, 100, 3]))
    assert {step.label: step.items for step in bins if step.items} == {
        "0": 1,
        "0.0-0.1": 1,
        "0.2-0.3": 1,
        "0.3-0.4": 1,
        "0.9-1.0": 1,
    }


def test_no_estimates_no_bins():
    assert histogram(np.array([np.nan]), np.array([0])) == []


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), min_size=1))
def test_every_item_with_p_hat_is_in_exactly_one_bin(pairs):
    n, k = np.array([min(p) for p in pairs]), np.array([max(p) for p in pairs])
    bins = histogram(n / k, k)
    assert sum(step.items for step in bins) == len(pairs)
    assert bins[0].items == int((n == 0).sum())
