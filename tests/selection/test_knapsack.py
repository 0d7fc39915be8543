from itertools import compress, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.selection.knapsack import fill, pack

items = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 40)), min_size=1, max_size=12)


def columns(pairs):
    value = np.array([(v + 0.4) / 10 if v else 0.0 for v, _ in pairs])
    weight = np.array([w for _, w in pairs], dtype=np.int64)
    return value, weight, np.arange(len(pairs), dtype=np.uint64)


def best_by_hand(value, weight, capacity):
    fitting = (marks for marks in product([0, 1], repeat=len(value)) if weight @ marks <= capacity)
    return max(float(value @ marks) for marks in fitting)


@settings(deadline=None, max_examples=80)
@given(items, st.integers(0, 200))
def test_it_finds_the_best_there_is(pairs, capacity):
    value, weight, key = columns(pairs)
    packing = pack(value, weight, key, capacity, 10.0)
    best = best_by_hand(value, weight, capacity)
    assert int(weight[packing.taken].sum()) <= capacity
    assert packing.objective == pytest.approx(float(value[packing.taken].sum()))
    assert packing.objective == pytest.approx(best, rel=2e-6)
    assert packing.bound >= best - 1e-9
    assert packing.status == "optimal"


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(13, 400), st.sampled_from([1, 60_000]))
def test_it_is_never_worse_than_greedy_nor_above_the_capacity_nor_its_bound(seed, n, unit):
    rng = np.random.default_rng(seed)
    value, weight = rng.integers(1, 9, n) / 9 - 0.03, rng.integers(1, 30, n) * unit
    key, capacity = rng.permutation(n).astype(np.uint64), int(weight.sum() // 7)
    packing = pack(value, weight, key, capacity, 5.0)
    order = np.lexsort((key, -value / weight))
    greedy = float(value[order][fill(weight[order], capacity)].sum())
    assert int(weight[packing.taken].sum()) <= capacity
    assert greedy - 1e-9 <= packing.objective <= packing.bound
    assert 0 <= packing.gap <= 1e-6


def test_nothing_more_fits_beside_what_is_taken():
    rng = np.random.default_rng(4)
    value, weight = rng.uniform(0.1, 1, 300), rng.integers(5, 50, 300)
    packing = pack(value, weight, np.arange(300, dtype=np.uint64), 700, 5.0)
    assert weight[~packing.taken].min() > 700 - weight[packing.taken].sum()


def test_equal_items_are_served_by_their_key():
    value, weight = np.full(40, 0.5), np.tile([2, 3], 20)
    key = np.random.default_rng(0).permutation(40).astype(np.uint64)
    packing = pack(value, weight, key, 31, 5.0)
    for size in (2, 3):
        taken, left = key[packing.taken & (weight == size)], key[~packing.taken & (weight == size)]
        assert not taken.size or not left.size or taken.max() < left.min()


def hard_instance():
    rng = np.random.default_rng(0)
    n_correct = rng.binomial(8, rng.beta(0.6, 0.5, 2000))
    value = 1 - (0.58777 + n_correct) / (8 + 0.58777 + 0.495912)
    weight = np.rint(np.exp(rng.normal(2, 0.8, 2000)) * 60_000).astype(np.int64)
    return value, weight, rng.permutation(2000).astype(np.uint64), int(weight.sum() // 10)


@pytest.mark.parametrize("seconds", [0.0, 0.5])
def test_out_of_time_it_still_packs_and_says_how_far_from_the_best_it_may_be(seconds):
    value, weight, key, capacity = hard_instance()
    packing = pack(value, weight, key, capacity, seconds)
    assert packing.status == "time limit"
    assert 0 < packing.gap < 1e-3
    assert packing.objective < packing.bound
    assert int(weight[packing.taken].sum()) <= capacity


@settings(deadline=None)
@given(st.lists(st.integers(0, 50), max_size=60), st.integers(0, 400))
def test_filling_takes_in_order_and_skips_what_does_not_fit(weights, capacity):
    expected, left = [], capacity
    for weight in weights:
        expected.append(weight <= left)
        left -= weight if weight <= left else 0
    taken = fill(np.array(weights, dtype=np.int64), capacity)
    assert taken.tolist() == expected
    assert sum(compress(weights, taken)) <= capacity


def test_filling_goes_on_past_its_first_block():
    weights = np.full(10_000, 3, dtype=np.int64)
    weights[5_000] = 10**9
    assert fill(weights, 3 * 9_000).nonzero()[0].tolist() == [*range(5_000), *range(5_001, 9_001)]
