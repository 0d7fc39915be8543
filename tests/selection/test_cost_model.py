import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.selection.cost_model import MIN_TIMED, fit_cost_model

SPREAD = 0.5


def work(items, exponent, seed=0):
    """Prompts of 5 to 200 words, and what answering each takes on average: it grows with words to the exponent."""
    rng = np.random.default_rng(seed)
    words = rng.integers(5, 200, items)
    prompts = [f"{i} " + "word " * int(count) for i, count in enumerate(words)]
    return pa.chunked_array([prompts]), 30 * (words / 50) ** exponent


def measured(mean, seed=0, breaks=0.0):
    """Log-normal times around the means; in a share of them the annotator went away for half an hour to five hours."""
    rng = np.random.default_rng(seed + 1000)
    seconds = mean * np.exp(rng.normal(-(SPREAD**2) / 2, SPREAD, len(mean)))
    away = rng.random(len(mean)) < breaks
    return seconds + away * rng.uniform(1800, 18000, len(mean))


@pytest.mark.parametrize("breaks", [0.0, 0.08])
def test_longer_prompts_that_take_longer_are_found_through_breaks(breaks):
    prompts, mean = work(300, 0.7)
    model = fit_cost_model(prompts, measured(mean, breaks=breaks))
    assert (model.kind, model.n_timed) == ("features", 300)
    assert model.error < 0.85 * model.baseline_error
    fresh, truth = work(500, 0.7, seed=1)
    predicted = model.predict(fresh)
    assert predicted.sum() == pytest.approx(truth.sum(), rel=0.1)
    assert np.median(np.abs(predicted / truth - 1)) < 0.12


@pytest.mark.parametrize("breaks", [0.0, 0.08])
def test_where_nothing_tells_it_is_one_number_for_all(breaks):
    kinds = []
    for seed in range(12):
        prompts, mean = work(100, 0.0, seed)
        model = fit_cost_model(prompts, measured(mean, seed, breaks))
        kinds.append(model.kind)
        if model.kind == "median":
            assert model.error == model.baseline_error
            assert len(set(model.predict(prompts).tolist())) == 1
    assert kinds.count("median") >= 11


@pytest.mark.parametrize(("exponent", "breaks"), [(0.7, 0.0), (0.7, 0.08), (0.0, 0.05)])
def test_the_error_shown_is_the_error_met_later(exponent, breaks):
    shown, met = [], []
    for seed in range(8):
        prompts, mean = work(200, exponent, seed)
        model = fit_cost_model(prompts, measured(mean, seed, breaks))
        fresh, truth = work(400, exponent, seed + 50)
        times = measured(truth, seed + 50, breaks)
        shown.append(model.error)
        met.append(np.median(np.abs(model.predict(fresh) / times - 1)))
    assert np.mean(shown) == pytest.approx(np.mean(met), rel=0.1)


def test_the_mean_is_right_in_total_not_only_the_typical_time():
    totals = []
    for seed in range(10):
        prompts, mean = work(300, 0.7, seed)
        totals.append(fit_cost_model(prompts, measured(mean, seed, breaks=0.05)).predict(prompts).sum() / mean.sum())
    assert np.mean(totals) == pytest.approx(1, abs=0.03)


def test_times_rounded_to_minutes_keep_their_mean():
    prompts, _ = work(90, 0.0)
    model = fit_cost_model(prompts, np.array([60.0, 60.0, 120.0] * 30))
    assert model.kind == "median"
    np.testing.assert_allclose(model.predict(prompts), 80)


def test_other_features_than_length_count_too():
    plain = [f"Say what this text is about {i}" for i in range(60)]
    choices = [f"Say what this text is about {i}\n(A) war\n(B) peace" for i in range(60)]
    prompts = pa.chunked_array([plain, choices])
    model = fit_cost_model(prompts, measured(np.repeat([90.0, 20.0], 60)))
    predicted = model.predict(prompts)
    assert predicted[:60].mean() == pytest.approx(90, rel=0.15)
    assert predicted[60:].mean() == pytest.approx(20, rel=0.15)


def test_items_without_a_time_are_predicted_and_not_counted():
    prompts, mean = work(100, 0.7)
    seconds = measured(mean)
    seconds[40:] = np.nan
    seconds[:5] = 0
    model = fit_cost_model(prompts, seconds)
    assert model.n_timed == 35
    assert len(model.predict(prompts)) == 100


def test_too_few_times_give_no_model():
    prompts, mean = work(40, 0.7)
    seconds = measured(mean)
    seconds[MIN_TIMED:] = np.nan
    assert fit_cost_model(prompts, seconds) is not None
    seconds[0] = np.nan
    assert fit_cost_model(prompts, seconds) is None
    assert fit_cost_model(pa.chunked_array([[]], pa.string()), np.zeros(0)) is None


def test_the_row_order_does_not_matter():
    prompts, mean = work(150, 0.7)
    seconds = measured(mean)
    rows = np.random.default_rng(0).permutation(150)
    assert fit_cost_model(prompts.take(pa.array(rows)), seconds[rows]) == fit_cost_model(prompts, seconds)


def test_it_does_not_go_beyond_what_was_seen():
    prompts, mean = work(300, 0.7)
    model = fit_cost_model(prompts, measured(mean))
    seen = model.predict(prompts)
    far = model.predict(pa.chunked_array([["word " * 100_000, "", "1 + 1\n" * 5000]]))
    assert np.all((far >= seen.min() * (1 - 1e-9)) & (far <= seen.max() * (1 + 1e-9)))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.text("a1 \n", max_size=30), st.floats(1e-300, 1e300)), min_size=MIN_TIMED, max_size=30))
def test_any_times_give_positive_predictions_and_no_warning(timed):
    prompts = pa.chunked_array([[prompt for prompt, _ in timed]], pa.string())
    model = fit_cost_model(prompts, np.array([seconds for _, seconds in timed]))
    predicted = model.predict(prompts)
    assert np.all(np.isfinite(predicted) & (predicted > 0))
    assert np.isfinite(model.error)
