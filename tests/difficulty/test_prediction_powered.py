import numpy as np
import pytest

from budgetplan.difficulty.prediction_powered import classical_pool_mean, pool_mean

K = 8
REPEATS = 600


def simulate(n, informative, shape=(0.6, 0.5), n_pool=1500, seed=0):
    """Coverage and mean width of the prediction-powered and the classical interval over random slices of one pool."""
    rng = np.random.default_rng(seed)
    p = rng.beta(*shape, n_pool)
    predicted = np.clip(p + 0.2 * rng.normal(size=n_pool), 0, 1) if informative else rng.beta(*shape, n_pool)
    weight = np.full(n, n_pool / n)
    covered, width = np.zeros(2), np.zeros(2)
    for _ in range(REPEATS):
        slice_ = rng.permutation(n_pool)[:n]
        n_correct, k = rng.binomial(K, p[slice_]), np.full(n, K)
        powered = pool_mean(predicted[slice_], n_correct, k, weight, predicted, n_pool)
        classical = classical_pool_mean(n_correct, k, weight, n_pool)
        covered += [interval.low <= p.mean() <= interval.high for interval in (powered, classical)]
        width += [interval.high - interval.low for interval in (powered, classical)]
    return covered / REPEATS, width / REPEATS


@pytest.mark.parametrize("n", [30, 67])
@pytest.mark.parametrize("informative", [True, False])
def test_the_interval_covers_90_percent_and_good_predictions_shorten_it(n, informative):
    covered, width = simulate(n, informative)
    assert covered == pytest.approx([0.90, 0.90], abs=0.04)
    assert width[0] < (0.75 if informative else 1.03) * width[1]


def test_the_interval_covers_in_a_hard_pool_where_most_slices_look_alike():
    covered, _ = simulate(30, informative=True, shape=(0.1, 2.0))
    assert covered.min() > 0.85


def test_the_estimate_is_ppi_plus_plus_with_the_rest_of_the_pool_unlabelled():
    rng = np.random.default_rng(3)
    n, n_pool = 20, 100
    p = rng.beta(1, 1, n_pool)
    predicted = np.clip(p + 0.2 * rng.normal(size=n_pool), 0, 1)
    n_correct = rng.binomial(K, p[:n])
    covariance = np.cov(n_correct / K, predicted[:n])
    power = covariance[0, 1] / covariance[1, 1] / (1 + n / (n_pool - n))  # their λ, for n labelled and the rest not
    expected = n_correct.mean() / K + power * (predicted[n:].mean() - predicted[:n].mean())
    estimate = pool_mean(predicted[:n], n_correct, np.full(n, K), np.ones(n), predicted, n_pool)
    assert 0 < power < 1
    assert estimate.value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("pool", [np.empty(0), np.full(500, np.nan), np.full(500, 0.4)])
def test_missing_or_constant_predictions_give_the_classical_estimate(pool):
    n_correct, k, weight = np.arange(9), np.full(9, K), np.ones(9)
    varied = np.linspace(0.3, 0.5, 9)
    assert pool_mean(varied, n_correct, k, weight, pool, 500) == classical_pool_mean(n_correct, k, weight, 500)


def test_leave_one_out_means_as_predictions_do_not_fake_certainty():
    rng = np.random.default_rng(1)
    n_correct, k, weight = rng.binomial(K, rng.beta(0.6, 0.5, 30)), np.full(30, K), np.ones(30)
    left_out = (n_correct.sum() - n_correct) / (29 * K)  # a perfect line through p̂, and no information at all
    pool = np.append(left_out, np.full(970, n_correct.mean() / K))
    assert pool_mean(left_out, n_correct, k, weight, pool, 1000) == classical_pool_mean(n_correct, k, weight, 1000)


def test_items_without_a_prediction_count_as_average_ones():
    rng = np.random.default_rng(2)
    n, n_pool = 40, 2000
    p = rng.beta(0.6, 0.5, n_pool)
    missing = rng.random(n_pool) < 0.3
    predicted = np.where(missing, np.nan, p)
    filled = np.where(missing, np.nanmean(predicted), p)
    audit = rng.binomial(K, p[:n]), np.full(n, K), np.ones(n)
    estimate = pool_mean(predicted[:n], *audit, predicted, n_pool)
    same = pool_mean(filled[:n], *audit, filled, n_pool)
    assert estimate.value == pytest.approx(same.value)
    assert estimate.high == pytest.approx(same.high)
    classical = classical_pool_mean(*audit, n_pool)
    assert estimate.high - estimate.low < classical.high - classical.low


def test_weights_undo_unequal_inclusion():
    rng = np.random.default_rng(5)
    hard, easy = rng.binomial(K, 0.1, 30), rng.binomial(K, 0.8, 30)
    # Ten hard items of the pool stand behind each hard one drawn, one easy item behind each easy one.
    weight = np.repeat([10.0, 1.0], 30)
    estimate = classical_pool_mean(np.append(hard, easy), np.full(60, K), weight, 330)
    assert estimate.value == pytest.approx((10 * hard.mean() + easy.mean()) / (11 * K))
    unweighted = classical_pool_mean(np.append(hard, easy), np.full(60, K), np.ones(60), 330)
    assert abs(unweighted.value - estimate.value) > 0.2
