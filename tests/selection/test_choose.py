import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.errors import NothingToDo
from budgetplan.selection.budget import parse_budget
from budgetplan.selection.choose import Wishes, choose
from budgetplan.selection.costs import parse_cost_column, parse_cost_per_item, unpriced
from budgetplan.selection.policy import Policy

tenths = st.integers(0, 10).map(lambda n: n / 10)
small_pool = st.lists(tenths, min_size=2, max_size=9)
minutes = st.lists(st.integers(1, 60), min_size=5, max_size=25)


def priced(pool, values, column="minutes"):
    return parse_cost_column(column, pa.array(values), pool.item_id, pool.eligible)


@settings(deadline=None)
@given(small_pool, st.integers(1, 9), st.integers(0, 3))
def test_hard_and_easy_are_the_arg_min_and_arg_max_of_the_paper(pool_of, p_hat, count, seed):
    count = min(count, len(p_hat))
    pool = pool_of(p_hat)
    sums = [sum(p_hat[i] for i in chosen) for chosen in combinations(range(len(p_hat)), count)]
    for policy, best in [(Policy.HARD, min(sums)), (Policy.EASY, max(sums))]:
        choice = choose(pool, policy, unpriced(len(pool)), parse_budget(str(count)), seed=seed)
        assert len(choice.order) == count
        assert pool.p_hat[choice.order].sum() == pytest.approx(best)


@settings(deadline=None)
@given(small_pool, st.sampled_from(list(Policy)), st.integers(0, 3), st.randoms(use_true_random=False))
def test_row_order_does_not_matter_at_equal_costs(pool_of, reordered, ids_of, p_hat, policy, seed, random):
    pool = pool_of(p_hat, agreement=[0.3, 0.5], first_correct=[0] * (len(p_hat) + 2))
    rows = random.sample(range(len(pool)), len(pool))
    shuffled = reordered(pool, rows)
    one = choose(pool, policy, unpriced(len(pool)), parse_budget("50%"), seed=seed)
    other = choose(shuffled, policy, unpriced(len(pool)), parse_budget("50%"), seed=seed)
    assert ids_of(pool, one) == ids_of(shuffled, other)
    assert (one.n_tied_at_cut, one.n_tied_picked) == (other.n_tied_at_cut, other.n_tied_picked)


@settings(deadline=None, max_examples=60)
@given(minutes, st.sampled_from(list(Policy)), st.integers(20, 100), st.randoms(use_true_random=False))
def test_at_unequal_costs_row_order_does_not_matter_and_the_budget_holds(
    pool_of, reordered, ids_of, costs, policy, percent, random
):
    pool = pool_of([(7 * i % 11) / 10 for i in range(len(costs))], first_correct=[0] * len(costs))
    budget = parse_budget(f"{max(percent, -(-100 * min(costs) // sum(costs)))}%")
    one = choose(pool, policy, priced(pool, costs), budget)
    assert one.spent * 60 <= sum(costs) * float(budget.amount) + 1e-9
    assert one.spent == pytest.approx(one.cost.sum())
    assert one.spent == pytest.approx(sum(costs[i] for i in one.order) / 60)
    rows = random.sample(range(len(pool)), len(pool))
    shuffled = reordered(pool, rows)
    other = choose(shuffled, policy, priced(shuffled, [costs[i] for i in rows]), budget)
    assert ids_of(pool, one) == ids_of(shuffled, other)


@settings(deadline=None, max_examples=60)
@given(minutes, st.integers(0, 3))
def test_a_knapsack_is_worth_at_least_the_seeded_filling(pool_of, costs, seed):
    pool = pool_of([(7 * i % 11) / 10 for i in range(len(costs))])
    budget = parse_budget(f"{max(costs)} min")
    packed = choose(pool, Policy.HARD, priced(pool, costs), budget, seed=seed)
    filled = choose(pool, Policy.RANDOM, priced(pool, costs), budget, seed=seed)
    assert (1 - pool.p_mean[packed.order]).sum() >= (1 - pool.p_mean[filled.order]).sum() * (1 - 2e-6)


@pytest.mark.parametrize(
    ("items", "budget", "bought"),
    [(7473, "10%", 747), (7473, "7%", 523), (100, "7%", 7), (1000, "0.7%", 7), (125, "10%", 12), (3, "100%", 3)],
)
def test_a_share_buys_the_floor_of_exact_arithmetic(pool_of, items, budget, bought):
    pool = pool_of(np.linspace(0, 1, 11)[np.arange(items) % 11])
    for costs in (unpriced(items), parse_cost_per_item("0.1usd", items), parse_cost_per_item("7s", items)):
        assert len(choose(pool, Policy.HARD, costs, parse_budget(budget)).order) == bought


@pytest.mark.parametrize(
    ("cost", "budget", "bought"),
    [("5min", "40h", 480), ("0.1usd", "$1", 10), ("$0.30", "0.9usd", 3), ("3usd", "10usd", 3)],
)
def test_money_and_time_buy_whole_items_exactly(pool_of, cost, budget, bought):
    pool = pool_of([0.5] * 600)
    choice = choose(pool, Policy.HARD, parse_cost_per_item(cost, 600), parse_budget(budget))
    assert len(choice.order) == bought
    assert choice.solver.status == "sorted"


def test_ten_items_at_a_tenth_cost_one(pool_of):
    pool = pool_of([0.5] * 11)
    choice = choose(pool, Policy.HARD, priced(pool, [0.1] * 10 + [0.9], "usd"), parse_budget("$1"))
    assert len(choice.order) == 10
    assert choice.spent == 1.0


def test_the_share_is_taken_of_all_eligible_items_estimated_or_not(pool_of):
    pool = pool_of([0.1] * 10, nothing=20, eligible=[True] * 20 + [False] * 10)
    choice = choose(pool, Policy.HARD, unpriced(30), parse_budget("20%"))
    assert (choice.n_pool, choice.n_candidates, len(choice.order)) == (20, 10, 4)


def test_a_later_round_takes_its_share_of_the_whole_pool_and_nothing_twice(pool_of):
    pool = pool_of([i / 20 for i in range(20)], k=20)
    first = choose(pool, Policy.HARD, unpriced(20), parse_budget("20%"))
    left = np.ones(20, np.bool_)
    left[first.order] = False
    again = replace(pool, available=left)
    second = choose(again, Policy.HARD, unpriced(20), parse_budget("20%"))
    assert (first.order.tolist(), second.order.tolist()) == ([0, 1, 2, 3], [4, 5, 6, 7])
    assert (second.n_pool, second.n_candidates) == (20, 16)


@pytest.mark.parametrize("policy", [Policy.HARD, Policy.LEARNABLE, Policy.RANDOM])
def test_when_everything_is_bought_it_says_so(pool_of, policy):
    pool = pool_of([0.1, 0.5], available=[False, False])
    with pytest.raises(NothingToDo, match=f"every item that policy {policy} can rank is already bought") as caught:
        choose(pool, policy, unpriced(2), parse_budget("1"))
    assert "budgetplan ingest FILE" in caught.value.hint
    assert "budgetplan recall" in caught.value.hint


def test_when_the_audit_slice_takes_all_it_says_so(pool_of):
    pool = pool_of([0.1, 0.5])
    with pytest.raises(NothingToDo, match="the audit slice takes every item"):
        choose(pool, Policy.HARD, unpriced(2), parse_budget("2"), wishes=Wishes(reserved=np.array([0, 1])))


@pytest.mark.parametrize("share", [Fraction(1, 3), Fraction(1, 2), Fraction(1)])
def test_a_batch_is_a_share_of_what_the_reserved_items_leave(pool_of, share):
    pool = pool_of([i / 20 for i in range(20)], k=20)
    wishes = Wishes(reserved=np.array([0, 1]))
    choice = choose(pool, Policy.HARD, unpriced(20), parse_budget("11"), wishes=wishes, batch=share)
    assert choice.order.tolist() == list(range(2, 2 + math.ceil(9 * share)))
    assert choice.left == 9 - len(choice.order)


def test_when_what_is_left_cannot_be_ranked_it_says_what_was_bought(pool_of):
    pool = pool_of([0.1], agreement=[0.5], available=[False, True])
    with pytest.raises(NothingToDo, match="policy learnable can rank is already bought"):
        choose(pool, Policy.LEARNABLE, unpriced(2), parse_budget("1"))
    with pytest.raises(NothingToDo, match="policy base-wrong found no item whose first sample"):
        choose(pool, Policy.BASE_WRONG, unpriced(2), parse_budget("1"))


def test_fewer_candidates_than_the_budget_buys_is_said_and_no_error(pool_of):
    pool = pool_of([0.1] * 3, nothing=7)
    choice = choose(pool, Policy.HARD, unpriced(10), parse_budget("8"))
    assert (len(choice.order), choice.exhausted) == (3, True)
    assert not choose(pool, Policy.HARD, unpriced(10), parse_budget("2")).exhausted


def test_a_budget_in_items_buys_the_top_ones_and_still_tells_what_they_cost(pool_of):
    pool = pool_of([0.3, 0.1, 0.2])
    choice = choose(pool, Policy.HARD, priced(pool, [1, 30, 90]), parse_budget("2 items"))
    assert choice.order.tolist() == [1, 2]
    assert (choice.unit, choice.spent, choice.cost.tolist()) == ("h", 2.0, [0.5, 1.5])


def test_ties_at_the_cut_are_counted_and_drawn_by_the_seed(pool_of):
    pool = pool_of([0.0] * 16 + [0.4] * 9)
    picks = {seed: choose(pool, Policy.HARD, unpriced(25), parse_budget("12"), seed=seed) for seed in range(20)}
    assert all((c.n_tied_at_cut, c.n_tied_picked) == (16, 12) for c in picks.values())
    assert {int(i) for c in picks.values() for i in c.order} == set(range(16))
    assert "hash" in picks[0].tie_rule
    whole = choose(pool, Policy.HARD, unpriced(25), parse_budget("16"))
    assert (whole.n_tied_at_cut, whole.n_tied_picked) == (0, 0)


def test_ties_of_a_knapsack_are_items_equal_in_score_and_cost(pool_of):
    pool = pool_of([0.0] * 6 + [0.9] * 2)
    choice = choose(pool, Policy.HARD, priced(pool, [60] * 6 + [120] * 2), parse_budget("4h"))
    assert (choice.n_tied_at_cut, choice.n_tied_picked) == (6, 4)
    assert choice.solver.status == "optimal"
    assert choice.solver.gap == pytest.approx(0, abs=1e-9)


def test_base_wrong_is_a_seeded_draw_from_the_items_the_first_sample_got_wrong(pool_of):
    pool = pool_of([0.5] * 20, first_correct=[0] * 8 + [1] * 10 + [-1] * 2)
    draws = [choose(pool, Policy.BASE_WRONG, unpriced(20), parse_budget("3"), seed=seed) for seed in range(15)]
    assert {int(i) for c in draws for i in c.order} == set(range(8))
    assert all((len(c.order), c.n_tied_at_cut, c.n_tied_picked) == (3, 8, 3) for c in draws)


def test_at_unequal_costs_random_takes_its_seeded_order_and_skips_what_does_not_fit(pool_of):
    pool = pool_of([0.5] * 12)
    costs = priced(pool, [60, 6000] * 6)
    seen = set()
    for seed in range(25):
        choice = choose(pool, Policy.RANDOM, costs, parse_budget("3h"), seed=seed)
        assert (len(choice.order), choice.spent, choice.solver.status) == (3, 3.0, "filled")
        seen |= set(choice.order.tolist())
    assert seen == {0, 2, 4, 6, 8, 10}


def test_order_score_and_cost_go_together_best_first(pool_of):
    pool = pool_of([0.9, 0.1, 0.5, 0.3])
    choice = choose(pool, Policy.HARD, priced(pool, [9, 1, 5, 3]), parse_budget("100%"))
    assert choice.order.tolist() == [1, 3, 2, 0]
    assert choice.score.tolist() == pool.p_mean[[1, 3, 2, 0]].tolist()
    np.testing.assert_allclose(choice.cost * 60, [1, 3, 5, 9])


def test_free_items_are_always_bought(pool_of):
    pool = pool_of([0.9, 0.1, 0.5])
    choice = choose(pool, Policy.HARD, priced(pool, [0, 60, 60]), parse_budget("1h"))
    assert sorted(choice.order.tolist()) == [0, 1]
    assert choose(pool, Policy.HARD, priced(pool, [0, 0, 0]), parse_budget("50%")).order.size == 3


@pytest.mark.parametrize(
    ("policy", "pool", "message", "hint"),
    [
        (Policy.HARD, {"nothing": 3}, "no item has samples", "budgetplan probe"),
        (Policy.LEARNABLE, {"agreement": [0.5]}, "policy learnable needs estimates of p", "--policy hard"),
        (Policy.BASE_WRONG, {"p_hat": [0.5], "first_correct": [1]}, "policy base-wrong", "--policy hard"),
        (Policy.RANDOM, {"p_hat": [0.5], "eligible": [False]}, "every item of the pool is kept out", "--exclude"),
    ],
)
def test_nothing_to_rank_says_what_is_missing(pool_of, policy, pool, message, hint):
    pool = pool_of(**pool)
    with pytest.raises(NothingToDo, match=message) as caught:
        choose(pool, policy, unpriced(len(pool)), parse_budget("1"))
    assert hint in caught.value.hint
