import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated_signals import simulate

from budgetplan.difficulty.cold_start import RULE, cold_scale, cold_score, typical_p
from budgetplan.difficulty.features import SIGNALS, features_of

RAW_NAME = {"length": "mean_length"}
VALUES = [0.1, 0.5, 0.3, 0.9, 0.7]


def scored(n_samples, near=None, **columns):
    n = len(n_samples)
    near = np.zeros((n, 0), np.int64) if near is None else np.array(near)
    return cold_score(features_of(pa.table({"n_samples": n_samples, **columns}), near, np.zeros((n, 0))))


def test_the_rule_weighs_every_signal_as_documented():
    assert set(RULE) == set(SIGNALS)
    assert RULE["agreement"] == -RULE["answer_entropy"] == 1.0
    assert RULE["reference_agreement"] == RULE["agreement"] - RULE["answer_entropy"]
    assert {abs(RULE[name]) for name in set(RULE) - {"agreement", "answer_entropy", "reference_agreement"}} == {0.25}


@pytest.mark.parametrize(
    ("name", "easier"),
    [
        ("agreement", 1),
        ("answer_entropy", -1),
        ("text_similarity", 1),
        ("length", -1),
        ("prompt_length", -1),
        ("mean_logprob", 1),
        ("reference_agreement", 1),
    ],
)
def test_each_signal_alone_orders_the_items(name, easier):
    score = scored([4] * 5, **{RAW_NAME.get(name, name): VALUES})
    assert np.argsort(score).tolist() == np.argsort(easier * np.array(VALUES)).tolist()


def test_the_nearest_prompts_move_an_item_and_less_than_its_own_agreement_does():
    agreement = [0.5, 0.5, 0.0, 1.0]
    near = [[2], [3], [0], [1]]
    score = scored([4] * 4, near, agreement=agreement)
    assert score[2] < score[0] < score[1] < score[3]
    assert score[0] == pytest.approx(-score[1])


def test_the_score_is_the_standardised_sum_by_hand():
    pool = simulate(1, 50)
    raw = {name: pool.signals[name].to_numpy().astype(float) for name in pool.signals.column_names}
    raw["length"], raw["prompt_length"] = np.log1p(raw["mean_length"]), np.log1p(raw["prompt_length"])
    known = [name for name in RULE if name in raw]
    total = sum(RULE[name] * (raw[name] - raw[name].mean()) / raw[name].std() for name in known)
    np.testing.assert_allclose(cold_score(pool.features), (total - total.mean()) / total.std(), atol=1e-12)
    assert cold_scale(pool.features) == pytest.approx((total.mean(), total.std()), abs=1e-12)


def test_a_reference_counts_more_than_the_models_own_agreement():
    agreement, reference = [0.2, 0.4, 0.6, 0.8], [0.8, 0.6, 0.4, 0.2]
    alone = scored([4] * 4, agreement=agreement)
    with_reference = scored([4] * 4, agreement=agreement, reference_agreement=reference)
    assert np.argsort(alone).tolist() == [0, 1, 2, 3]
    assert np.argsort(with_reference).tolist() == [3, 2, 1, 0]


def test_what_the_prompts_components_say_does_not_count_before_labels():
    pool = simulate(2, 50)
    without = features_of(pool.signals, np.zeros((50, 0), np.int64), np.zeros((50, 0)))
    np.testing.assert_array_equal(cold_score(pool.features), cold_score(without))


def test_items_without_samples_are_nan_and_change_nothing():
    n = len(VALUES)
    entropy = [1 - value for value in VALUES]
    alone = scored([4] * n, agreement=VALUES, answer_entropy=entropy)
    beside = scored([0] + [4] * n, agreement=[None, *VALUES], answer_entropy=[99_999, *entropy])
    assert np.isnan(beside[0])
    np.testing.assert_array_equal(beside[1:], alone)
    assert alone.mean() == pytest.approx(0.0, abs=1e-12)
    assert alone.std() == pytest.approx(1.0)


def test_a_weak_sum_is_not_blown_up():
    assert scored([4] * 5, prompt_length=[10, 30, 20, 50, 40]).std() == pytest.approx(0.25)


@pytest.mark.parametrize("n", [1, 2, 3, 1003])
def test_equal_items_all_score_exactly_0(n):
    score = scored([8] * n, agreement=[0.1] * n, answer_entropy=[1.7] * n, mean_length=[33.0] * n)
    assert score.tolist() == [0.0] * n


def test_equal_items_among_others_stay_bitwise_tied_wherever_they_stand():
    agreement = np.random.default_rng(0).choice([0.125, 0.5, 0.625, 1.0], 1003)
    score = scored([8] * 1003, agreement=agreement, answer_entropy=1.1 - agreement, mean_length=np.full(1003, 12.0))
    assert len(np.unique(score)) == 4


def test_a_pool_without_items_and_one_without_samples_have_no_score():
    assert scored([]).tolist() == []
    assert np.isnan(scored([0, 0], agreement=pa.nulls(2, pa.float64()))).all()


@given(st.floats(-8, 8), st.floats(1e-3, 8))
def test_the_typical_p_rises_with_the_score(score, more):
    low, high = typical_p(np.array([score, score + more]))
    assert 0 < low < high < 1


def test_the_typical_p_of_an_item_without_samples_is_nan():
    assert np.isnan(typical_p(np.array([np.nan]))).all()
