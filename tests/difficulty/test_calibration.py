import json
from dataclasses import asdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from simulated_signals import NO_NEAR, simulate

from budgetplan.difficulty.calibration import FEWEST_ITEMS, FEWEST_TO_CHOOSE, MOST_ITEMS, N_FOLDS, Labelled, calibrate
from budgetplan.difficulty.cold_start import cold_score
from budgetplan.difficulty.features import features_of


def follow(labelled, score, *, rising):
    """The labels that speak most clearly for the order of the score, or against it."""
    right = (score[labelled.rows] > np.median(score[labelled.rows])) == rising
    return labelled._replace(n_correct=np.where(right, labelled.k, 0))


def other_counts(labelled, places):
    """Turn the counts of some judged items round; a half becomes all."""
    turned = labelled.k - labelled.n_correct
    turned = np.where(turned == labelled.n_correct, labelled.k, turned)
    return labelled._replace(n_correct=np.where(np.isin(np.arange(len(turned)), places), turned, labelled.n_correct))


def test_fewer_than_5_judged_items_teach_nothing():
    pool = simulate(0)
    for n in range(FEWEST_ITEMS):
        assert calibrate(pool.features, pool.judged(n)) is None
    assert calibrate(pool.features, pool.judged(FEWEST_ITEMS)).calibration.n_items == FEWEST_ITEMS


def test_every_item_with_samples_gets_p_and_only_judged_ones_a_held_out_p():
    pool = simulate(0, 60)
    signals = pool.signals.set_column(0, "n_samples", pa.array([0, 0] + [8] * 58))
    labelled = Labelled(np.arange(10, 40), pool.n_correct[10:40], np.full(30, 8), np.arange(30) % N_FOLDS)
    calibrated = calibrate(features_of(signals, NO_NEAR, pool.components), labelled)
    assert np.flatnonzero(np.isnan(calibrated.p)).tolist() == [0, 1]
    assert np.flatnonzero(np.isfinite(calibrated.held_out)).tolist() == list(range(10, 40))
    assert (calibrated.calibration.n_items, calibrated.calibration.n_samples) == (30, 240)


@pytest.mark.parametrize("n", [5, 10, 25, FEWEST_TO_CHOOSE - 1])
@pytest.mark.parametrize("rising", [True, False])
def test_few_labels_never_change_the_order_of_the_cold_start_even_where_all_of_them_contradict_it(n, rising):
    pool = simulate(3)
    score = cold_score(pool.features)
    calibrated = calibrate(pool.features, follow(pool.judged(n), score, rising=rising))
    assert calibrated.calibration.model == "scaled"
    assert calibrated.calibration.weights["score"] > 0
    assert (np.diff(calibrated.p[np.argsort(score)]) > 0).all()
    spread = calibrated.p.max() - calibrated.p.min()
    assert spread > 0.5 if rising else spread < 0.15


def test_many_labels_that_contradict_the_cold_start_turn_its_order_round():
    pool = simulate(3, 800)
    score, labelled = cold_score(pool.features), pool.judged(400)
    calibrated = calibrate(pool.features, follow(labelled, score, rising=False))
    assert calibrated.calibration.model != "scaled"
    free = pool.unjudged(labelled)
    assert np.corrcoef(calibrated.p[free], score[free])[0, 1] < -0.8


def test_labels_move_the_level_of_p():
    pool = simulate(4)
    labelled = pool.judged(20)
    low, high = (calibrate(pool.features, labelled._replace(n_correct=np.full(20, n))).p.mean() for n in (1, 7))
    assert low < 0.25
    assert high > 0.75


def test_1000_samples_of_one_item_teach_little_more_than_8_do():
    pool = simulate(4)
    even = pool.judged(20)._replace(n_correct=np.full(20, 4))
    first = np.arange(20) == 0
    few = even._replace(n_correct=np.where(first, 0, even.n_correct))
    many = few._replace(k=np.where(first, 1_000, 8))
    p = [calibrate(pool.features, labelled).p.mean() for labelled in (even, few, many)]
    assert p[0] - p[1] > 0.02
    assert p[1] - p[2] < p[0] - p[1]


outcomes = st.sampled_from(["all right", "all wrong", "any"])


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(5, 130),
    k=st.sampled_from([1, 2, 8, 40]),
    outcome=outcomes,
    one_fold=st.booleans(),
    constant=st.booleans(),
)
def test_whatever_the_labels_p_is_inside_0_and_1_and_nothing_warns(seed, n, k, outcome, one_fold, constant):
    pool = simulate(seed, 140, k, slope=float(np.random.default_rng(seed).choice([-4.0, 0.0, 1.1, 8.0])))
    signals = pool.signals.take([0] * 140) if constant else pool.signals
    features = features_of(signals, NO_NEAR, pool.components * (not constant))
    labelled = pool.judged(n, seed=seed)
    count = {"all right": labelled.k, "all wrong": 0 * labelled.k, "any": labelled.n_correct}[outcome]
    calibrated = calibrate(features, labelled._replace(n_correct=count, fold=labelled.fold * (not one_fold)))
    for p in (calibrated.p, calibrated.held_out[labelled.rows]):
        assert ((p > 0) & (p < 1)).all()
    assert not constant or len(np.unique(calibrated.p)) == 1
    assert 0 < calibrated.calibration.concentration < 100
    json.dumps(asdict(calibrated.calibration), allow_nan=False)


def test_5_items_in_one_fold_are_predicted_by_the_cold_start_alone():
    pool = simulate(5)
    labelled = pool.judged(5)._replace(fold=np.full(5, 2))
    first, second = (calibrate(pool.features, labelled._replace(n_correct=np.full(5, n))) for n in (0, 8))
    np.testing.assert_array_equal(first.held_out, second.held_out)
    assert (first.p < second.p).all()


@pytest.mark.parametrize(("n", "chosen"), [(20, {"scaled"}), (100, {"scaled", "signals"})])
def test_no_held_out_prediction_depends_on_a_count_of_its_own_fold_nor_does_its_model(n, chosen):
    pool = simulate(7, beyond=0.6)
    labelled = pool.judged(n)
    before = calibrate(pool.features, labelled)
    models = {before.calibration.model}
    for fold in range(N_FOLDS):
        inside = labelled.fold == fold
        after = calibrate(pool.features, other_counts(labelled, np.flatnonzero(inside)))
        models.add(after.calibration.model)
        changed = (after.held_out != before.held_out)[labelled.rows]
        assert not changed[inside].any()
        assert changed[~inside].all()
    assert models == chosen


@pytest.mark.parametrize(("n", "places"), [(20, range(20)), (FEWEST_TO_CHOOSE + 20, range(0, 80, 20))])
def test_an_items_own_count_changes_its_p_and_not_its_held_out_prediction(n, places):
    pool = simulate(7)
    labelled = pool.judged(n)
    before = calibrate(pool.features, labelled)
    for place in places:
        after = calibrate(pool.features, other_counts(labelled, [place]))
        row = labelled.rows[place]
        assert after.held_out[row] == before.held_out[row]
        assert after.p[row] != before.p[row]


def test_equal_items_get_equal_p_though_only_one_of_them_was_judged():
    pool = simulate(8, 100)
    twice = pool.signals.take(list(range(100)) * 2)
    features = features_of(twice, NO_NEAR, np.tile(pool.components, (2, 1)))
    calibrated = calibrate(features, pool.judged(90))
    np.testing.assert_array_equal(calibrated.p[:100], calibrated.p[100:])


def test_judged_items_beyond_the_most_that_are_learned_from_teach_nothing_and_are_predicted_all_the_same():
    pool = simulate(9, MOST_ITEMS + 20)
    labelled = pool.judged(MOST_ITEMS + 20)
    beyond = np.arange(MOST_ITEMS, MOST_ITEMS + 20)
    before = calibrate(pool.features, labelled)
    after = calibrate(pool.features, other_counts(labelled, beyond))
    np.testing.assert_array_equal(before.p, after.p)
    assert before.calibration == after.calibration
    assert before.calibration.n_items == MOST_ITEMS
    assert np.isfinite(before.held_out).all()


def test_the_order_of_the_pools_rows_changes_no_bit_and_that_of_the_labels_next_to_nothing():
    pool = simulate(10, 200)
    order = np.random.default_rng(0).permutation(200)
    features = features_of(pool.signals.take(order), NO_NEAR, pool.components[order])
    labelled = pool.judged(100)
    moved = labelled._replace(rows=np.argsort(order)[labelled.rows])
    straight, shuffled = calibrate(pool.features, labelled), calibrate(features, moved)
    np.testing.assert_array_equal(straight.p[order], shuffled.p)
    np.testing.assert_array_equal(straight.held_out[order], shuffled.held_out)
    assert straight.calibration == shuffled.calibration
    mixed = np.random.default_rng(1).permutation(100)
    other = calibrate(pool.features, Labelled(*(column[mixed] for column in labelled)))
    np.testing.assert_allclose(other.p, straight.p, rtol=1e-6)
    np.testing.assert_allclose(other.held_out, straight.held_out, rtol=1e-6)


def by_hand(model, raw):
    """Predict p from the stored document and the raw numbers alone."""
    standardised = {
        name: np.nan_to_num((raw[name] - model["center"][name]) / model["spread"][name])
        for name in model["center"]
        if name != "score"
    }
    total = sum(weight * standardised[name] for name, weight in model["rule"].items())
    standardised["score"] = (total - model["center"]["score"]) / model["spread"]["score"]
    logit = model["intercept"] + sum(weight * standardised[name] for name, weight in model["weights"].items())
    return model["least_p"] + (1.0 - 2.0 * model["least_p"]) * expit(logit)


def raw_numbers(signals, components):
    raw = {name: signals[name].to_numpy(zero_copy_only=False).astype(float) for name in signals.column_names}
    raw["length"], raw["prompt_length"] = np.log1p(raw["mean_length"]), np.log1p(raw["prompt_length"])
    raw["near_agreement"] = raw["reference_agreement"] = np.full(signals.num_rows, np.nan)
    return raw | {f"prompt_component_{place}": column for place, column in enumerate(components.T)}


@pytest.mark.parametrize(
    ("model", "n", "beyond", "by_words"),
    [("scaled", 20, 0, 0), ("signals", 400, 1.5, 0), ("signals and prompts", 400, 0, 2)],
)
def test_the_stored_document_and_the_raw_numbers_give_every_prediction(model, n, beyond, by_words):
    pool = simulate(11, 600, beyond=beyond)
    if by_words:
        chance = expit(cold_score(pool.features) + by_words * np.sign(pool.components[:, 0]))
        pool.n_correct[:] = np.random.default_rng(0).binomial(8, chance)
    missing = pool.signals["mean_logprob"].to_pylist()
    signals = pool.signals.set_column(6, "mean_logprob", pa.array([None, *missing[1:]]))
    calibrated = calibrate(features_of(signals, NO_NEAR, pool.components), pool.judged(n))
    stored = json.loads(json.dumps(asdict(calibrated.calibration), allow_nan=False))
    assert stored["model"] == model
    assert bool(stored["losses"]) == (n >= FEWEST_TO_CHOOSE)
    np.testing.assert_allclose(by_hand(stored, raw_numbers(signals, pool.components)), calibrated.p, rtol=0, atol=1e-9)
