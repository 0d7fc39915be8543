from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.selection.constrained import pack_within
from budgetplan.selection.knapsack import pack
from budgetplan.selection.relaxation import Problem, relax
from budgetplan.selection.rows import Rows, unconstrained

N_GROUPS = 3
items = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 40), st.integers(0, N_GROUPS - 1)), min_size=1, max_size=11
)
groups = st.lists(st.booleans(), min_size=N_GROUPS, max_size=N_GROUPS)
share = st.integers(10, 80)
caps = st.tuples(groups, st.integers(0, 5)).map(lambda c: (np.array(c[0], np.int64), c[1]))
floors = st.tuples(groups, st.integers(0, 2)).map(lambda c: (-np.array(c[0], np.int64), -c[1]))
share_caps = st.tuples(groups, share).map(lambda c: (100 * np.array(c[0], np.int64) - c[1], 0))
share_floors = st.tuples(groups, share).map(lambda c: (c[1] - 100 * np.array(c[0], np.int64), 0))


def rows_over(group, conditions, may_be_empty=True):
    coefficient = np.array([row for row, _ in conditions], dtype=np.int64).reshape(-1, N_GROUPS)
    limit = np.array([limit for _, limit in conditions], dtype=np.int64)
    return Rows(group, coefficient, limit, np.arange(len(limit)), may_be_empty)


def columns(drawn):
    value = np.array([v / 9 for v, _, _ in drawn])
    weight = np.array([w for _, w, _ in drawn], dtype=np.int64) * 10_000
    return value, weight, np.arange(len(drawn), dtype=np.uint64)[::-1].copy(), np.array([g for _, _, g in drawn])


def best_by_hand(value, weight, capacity, rows):
    found = [np.array(marks, bool) for marks in product([0, 1], repeat=len(value))]
    held = [m for m in found if weight[m].sum() <= capacity and rows.hold(rows.counts(m))]
    return max((float(value[m].sum()) for m in held), default=None)


@settings(deadline=None, max_examples=60)
@given(
    items, st.lists(st.one_of(caps, floors, share_caps, share_floors), max_size=4), st.integers(0, 250), st.booleans()
)
def test_it_finds_the_best_there_is_or_that_there_is_none(drawn, conditions, capacity, may_be_empty):
    value, weight, key, group = columns(drawn)
    rows = rows_over(group, conditions, may_be_empty)
    packing = pack_within(value, weight, key, 10_000 * capacity, rows, 20.0)
    best = best_by_hand(value, weight, 10_000 * capacity, rows)
    assert (packing is None) == (best is None)
    if packing is not None:
        assert int(weight[packing.taken].sum()) <= 10_000 * capacity
        assert rows.hold(rows.counts(packing.taken))
        assert float(value[packing.taken].sum()) == pytest.approx(best, rel=2e-6, abs=1e-6)
        assert packing.bound >= best - 1e-9


def made(n, seed=0):
    rng = np.random.default_rng(seed)
    value, weight = rng.integers(1, 10, n) / 9, rng.integers(100, 2_000, n)
    group, key = rng.choice(N_GROUPS, n, p=[0.6, 0.3, 0.1]), rng.permutation(n).astype(np.uint64)
    one = np.eye(N_GROUPS, dtype=np.int64)
    conditions = [(100 * one[0] - 30, 0), (25 - 100 * one[2], 0), (one[1], n // 20)]
    return value, weight, key, int(weight.sum() // 8), rows_over(group, conditions, may_be_empty=False)


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 10**6), st.integers(30, 300))
def test_the_row_order_changes_nothing(seed, n):
    value, weight, key, capacity, rows = made(n, seed)
    one = pack_within(value, weight, key, capacity, rows, 60.0)
    shuffled = np.random.default_rng(seed).permutation(n)
    other = pack_within(value[shuffled], weight[shuffled], key[shuffled], capacity, rows.of(shuffled), 60.0)
    assert (one is None) == (other is None)
    if one is not None:
        assert set(key[one.taken].tolist()) == set(key[shuffled][other.taken].tolist())


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10**6), st.integers(5, 60), st.booleans())
def test_a_larger_budget_is_never_worth_less_under_caps(seed, n, capped):
    value, weight, key, capacity, rows = made(n, seed)
    rows = replace(rows.of_quotas(np.array([0, 2]) if capped else np.zeros(0, np.intp)), may_be_empty=True)
    worth = [pack_within(value, weight, key, part * capacity, rows, 60.0).objective for part in (1, 2, 3)]
    assert worth[0] <= worth[1] * (1 + 2e-6)
    assert worth[1] <= worth[2] * (1 + 2e-6)


def test_without_conditions_it_is_the_knapsack():
    value, weight, key, capacity, _ = made(150)
    within = pack_within(value, weight, key, capacity, unconstrained(150), 60.0)
    assert within.objective == pytest.approx(pack(value, weight, key, capacity, 60.0).objective, rel=2e-6)


def test_equal_costs_take_the_top_of_each_group():
    value, _, key, _, rows = made(400)
    value, units = value + key / 1e4, np.full(400, 7)
    packing = pack_within(value, units, key, 7 * 40, rows, 60.0)
    assert rows.counts(packing.taken).tolist() == [12, 18, 10]
    for group in range(N_GROUPS):
        own = rows.group == group
        assert value[own & packing.taken].min() > value[own & ~packing.taken].max()


def test_items_of_no_value_are_bought_before_budget_is_left():
    packing = pack_within(
        np.zeros(6), np.full(6, 2), np.arange(6, dtype=np.uint64), 9, rows_over(np.array([0, 0, 0, 1, 1, 2]), []), 5.0
    )
    assert packing.taken.sum() == 4


def test_prices_of_a_large_pool_are_found_on_samples_and_certify_the_gap():
    value, weight, key, capacity, rows = made(40_000)
    order = np.argsort(key)
    relaxed = relax(Problem(value[order], weight[order], capacity, rows.of(order)))
    packing = pack_within(value, weight, key, capacity, rows, 0.5)
    assert packing.objective <= packing.bound <= relaxed.bound * (1 + 1e-12)
    assert packing.gap < 1e-3
    assert rows.hold(rows.counts(packing.taken))
    assert (relaxed.row_prices >= 0).all()
    assert relaxed.row_prices[0] > 0
