import math
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.difficulty.interval import Interval
from budgetplan.difficulty.trust import FEWEST_ITEMS, HARD, Trust, assess

# Per audit item: place, predicted p, samples, correct ones, inverse inclusion probability.
unit = st.floats(0, 1)
audit_item = st.tuples(unit, unit | st.just(math.nan), st.integers(0, 9), st.integers(0, 9), st.floats(1, 20))


def judge(place, n_correct, k, p_mean=None, weight=None, pool_p_mean=None, n_pool=1000, seed=0):
    place = np.asarray(place, float)
    p_mean = np.full(len(place), np.nan) if p_mean is None else np.asarray(p_mean, float)
    weight = np.full(len(place), 10.0) if weight is None else np.asarray(weight, float)
    pool_p_mean = np.full(n_pool, np.nan) if pool_p_mean is None else np.asarray(pool_p_mean, float)
    k = np.broadcast_to(k, place.shape)
    return assess(place, p_mean, np.asarray(n_correct, np.int64), k, weight, pool_p_mean, n_pool, seed)


def check_finite(trust):
    intervals = [getattr(trust, field.name) for field in fields(Trust)]
    for interval in intervals:
        if isinstance(interval, Interval):
            assert 0 <= interval.low <= interval.value <= interval.high <= 1  # false for nan


def test_a_good_calibrated_ranking():
    p = np.linspace(0, 1, 40)
    trust = judge(p, np.rint(8 * p), 8, p_mean=p, pool_p_mean=np.linspace(0, 1, 1000))
    assert (trust.n_items, trust.n_hard) == (40, int((np.rint(8 * p) / 8 <= HARD).sum()))
    assert trust.auroc is not None
    assert trust.auroc.value == 1.0
    assert 0.7 < trust.auroc.low < trust.auroc.high == 1.0
    assert trust.calibration_error is not None
    assert trust.calibration_error.low == 0.0
    assert trust.calibration_error.high < 0.1
    assert trust.pool_mean is not None
    assert trust.pool_mean.low < 0.5 < trust.pool_mean.high
    assert trust.classical_pool_mean is not None
    gain = (trust.pool_mean.high - trust.pool_mean.low) / (
        trust.classical_pool_mean.high - trust.classical_pool_mean.low
    )
    assert gain < 0.5
    assert trust.cannot_tell == ()


def test_without_predictions_the_auroc_and_the_classical_mean_remain():
    trust = judge(np.arange(12), np.arange(12) // 2, 6)
    assert trust.auroc is not None
    assert trust.calibration_error is None
    assert trust.pool_mean == trust.classical_pool_mean is not None
    assert trust.cannot_tell == (
        "the ranking predicts no p (it is not calibrated): the calibration error cannot be estimated",
    )


@pytest.mark.parametrize(("correct", "said"), [(8, "none of the 12"), (1, "all 12")])
def test_one_kind_of_item_gives_no_auroc_and_says_so(correct, said):
    trust = judge(np.arange(12), np.full(12, correct), 8, p_mean=np.full(12, 0.4))
    assert trust.auroc is None
    assert trust.cannot_tell == (
        f"{said} labelled audit items {'is' if correct == 8 else 'are'} hard (p̂ ≤ 0.2): "
        "the AUROC cannot be estimated; label more audit items",
    )


@pytest.mark.parametrize(("n", "said"), [(0, "no audit item is"), (1, "only 1 audit item is"), (4, "only 4 audit")])
def test_too_few_items_give_no_interval_at_all(n, said):
    trust = judge(np.arange(n), np.zeros(n), 8, p_mean=np.full(n, 0.3))
    assert trust == Trust(n, n, None, None, None, None, trust.cannot_tell)
    (sentence,) = trust.cannot_tell
    assert sentence.startswith(said)
    assert f"label at least {FEWEST_ITEMS} audit items" in sentence


def test_items_without_counted_samples_do_not_count():
    k = np.array([8] * 6 + [0] * 3)
    trust = judge(np.arange(9), np.array([0, 1, 3, 5, 8, 8, 0, 0, 0]), k)
    assert trust == judge(np.arange(6), np.array([0, 1, 3, 5, 8, 8]), 8)
    assert (trust.n_items, trust.n_hard) == (6, 2)


def test_items_the_ranking_does_not_place_or_predict_are_named():
    place = np.array([0.1, 0.2, 0.3, 0.4, np.nan, np.nan])
    trust = judge(place, [0, 0, 4, 8, 8, 8], 8, p_mean=place)
    assert trust.auroc is None
    assert trust.calibration_error is None
    assert trust.pool_mean is not None
    assert "places only 4 labelled audit items" in trust.cannot_tell[0]
    assert "only 4 of the 6 labelled audit items have a predicted p" in trust.cannot_tell[1]


def test_hard_is_p_hat_up_to_a_fifth_inclusive():
    trust = judge(np.arange(6), [0, 1, 2, 3, 4, 5], np.array([5, 5, 10, 15, 5, 5]))
    assert trust.n_hard == 4


def test_the_same_seed_gives_the_same_trust():
    p = np.linspace(0, 1, 30)
    assert judge(p, np.rint(8 * p), 8, p_mean=p, seed=4) == judge(p, np.rint(8 * p), 8, p_mean=p, seed=4)


@settings(deadline=None, max_examples=60)
@given(st.lists(audit_item, max_size=25), st.lists(unit | st.just(math.nan), max_size=40), st.integers(0, 60))
def test_nothing_but_finite_ordered_shares_comes_out_and_every_none_has_its_sentence(items, pool, n_pool):
    place, p_mean, a, b, weight = (
        (np.array(column) for column in zip(*items, strict=True)) if items else np.empty((5, 0))
    )
    n_correct, k = np.minimum(a, b).astype(np.int64), np.maximum(a, b).astype(np.int64)
    trust = assess(place, p_mean, n_correct, k, weight, np.array(pool, float), n_pool)
    check_finite(trust)
    assert (trust.auroc is None or trust.calibration_error is None) == bool(trust.cannot_tell)
    assert (trust.pool_mean is None) == (trust.n_items < FEWEST_ITEMS)


@pytest.mark.parametrize("correct", [0, 1])
@pytest.mark.parametrize("predicted", [0.0, 0.3, 1.0])
def test_one_sample_each_and_all_alike_still_give_intervals_with_width(correct, predicted):
    trust = judge(np.zeros(5), np.full(5, correct), 1, np.full(5, predicted), pool_p_mean=np.full(1000, predicted))
    check_finite(trust)
    for interval in (trust.calibration_error, trust.pool_mean):
        assert interval is not None
        assert interval.high - interval.low > 0.03


def test_a_labelled_pool_leaves_the_noise_of_the_samples_alone():
    p = np.linspace(0, 1, 50)
    part, whole = (judge(p, np.rint(64 * p), 64, n_pool=size).pool_mean for size in (1000, 50))
    assert part is not None
    assert whole is not None
    assert whole.high - whole.low < 0.2 * (part.high - part.low)
    few = judge(p, np.rint(4 * p), 4, n_pool=50).pool_mean
    assert few is not None
    assert few.high - few.low > 2 * (whole.high - whole.low)
