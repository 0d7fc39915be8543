import numpy as np
import pytest
from scipy.special import expit

from budgetplan.difficulty.calibration_error import calibration_error, expected_calibration_error

K = 8
MISCALIBRATED = {
    "calibrated": lambda logit: logit,
    "too easy": lambda logit: logit + 0.6,
    "too sure": lambda logit: 1.8 * logit,
    "not sure enough": lambda logit: 0.5 * logit,
}


def draw(rng, n, distort):
    """Predictions, p̂ and true success rates at the prediction, of n items."""
    logit = 1.1 * rng.normal(size=n) - 0.2
    rate = expit(logit)
    return expit(distort(logit)), rng.binomial(K, rng.beta(1.5 * rate, 1.5 * (1 - rate))) / K, rate


@pytest.mark.parametrize("n", [30, 67])
def test_half_as_biased_as_the_binned_error_with_few_items_and_covering(n):
    rng = np.random.default_rng(n)
    bias, binned_bias = [], []
    for distort in MISCALIBRATED.values():
        predicted, _, rate = draw(rng, 100_000, distort)
        truth = np.abs(predicted - rate).mean()
        estimates, binned = [], []
        for seed in range(50):
            predicted, p_hat, _ = draw(rng, n, distort)
            estimates.append(calibration_error(predicted, p_hat, np.ones(n), seed))
            binned.append(expected_calibration_error(predicted, p_hat))
        bias.append(abs(np.mean([estimate.value for estimate in estimates]) - truth))
        binned_bias.append(abs(np.mean(binned) - truth))
        assert np.mean([estimate.low <= truth <= estimate.high for estimate in estimates]) > 0.85
    assert np.mean(bias) < 0.5 * np.mean(binned_bias)
    assert max(bias) < 0.055


def test_a_large_error_is_seen_and_told_from_none():
    rng = np.random.default_rng(7)
    predicted, p_hat, _ = draw(rng, 67, lambda logit: logit + 1.5)
    estimate = calibration_error(predicted, p_hat, np.ones(67))
    assert 0.1 < estimate.low < estimate.value < estimate.high < 0.5


def test_weights_count():
    predicted = np.full(20, 0.5)
    p_hat = np.repeat([0.5, 1.0], 10)
    weight = np.repeat([1.0, 9.0], 10)
    assert expected_calibration_error(predicted, p_hat, weight=weight) == pytest.approx(0.45)
    assert expected_calibration_error(predicted, p_hat) == pytest.approx(0.25)
    assert calibration_error(predicted, p_hat, weight).value > calibration_error(predicted, p_hat, weight[::-1]).value


def test_the_scale_of_the_weights_does_not_matter():
    rng = np.random.default_rng(3)
    predicted, p_hat, _ = draw(rng, 25, lambda logit: logit + 1)
    weight = rng.uniform(1, 5, 25)
    one, other = calibration_error(predicted, p_hat, weight), calibration_error(predicted, p_hat, 40 * weight)
    assert one.value == pytest.approx(other.value)
    assert one.high == pytest.approx(other.high)


def test_the_binned_error_by_hand():
    # Bins of two: (0, .5] holds .2 and .5 with p̂ 0 and .3; (.5, 1] holds .8 with p̂ 1.
    predicted, p_hat = np.array([0.2, 0.5, 0.8]), np.array([0.0, 0.3, 1.0])
    assert expected_calibration_error(predicted, p_hat, n_bins=2) == pytest.approx((0.4 + 0.2) / 3)
    assert expected_calibration_error(predicted, np.array([0.4, 0.3, 0.8]), n_bins=2) == pytest.approx(0.0)


def test_a_prediction_on_an_edge_belongs_to_the_bin_below_and_0_to_the_first():
    edge = np.array([3 * 0.1, 0.25])  # .30000000000000004
    assert expected_calibration_error(edge, edge + np.array([0.1, -0.1])) == pytest.approx(0.0)
    ends = np.array([0.0, 0.1, 1.0])
    assert expected_calibration_error(ends, ends + np.array([0.3, -0.3, 0.0])) == pytest.approx(0.0)


def test_items_without_both_numbers_are_ignored():
    predicted, p_hat = np.array([0.2, np.nan, 0.7]), np.array([0.5, 0.1, np.nan])
    assert expected_calibration_error(predicted, p_hat) == pytest.approx(0.3)
    assert expected_calibration_error(predicted[1:2], p_hat[1:2]) == 0.0
