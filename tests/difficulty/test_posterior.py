import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import beta, betabinom

from budgetplan.difficulty.horizon import expected_rise, mixed_group_chance
from budgetplan.difficulty.posterior import Prior, estimate, fit_prior, predicted

shapes = st.floats(0.05, 30)
COLUMNS = ("p_hat", "p_mean", "p_low", "p_high", "learnable", "learnable_horizon")
counts = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=40)


def columns(pairs):
    k = np.array([max(pair) for pair in pairs])
    return np.array([min(pair) for pair in pairs]), k


@settings(deadline=None)
@given(counts, shapes, shapes)
def test_p_hat_is_equation_1_and_nothing_is_estimated_without_samples(pairs, a, b):
    n, k = columns(pairs)
    estimates = estimate(n, k, Prior(a, b))
    for i in range(len(k)):
        if k[i]:
            assert estimates.p_hat[i] == n[i] / k[i]
            assert estimates.p_low[i] <= estimates.p_high[i]
            assert 0 <= estimates.learnable[i] <= 1
            assert 0 <= estimates.learnable_horizon[i] <= 1
        else:
            assert all(np.isnan(getattr(estimates, name)[i]) for name in COLUMNS)


@settings(deadline=None, max_examples=25)
@given(counts, st.randoms(use_true_random=False))
def test_equal_counts_get_bitwise_equal_numbers_in_any_row_order(pairs, random):
    n, k = columns(pairs)
    shuffle = list(range(len(k)))
    random.shuffle(shuffle)
    prior, shuffled_prior = fit_prior(n, k), fit_prior(n[shuffle], k[shuffle])
    assert prior == shuffled_prior
    straight, shuffled = estimate(n, k, prior), estimate(n[shuffle], k[shuffle], prior)
    np.testing.assert_array_equal(straight.p_mean[shuffle], shuffled.p_mean)
    np.testing.assert_array_equal(straight.learnable[shuffle], shuffled.learnable)
    np.testing.assert_array_equal(straight.learnable_horizon[shuffle], shuffled.learnable_horizon)


@settings(deadline=None, max_examples=40)
@given(st.floats(0.5, 20), st.floats(0.5, 20), st.integers(2, 16))
def test_mixed_group_chance_is_the_integral_it_stands_for(a, b, group_size):
    expected, _ = quad(lambda p: (1 - p**group_size - (1 - p) ** group_size) * beta.pdf(p, a, b), 0, 1, limit=200)
    assert mixed_group_chance(np.array([a]), np.array([b]), group_size)[0] == pytest.approx(expected, abs=1e-6)


def test_posterior_against_simulated_success_rates():
    rng = np.random.default_rng(5)
    p = rng.beta(0.7, 1.3, 4_000_000)
    p = p[rng.binomial(6, p) == 2]
    estimates = estimate(np.array([2]), np.array([6]), Prior(0.7, 1.3), group_size=8)
    assert estimates.p_mean[0] == pytest.approx(p.mean(), abs=2e-3)
    assert estimates.p_low[0] == pytest.approx(np.quantile(p, 0.05), abs=3e-3)
    assert estimates.p_high[0] == pytest.approx(np.quantile(p, 0.95), abs=3e-3)
    assert estimates.learnable[0] == pytest.approx((1 - p**8 - (1 - p) ** 8).mean(), abs=2e-3)


@pytest.mark.parametrize(("a", "b"), [(0.6, 0.5), (0.15, 0.22), (2.0, 6.0)])
def test_prior_is_recovered_from_samples_of_it(a, b):
    rng = np.random.default_rng(1)
    k = rng.integers(4, 11, 200_000)
    prior = fit_prior(betabinom.rvs(k, a, b, random_state=rng), k)
    assert prior.a == pytest.approx(a, rel=0.03)
    assert prior.b == pytest.approx(b, rel=0.03)


def test_the_fit_is_at_the_maximum_of_the_likelihood_when_there_is_much_data():
    rng = np.random.default_rng(2)
    n, k = rng.binomial(8, rng.beta(0.6, 0.5, 50_000)), np.full(50_000, 8)
    prior = fit_prior(n, k)

    def likelihood(a, b):
        return betabinom.logpmf(n, k, a, b).sum()

    best = likelihood(prior.a, prior.b)
    for da, db in [(1.02, 1), (0.98, 1), (1, 1.02), (1, 0.98), (1.02, 1.02), (0.98, 0.98)]:
        assert likelihood(prior.a * da, prior.b * db) < best


def test_no_counted_sample_gives_jeffreys():
    assert fit_prior(np.array([], int), np.array([], int)) == Prior(0.5, 0.5)
    assert fit_prior(np.zeros(7, int), np.zeros(7, int)) == Prior(0.5, 0.5)


def test_one_sample_per_item_tells_the_mean_and_leaves_the_concentration_at_one():
    prior = fit_prior(np.array([1] * 30 + [0] * 70), np.ones(100, int))
    assert prior.mean == pytest.approx(30.5 / 101, abs=1e-6)
    assert prior.a + prior.b == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("items", [1, 10, 100_000])
@pytest.mark.parametrize("right", [0, 8])
def test_a_pool_that_is_all_wrong_or_all_right_stays_open_to_surprise(items, right):
    n, k = np.full(items, right), np.full(items, 8)
    prior = fit_prior(n, k)
    rare = prior.mean if right == 0 else 1 - prior.mean
    assert 0 < rare < 1 / items
    estimates = estimate(n[:1], k[:1], prior)
    assert np.isfinite([estimates.p_low[0], estimates.p_high[0], estimates.learnable[0]]).all()


@pytest.mark.parametrize("items", [1, 1000, 100_000])
def test_a_pool_without_spread_gives_a_finite_prior(items):
    prior = fit_prior(np.full(items, 4), np.full(items, 8))
    assert prior.mean == pytest.approx(0.5)
    assert 1 < (prior.a + prior.b) < 10_000


def test_counts_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="n_correct <= k"):
        estimate(np.array([3]), np.array([2]), Prior(1, 1))
    with pytest.raises(ValueError, match="at least 2"):
        estimate(np.array([1]), np.array([2]), Prior(1, 1), group_size=1)


@settings(deadline=None)
@given(st.lists(st.floats(0.005, 0.995), max_size=20), st.floats(0.01, 100), st.integers(2, 64))
def test_predictions_become_finite_estimates_without_a_p_hat(p, concentration, group_size):
    estimates = predicted(np.array([*p, np.nan]), concentration, group_size)
    assert np.isnan(estimates.p_hat).all()
    assert estimates.p_mean[:-1].tolist() == p
    for name in COLUMNS[1:]:
        column = getattr(estimates, name)
        assert ((column[:-1] >= 0) & (column[:-1] <= 1)).all()
        assert np.isnan(column[-1])
    assert (estimates.p_low[:-1] <= estimates.p_high[:-1]).all()


def test_a_prediction_is_the_beta_around_it():
    estimates = predicted(np.array([0.3]), 4.0, group_size=8)
    chance, _ = quad(lambda p: (1 - p**8 - (1 - p) ** 8) * beta.pdf(p, 1.2, 2.8), 0, 1)
    assert estimates.p_low[0] == pytest.approx(beta.ppf(0.05, 1.2, 2.8))
    assert estimates.p_high[0] == pytest.approx(beta.ppf(0.95, 1.2, 2.8))
    assert estimates.learnable[0] == pytest.approx(chance)


def test_learnable_over_the_horizon_is_that_of_the_posterior_and_of_the_passes():
    counted = estimate(np.array([3]), np.array([8]), Prior(0.4, 0.9), 4, 10.0)
    of_posterior = mixed_group_chance(np.array([3.4]), np.array([5.9]), 4, expected_rise(10.0))
    assert counted.learnable_horizon[0] == pytest.approx(of_posterior[0])
    guessed = predicted(np.array([0.3]), 4.0, 4, 10.0)
    of_prediction = mixed_group_chance(np.array([1.2]), np.array([2.8]), 4, expected_rise(10.0))
    assert guessed.learnable_horizon[0] == pytest.approx(of_prediction[0])
    at_once = estimate(np.array([0, 3, 8]), np.array([8, 8, 8]), Prior(0.4, 0.9), 8, 0.0)
    np.testing.assert_array_equal(at_once.learnable_horizon, at_once.learnable)


def test_a_lower_concentration_widens_the_interval():
    wide, narrow = predicted(np.array([0.4]), 1.0), predicted(np.array([0.4]), 20.0)
    assert wide.p_low[0] < narrow.p_low[0] < 0.4 < narrow.p_high[0] < wide.p_high[0]


def test_verified_estimates_take_from_predictions_only_what_they_do_not_have():
    verified = estimate(np.array([1, 0, 0]), np.array([4, 0, 0]), Prior(1, 1))
    predictions = predicted(np.array([0.9, 0.6, np.nan]), 2.0)
    filled = verified.filled_from(predictions)
    for name in COLUMNS:
        own, other, column = (getattr(of, name) for of in (verified, predictions, filled))
        np.testing.assert_array_equal(column, [own[0], other[1], np.nan])
    assert filled.p_hat[0] == 0.25
    assert np.isnan(filled.p_hat[1])
    assert np.isnan(verified.p_mean[1])
