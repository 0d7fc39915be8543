import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from budgetplan.difficulty.auroc import auroc

ranked_item = st.tuples(st.booleans(), st.integers(0, 6), st.floats(1, 9))


@settings(deadline=None)
@given(st.lists(ranked_item, min_size=2, max_size=40).filter(lambda items: len({hard for hard, *_ in items}) == 2))
def test_it_is_the_weighted_area_with_half_for_ties_inside_its_interval(items):
    hard, place, weight = (np.array(column) for column in zip(*items, strict=True))
    area = auroc(hard, place.astype(float), weight)
    assert area.value == pytest.approx(roc_auc_score(hard, -place, sample_weight=weight))
    assert 0 <= area.low <= area.value <= area.high <= 1
    assert area.high - area.low > 0.05


@pytest.mark.parametrize("n", [20, 30, 67])
@pytest.mark.parametrize("true_area", [0.65, 0.8, 0.95])
def test_the_interval_covers_90_percent(n, true_area):
    rng = np.random.default_rng(n)
    shift = np.sqrt(2) * norm.ppf(true_area)
    covered, repeats = 0, 400
    for _ in range(repeats):
        hard = np.arange(n) < max(rng.binomial(n, 0.3), 1)
        area = auroc(hard, rng.normal(size=n) + shift * ~hard, np.ones(n))
        covered += area.low <= true_area <= area.high
    assert 0.86 < covered / repeats < 0.99


def test_a_perfect_ranking_of_eight_items_is_not_known_to_be_perfect():
    area = auroc(np.arange(8) < 4, np.arange(8.0), np.ones(8))
    assert area.value == area.high == 1.0
    assert 0.5 < area.low < 0.8
    reversed_ = auroc(np.arange(8) >= 4, np.arange(8.0), np.ones(8))
    assert reversed_.value == reversed_.low == 0.0
    assert reversed_.high == pytest.approx(1 - area.low)


def test_more_items_narrow_the_interval_and_unequal_weights_widen_it():
    place = np.array([1.0, 2, 4, 3, 5, 6, 7, 8])
    hard = np.arange(8) < 3

    def width(*weight_of_copy):
        copies = len(weight_of_copy)
        area = auroc(np.tile(hard, copies), np.tile(place, copies), np.repeat(weight_of_copy, 8))
        return area.high - area.low

    assert width(*[1.0] * 10) < 0.5 * width(1.0)
    assert width(*[20.0] * 5, *[1.0] * 5) > 1.2 * width(*[1.0] * 10)
    assert width(*[20.0] * 10) == pytest.approx(width(*[1.0] * 10))
