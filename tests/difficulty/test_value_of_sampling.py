"""Samples go where they can change the picks, and what stopping early loses is what it is said to lose."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import betabinom

from budgetplan.difficulty import value_of_sampling as module
from budgetplan.difficulty.value_of_sampling import Sampled, expected_loss, value_of_sampling, worth_most


def hard(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    return b / (a + b)


def known(n: list[int], k: list[int], weight: float = 1.0) -> Sampled:
    right, taken = np.array(n), np.array(k)
    return Sampled(0.5 + right, 0.5 + taken - right, taken, np.full(len(k), weight))


counts = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)).map(lambda nm: (nm[0], sum(nm))), min_size=4)


def test_it_is_the_expected_rise_of_the_best_sum_by_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_AHEAD", (3,))
    pool, n_picks = known([0, 1, 1, 2, 4], [4, 4, 2, 4, 4]), 2
    value = value_of_sampling(pool, hard, n_picks)
    now = hard(pool.a, pool.b)
    for item in range(5):
        after = 0.0
        for right in range(4):
            then = now.copy()
            then[item] = hard(pool.a[item] + right, pool.b[item] + 3 - right)
            after += betabinom.pmf(right, 3, pool.a[item], pool.b[item]) * np.sort(then)[-n_picks:].sum()
        assert value[item] == pytest.approx((after - np.sort(now)[-n_picks:].sum()) / 3, abs=1e-12)


def test_an_item_at_the_cut_is_worth_more_than_one_that_is_decided() -> None:
    value = value_of_sampling(known([1, 2, 2, 8, 8], [8, 8, 8, 8, 8]), hard, n_picks=1)
    assert value[0] > value[1] == value[2] > value[3] == value[4] == 0.0


def test_nothing_is_worth_a_sample_where_everything_is_picked() -> None:
    assert value_of_sampling(known([0, 1], [2, 2]), hard, n_picks=2).tolist() == [0.0, 0.0]


def test_a_sample_whose_outcome_is_only_predicted_is_worth_less() -> None:
    judged, predicted = (value_of_sampling(known([0, 1], [2, 2], weight), hard, 1) for weight in (1.0, 0.5))
    assert (predicted < judged).all()


@given(counts, st.integers(0, 1000))
def test_the_row_order_changes_nothing(pairs: list[tuple[int, int]], seed: int) -> None:
    pool = known([n for n, _ in pairs], [k for _, k in pairs])
    order = np.random.default_rng(seed).permutation(len(pairs))
    value = value_of_sampling(pool, hard, 2)
    assert (value >= -1e-15).all()
    assert value_of_sampling(pool.of(order), hard, 2).tolist() == value[order].tolist()


def test_the_most_valuable_get_a_sample_then_those_with_fewer_then_by_key() -> None:
    value = np.array([0.1, 0.3, 0.3, 0.3, 0.0, 0.9])
    taken = np.array([1, 2, 1, 1, 1, 4])
    key = np.array([0, 0, 7, 3, 0, 0], dtype=np.uint64)
    assert worth_most(value, taken, key, n_samples=3, most_per_item=4).tolist() == [3, 2, 1]
    assert worth_most(value, taken, key, n_samples=9, most_per_item=4).tolist() == [3, 2, 1, 0]


def test_nothing_is_lost_where_every_item_has_k() -> None:
    assert expected_loss(known([0, 1, 2, 4], [4, 4, 4, 4]), hard, 2, k=4, seed=0) == 0.0


def test_the_loss_is_what_k_of_every_item_would_really_have_brought() -> None:
    generator = np.random.default_rng(0)
    said, really = [], []
    for seed in range(60):
        p = generator.beta(0.5, 0.5, 300)
        draws = generator.random((300, 8)) < p[:, None]
        few, all_of_them = draws[:, :2].sum(axis=1), draws.sum(axis=1)
        before = Sampled(0.5 + few, 2.5 - few, np.full(300, 2), np.ones(300))
        after = hard(0.5 + all_of_them, 8.5 - all_of_them)
        picked = np.argsort(-hard(before.a, before.b), kind="stable")[:30]
        said.append(expected_loss(before, hard, 30, k=8, seed=seed))
        really.append(np.sort(after)[-30:].mean() - after[picked].mean())
    assert np.mean(said) == pytest.approx(np.mean(really), abs=3 * np.std(really) / 60**0.5)
