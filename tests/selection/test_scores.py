from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.selection.policy import Policy
from budgetplan.selection.scores import score

grid = st.lists(st.integers(0, 10).map(lambda n: n / 10), min_size=1, max_size=30)


@settings(deadline=None)
@given(grid)
def test_at_equal_k_hard_and_easy_order_as_p_hat_does(pool_of, p_hat):
    pool = pool_of(p_hat)
    hard = score(pool, Policy.HARD, 0).ranking()
    easy = score(pool, Policy.EASY, 0).ranking()
    assert np.all(np.diff(pool.p_hat[hard]) >= 0)
    assert np.all(np.diff(pool.p_hat[easy]) <= 0)


@settings(deadline=None)
@given(grid)
def test_at_equal_k_middle_orders_by_the_distance_to_the_median_p_hat(pool_of, p_hat):
    pool = pool_of(p_hat)
    scores = score(pool, Policy.MIDDLE, 0)
    tenths = np.rint(pool.p_hat * 10)
    distance = np.abs(2 * tenths - np.rint(2 * np.median(tenths)))
    assert np.all(np.diff(distance[scores.ranking()]) >= 0)
    for d in np.unique(distance):  # equally far below and above is a tie, not a matter of rounding
        assert len(np.unique(scores.value[distance == d])) == 1


def test_few_samples_say_less_than_many(pool_of):
    few, many = pool_of([0.0], k=2), pool_of([0.0], k=10)
    assert score(many, Policy.HARD, 0).score[0] < score(few, Policy.HARD, 0).score[0]


@pytest.mark.parametrize("policy", list(Policy))
def test_candidates_by_policy(pool_of, policy):
    pool = pool_of([0.0, 0.5, 1.0], agreement=[0.6], nothing=1, first_correct=[0, 1, 0, -1, -1])
    expected = {
        Policy.RANDOM: [True] * 5,
        Policy.BASE_WRONG: [True, False, True, False, False],
        Policy.LEARNABLE: [True, True, True, False, False],
        Policy.HORIZON: [True, True, True, False, False],
    }.get(policy, [True, True, True, True, False])
    scores = score(pool, policy, 0)
    assert scores.candidate.tolist() == expected
    np.testing.assert_array_equal(np.isnan(scores.score), ~scores.candidate)
    assert np.all((scores.value >= 0) & (scores.value <= 1))


def test_without_an_answer_base_wrong_takes_what_is_predicted_wrong(pool_of):
    pool = pool_of([0.0, 1.0], agreement=[0.49, 0.5], first_correct=[0, 1, -1, -1])
    assert score(pool, Policy.BASE_WRONG, 0).score.tolist()[::2] == [0.0, 0.0]
    assert score(pool, Policy.BASE_WRONG, 0).candidate.tolist() == [True, False, True, False]


def test_a_calibrated_item_has_a_learnable_score(pool_of):
    pool = pool_of([0.0, 0.5])
    guessed = replace(pool, source=np.array(["verified", "calibrated"]), p_hat=np.array([0.0, np.nan]))
    assert guessed.verified.tolist() == [True, False]
    assert score(guessed, Policy.LEARNABLE, 0).candidate.tolist() == [True, True]
    np.testing.assert_array_equal(guessed.location, pool.p_mean)


def test_horizon_ranks_by_what_is_learnable_over_the_training(pool_of):
    pool = replace(pool_of([0.1, 0.5, 0.9]), learnable_horizon=np.array([0.7, 0.8, 0.2]))
    pool = replace(pool, source=np.array(["calibrated", "verified", "verified"]))
    assert score(pool, Policy.HORIZON, 0).ranking().tolist() == [1, 0, 2]
    assert score(pool, Policy.HORIZON, 0).score.tolist() == [0.7, 0.8, 0.2]


@pytest.mark.parametrize("policy", list(Policy))
def test_what_is_kept_out_is_no_candidate_and_does_not_move_the_median(pool_of, policy):
    pool = pool_of([0.1, 0.2, 0.3, 1.0, 1.0, 1.0, 1.0], first_correct=[0] * 7, eligible=[True] * 3 + [False] * 4)
    scores = score(pool, policy, 0)
    assert not scores.candidate[3:].any()
    if policy == Policy.MIDDLE:
        assert scores.ranking()[0] == 1


@pytest.mark.parametrize("policy", list(Policy))
def test_what_is_already_bought_is_no_candidate_but_still_moves_the_median(pool_of, policy):
    pool = pool_of([0.1, 0.2, 0.3, 1.0, 1.0, 1.0, 1.0], first_correct=[0] * 7, available=[True] * 3 + [False] * 4)
    scores = score(pool, policy, 0)
    assert scores.candidate.tolist() == pool.available.tolist()
    assert np.isnan(scores.score[3:]).all()
    if policy == Policy.MIDDLE:  # of all seven, 1.0
        assert scores.ranking()[0] == 2


def test_items_without_gold_are_ranked_by_agreement_beside_the_verified(pool_of):
    pool = pool_of([0.5], agreement=[0.2, 0.9])
    assert score(pool, Policy.HARD, 0).ranking().tolist() == [1, 0, 2]
    assert score(pool, Policy.HARD, 0).score.tolist()[1:] == [0.2, 0.9]


def test_the_seed_and_the_policy_change_who_goes_first_among_equals(pool_of):
    pool = pool_of([0.5] * 50, first_correct=[0] * 50)
    orders = [score(pool, policy, seed).ranking().tolist() for policy in Policy for seed in (0, 1)]
    assert len({tuple(order) for order in orders}) == len(orders)


def test_nothing_known_gives_no_candidates_and_no_warning(pool_of):
    pool = pool_of(nothing=3)
    assert [bool(score(pool, policy, 0).candidate.any()) for policy in Policy] == [p == Policy.RANDOM for p in Policy]
