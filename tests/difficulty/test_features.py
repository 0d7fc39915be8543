import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.difficulty.features import SIGNALS, features_of, scale_of, weighted_sum

RAW = (
    "agreement",
    "answer_entropy",
    "text_similarity",
    "mean_length",
    "prompt_length",
    "mean_logprob",
    "reference_agreement",
)
LENGTHS = ("mean_length", "prompt_length")


def table(n_samples, **columns):
    return pa.table({"n_samples": pa.array(n_samples, pa.int64()), **columns})


def made(signals, near=None, components=None):
    n = signals.num_rows
    near = np.zeros((n, 0), np.int64) if near is None else np.array(near, np.int64)
    return features_of(signals, near, np.zeros((n, 0)) if components is None else components)


def column(features, name):
    return features.of([name])[:, 0]


def test_features_are_the_signals_then_the_components_of_the_prompts():
    features = made(table([4, 4], agreement=[0.5, 1.0]), components=np.array([[1.0, 5.0], [2.0, 3.0]], np.float32))
    assert features.names == (*SIGNALS, "prompt_component_0", "prompt_component_1")
    assert features.values.dtype == np.float64
    np.testing.assert_allclose(features.of(["prompt_component_1", "agreement"]), [[1, -1], [-1, 1]])


def test_only_items_with_samples_are_standardised_over_and_the_others_are_all_zero():
    signals = table([8, 0, 8, 8, 0], agreement=[0.2, 9.0, 0.4, 0.9, None], prompt_length=[10, 10_000, 20, 70, 5])
    features = made(signals, components=np.arange(10.0).reshape(5, 2))
    assert features.sampled.tolist() == [True, False, True, True, False]
    assert not features.values[[1, 4]].any()
    for name in ("agreement", "prompt_length", "prompt_component_0"):
        known = column(features, name)[features.sampled]
        assert known.mean() == pytest.approx(0.0, abs=1e-12)
        assert known.std() == pytest.approx(1.0)


def test_center_and_spread_lead_from_the_raw_numbers_to_the_values():
    raw = np.array([0.2, 0.4, 0.9])
    features = made(table([8, 8, 8], agreement=raw, mean_length=[9, 99, 999]))
    at, length = features.names.index("agreement"), features.names.index("length")
    assert (features.center[at], features.spread[at]) == (pytest.approx(raw.mean()), pytest.approx(raw.std()))
    np.testing.assert_allclose(features.values[:, at], (raw - raw.mean()) / raw.std())
    assert features.center[length] == pytest.approx(np.log([10, 100, 1000]).mean())


def test_lengths_count_by_their_logarithm():
    features = made(table([8] * 3, mean_length=[9, 99, 999], prompt_length=[0, 9, 99]))
    for name in ("length", "prompt_length"):
        np.testing.assert_allclose(column(features, name), np.array([-1, 0, 1]) * np.sqrt(1.5), atol=1e-12)


@pytest.mark.parametrize("missing", [None, np.nan, np.inf, -np.inf, 1e300])
def test_a_number_that_is_missing_or_none_counts_as_the_mean_and_not_towards_it(missing):
    features = made(table([8] * 4, mean_logprob=pa.array([-1.0, missing, -3.0, -5.0], pa.float64(), from_pandas=False)))
    np.testing.assert_allclose(column(features, "mean_logprob"), np.array([1, 0, 0, -1]) * np.sqrt(1.5))
    assert features.center[features.names.index("mean_logprob")] == -3.0


@pytest.mark.parametrize("value", [0.1, 1e-7, -3e6])
def test_a_constant_column_and_one_without_numbers_are_zero_with_spread_1(value):
    features = made(table([8] * 7, agreement=[0.1 * i for i in range(7)], mean_logprob=[value] * 7))
    assert not column(features, "mean_logprob").any()
    assert not column(features, "reference_agreement").any()
    for name in ("mean_logprob", "reference_agreement"):
        assert features.spread[features.names.index(name)] == 1.0
    assert column(features, "agreement").any()


def test_a_column_that_is_constant_but_for_rounding_says_nothing():
    features = made(table([8] * 3, agreement=[0.3, 0.1 + 0.2, 0.3], mean_logprob=[-1e6, -1e6 - 1e-9, -1e6]))
    for name in ("agreement", "mean_logprob"):
        assert np.abs(column(features, name)).max() < 1e-8


def test_near_agreement_is_the_mean_of_the_neighbours_that_have_agreement():
    signals = table([4, 4, 4, 0, 4], agreement=[0.1, 0.5, 0.9, None, 0.3])
    near = [[1, 2, 3], [3, 0, -1], [3, -1, -1], [0, 1, 2], [-1, -1, -1]]
    features = made(signals, near)
    at = features.names.index("near_agreement")
    assert features.center[at] == pytest.approx((0.7 + 0.1) / 2)
    np.testing.assert_allclose(features.values[:, at], [1, -1, 0, 0, 0], atol=1e-12)


def test_without_neighbours_near_agreement_is_unknown():
    assert not column(made(table([4, 4], agreement=[0.1, 0.5])), "near_agreement").any()


numbers = st.none() | st.floats(allow_nan=True, allow_infinity=True)


@st.composite
def pools(draw, values=numbers, most=12):
    n = draw(st.integers(0, most))
    signals = {name: draw(st.lists(values, min_size=n, max_size=n)) for name in RAW if draw(st.booleans())}
    for name in set(LENGTHS) & set(signals):
        signals[name] = [None if value is None else abs(value) for value in signals[name]]
    arrays = {name: pa.array(values, pa.float64(), from_pandas=False) for name, values in signals.items()}
    n_samples = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    near = draw(st.lists(st.lists(st.integers(-1, n - 1), min_size=2, max_size=2), min_size=n, max_size=n))
    return table(n_samples, **arrays), np.array(near, np.int64).reshape(n, 2)


@settings(deadline=None, max_examples=200)
@given(pools())
def test_features_are_always_finite(pool):
    features = made(*pool)
    for numbers_of in (features.values, features.center, features.spread):
        assert np.isfinite(numbers_of).all()
    assert (features.spread > 0).all()
    assert not features.values[~features.sampled].any()


@settings(deadline=None)
@given(pools(st.floats(-5, 5)), st.randoms(use_true_random=False))
def test_row_order_changes_no_bit(pool, random):
    signals, near = pool
    order = list(range(signals.num_rows))
    random.shuffle(order)
    new_row = np.append(np.argsort(order), -1)
    straight = made(signals, near)
    shuffled = made(signals.take(pa.array(order, pa.int64())), new_row[near[order]])
    np.testing.assert_array_equal(straight.values[order], shuffled.values)
    np.testing.assert_array_equal(straight.center, shuffled.center)
    np.testing.assert_array_equal(straight.spread, shuffled.spread)


@pytest.mark.parametrize("n", [7, 101, 1003])
def test_equal_rows_get_bitwise_equal_sums(n):
    rng = np.random.default_rng(n)
    for _ in range(20):
        total = weighted_sum(np.tile(rng.normal(size=8), (n, 1)), rng.normal(size=8))
        assert len(np.unique(total)) == 1


def test_a_scale_of_nothing_and_of_one_number_leaves_numbers_finite():
    assert scale_of(np.array([])) == (0.0, 1.0)
    assert scale_of(np.array([0.3])) == (0.3, 1.0)
