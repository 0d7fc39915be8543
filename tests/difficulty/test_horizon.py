import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaln, expit

from budgetplan.difficulty.horizon import expected_rise, mixed_group_chance

LOGITS = np.linspace(-60, 60, 12_001)
shapes = st.floats(-7, 2.5).map(lambda exponent: 10**exponent)


def in_logits(a, b, group_size, rise):
    """Integrate over logit p and over t by brute force; outside LOGITS no group is mixed."""
    density = np.exp(-a * np.logaddexp(0, -LOGITS) - b * np.logaddexp(0, LOGITS) - betaln(a, b))
    mixed = np.zeros(len(LOGITS))
    for time, weight in zip(*np.polynomial.legendre.leggauss(24), strict=True):
        shift = rise * (time + 1) / 2
        log_right = -group_size * np.logaddexp(0, -LOGITS - shift)
        log_wrong = -group_size * np.logaddexp(0, LOGITS + shift)
        mixed -= np.expm1(np.logaddexp(log_right, log_wrong)) * weight / 2
    return np.trapezoid(density * mixed, LOGITS)


@pytest.mark.parametrize("rise", [0.0, 0.25, 1.34, 2.3, -2.0])
@pytest.mark.parametrize(
    ("a", "b", "group_size"),
    [(0.1, 0.3, 8), (0.03, 0.02, 8), (1e-6, 8.0, 8), (8.0, 1e-6, 4), (4.0, 8.0, 4), (0.5, 30.5, 16), (100.0, 1.0, 64)],
)
def test_it_is_the_integral_it_stands_for(a, b, group_size, rise):
    found = mixed_group_chance(np.array([a]), np.array([b]), group_size, rise)
    assert found[0] == pytest.approx(in_logits(a, b, group_size, rise), abs=1e-6)


@settings(deadline=None, max_examples=25)
@given(shapes, shapes, st.integers(2, 64), st.floats(-2.3, 2.3))
def test_it_is_that_for_every_posterior(a, b, group_size, rise):
    found = mixed_group_chance(np.array([a]), np.array([b]), group_size, rise)
    assert found[0] == pytest.approx(in_logits(a, b, group_size, rise), abs=1e-6)


def test_it_is_what_simulated_trainings_show():
    rng = np.random.default_rng(3)
    p = rng.beta(0.6, 6.4, 400_000)
    right = rng.binomial(8, expit(np.log(p / (1 - p)) + 1.34 * rng.random(len(p))))
    found = mixed_group_chance(np.array([0.6]), np.array([6.4]), 8, 1.34)
    assert found[0] == pytest.approx(((right > 0) & (right < 8)).mean(), abs=4e-3)


def test_what_falls_is_the_mirror_of_what_rises_and_nan_stays_nan():
    a, b = np.array([0.3, 5.0, np.nan]), np.array([2.0, 0.7, np.nan])
    np.testing.assert_array_equal(mixed_group_chance(a, b, 8, -1.0), mixed_group_chance(b, a, 8, 1.0))
    assert np.isnan(mixed_group_chance(a, b, 8, 1.0)).tolist() == [False, False, True]


def test_equal_posteriors_get_bitwise_equal_numbers_wherever_they_stand():
    a, b = np.tile([0.34, 1.34, 8.34], 1_001), np.tile([8.67, 7.67, 0.67], 1_001)
    assert len(np.unique(mixed_group_chance(a, b, 8, 1.34))) == 3


def test_what_training_makes_easier_is_worth_more_the_harder_it_is():
    n = np.arange(9)
    now, over = (mixed_group_chance(0.4 + n, 0.6 + 8 - n, 8, rise) for rise in (0.0, 1.34))
    assert (over[:4] > now[:4]).all()
    assert over.argmax() < now.argmax()
    assert (over[5:] < now[5:]).all()


@settings(deadline=None)
@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_more_passes_never_raise_less_and_never_without_bound(one, other):
    low, high = sorted((one, other))
    assert 0 <= expected_rise(low) <= expected_rise(high) <= 2


def test_the_rule_is_the_one_that_is_documented():
    assert [expected_rise(passes) for passes in (0, 1, 3, 255, 4_000)] == [0, 0.25, 0.5, 2, 2]
    assert expected_rise(40) == pytest.approx(1.34, abs=0.005)
    assert expected_rise(1_000 * 32 / 747) == pytest.approx(1.33, abs=0.04)  # what the paper's runs on GSM8K show


def test_what_cannot_be_is_refused():
    for passes in (-1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="0 times or more"):
            expected_rise(passes)
    for rise in (2.4, -2.4, float("nan")):
        with pytest.raises(ValueError, match=r"2\.3 at most"):
            mixed_group_chance(np.array([1.0]), np.array([1.0]), 8, rise)
