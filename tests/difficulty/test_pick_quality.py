from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetplan.difficulty.pick_quality import pick_quality

eighths = st.integers(0, 8).map(lambda n: n / 8)
items = st.lists(st.tuples(eighths, eighths), min_size=1, max_size=12)


def columns(rows):
    return np.array([place for place, _ in rows]), np.array([truth for _, truth in rows])


def quality_of_order(order, truth, n_picked):
    """The definition, for one order of the items."""
    best = np.sort(truth)[:n_picked].mean()
    return (truth.mean() - truth[list(order[:n_picked])].mean()) / (truth.mean() - best)


def test_the_best_picks_have_quality_1_and_the_worst_are_below_random():
    truth = np.linspace(0, 1, 20)
    assert pick_quality(truth, truth, 2) == pytest.approx(1)
    assert pick_quality(-truth, truth, 2) == pytest.approx(-1)


def test_a_ranking_that_tells_nothing_apart_is_exactly_random():
    assert pick_quality(np.zeros(20), np.linspace(0, 1, 20), 3) == pytest.approx(0, abs=1e-12)


def test_by_hand():
    truth = np.array([0.0, 0.5, 1.0, 0.5])
    assert pick_quality(np.array([2.0, 1.0, 3.0, 4.0]), truth, 1) == 0  # picks .5 of a mean of .5
    assert pick_quality(np.array([1.0, 1.0, 3.0, 4.0]), truth, 1) == 0.5  # 0 or .5, each as often


@given(st.lists(st.tuples(st.integers(0, 2), eighths), min_size=2, max_size=5), st.integers(1, 4))
def test_ties_count_as_the_mean_over_all_their_orders(rows, n_picked):
    place, truth = columns(rows)
    found = pick_quality(place.astype(float), truth, n_picked)
    if found is None:
        assert n_picked >= len(rows) or len(set(truth)) == 1
        return
    orders = [order for order in permutations(range(len(rows))) if all(np.diff(place[list(order)]) >= 0)]
    assert found == pytest.approx(np.mean([quality_of_order(order, truth, n_picked) for order in orders]))


@given(items, st.integers(0, 13), st.randoms(use_true_random=False))
def test_it_is_finite_at_most_1_and_does_not_depend_on_the_row_order(rows, n_picked, random):
    found = pick_quality(*columns(rows), n_picked)
    random.shuffle(rows)
    again = pick_quality(*columns(rows), n_picked)
    if found is None:
        assert again is None
        return
    assert np.isfinite(found)
    assert found <= 1 + 1e-9
    assert again == pytest.approx(found)


@pytest.mark.parametrize("n_picked", [0, 3, 4])
def test_nothing_to_choose_has_no_quality(n_picked):
    assert pick_quality(np.arange(3.0), np.arange(3.0), n_picked) is None


def test_items_all_as_hard_have_no_quality():
    assert pick_quality(np.arange(30.0), np.full(30, 0.1), 3) is None
    assert pick_quality(np.array([]), np.array([]), 1) is None


def test_items_without_a_place_come_last():
    place, truth = np.array([np.nan, 0.5, np.nan, 0.6]), np.array([0.0, 1.0, 0.0, 1.0])
    assert pick_quality(place, truth, 2) == pytest.approx(-1)
    assert pick_quality(place, truth, 3) == pytest.approx(pick_quality(np.array([9, 0.5, 9, 0.6]), truth, 3))
