"""What labels do for the predictions, in pools whose p is known."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import betabinom
from simulated_signals import simulate
from sklearn.metrics import roc_auc_score

from budgetplan.difficulty.calibration import FEWEST_TO_CHOOSE, calibrate
from budgetplan.difficulty.calibration_error import expected_calibration_error
from budgetplan.difficulty.cold_start import cold_score, typical_p

REPEATS = 30
HARD = 0.2


def log_loss(predicted, n_correct, k):
    share = n_correct / k
    return -(share * np.log(predicted) + (1 - share) * np.log1p(-predicted)).mean()


def quality(place, p):
    """How far the picks' mean p lies from random picks' towards the best possible picks'."""
    n = len(p) // 10
    picked = p[np.argsort(place, kind="stable")[:n]]
    return (p.mean() - picked.mean()) / (p.mean() - np.sort(p)[:n].mean())


@dataclass(frozen=True, slots=True)
class Gain:
    """Means over repetitions, over the items that were not judged: with labels, less without where it says so."""

    auroc: float
    quality: float
    error: float
    coverage: float


def one(seed, n_labels, beyond):
    pool = simulate(seed, beyond=beyond)
    labelled = pool.judged(n_labels, seed=seed)
    free = pool.unjudged(labelled)
    calibrated, cold, p = calibrate(pool.features, labelled), cold_score(pool.features)[free], pool.p[free]
    predicted, c = calibrated.p[free], calibrated.calibration.concentration
    new, rng = pool.n_correct[free], np.random.default_rng(seed)
    a, b = c * predicted, c * (1 - predicted)
    quantile = betabinom.cdf(new - 1, pool.k, a, b) + rng.random(len(free)) * betabinom.pmf(new, pool.k, a, b)
    return (
        roc_auc_score(p <= HARD, -predicted) - roc_auc_score(p <= HARD, -cold),
        quality(predicted, p) - quality(cold, p),
        expected_calibration_error(predicted, p),
        ((quantile > 0.05) & (quantile < 0.95)).mean(),
    )


@pytest.fixture(scope="module")
def gains():
    def gain(n_labels, beyond=0.0, repeats=REPEATS):
        return Gain(*np.mean([one(seed, n_labels, beyond) for seed in range(repeats)], axis=0))

    return {"by the score": {n: gain(n) for n in (10, 25, 50, 200)}, "by length too": {200: gain(200, 1.0, 6)}}


@pytest.mark.parametrize("n_labels", [10, 25, 50])
def test_few_labels_leave_the_ranking_exactly_as_good_as_it_was(gains, n_labels):
    gain = gains["by the score"][n_labels]
    assert (gain.auroc, gain.quality) == (0.0, 0.0)


def test_many_labels_cost_nothing_where_the_score_says_all_and_gain_where_it_does_not(gains):
    assert gains["by the score"][200].auroc > -0.005
    assert gains["by the score"][200].quality > -0.01
    assert gains["by length too"][200].auroc > 0.05
    assert gains["by length too"][200].quality > 0.1


def test_the_calibration_error_falls_with_labels(gains):
    error = {n: gain.error for n, gain in gains["by the score"].items()}
    assert error[10] > error[50] > error[200]


@pytest.mark.parametrize("n_labels", [10, 25, 50])
def test_predictive_intervals_cover_what_unseen_items_show(gains, n_labels):
    assert 0.86 < gains["by the score"][n_labels].coverage < 0.96  # more than on real samples: here the model is right


def test_labels_correct_the_level_that_the_cold_start_guesses():
    pool = simulate(0, 1_000)
    easy = pool.p**0.25
    labelled = pool.judged(100)._replace(n_correct=np.random.default_rng(0).binomial(8, easy[pool.judged(100).rows]))
    guessed = expected_calibration_error(typical_p(cold_score(pool.features)), easy)
    assert expected_calibration_error(calibrate(pool.features, labelled).p, easy) < 0.5 * guessed


def test_a_signal_beyond_the_score_is_learned_from_400_labels_and_predicts_unseen_items_better():
    gained = []
    for seed in range(5):
        pool = simulate(seed, 1_000, beyond=1.5)
        labelled = pool.judged(400, seed=seed)
        free = pool.unjudged(labelled)
        many, few = calibrate(pool.features, labelled), calibrate(pool.features, pool.judged(50, seed=seed))
        assert many.calibration.model == "signals"
        assert many.calibration.weights["length"] > 0.5
        assert few.calibration.model == "scaled"
        gained.append(
            log_loss(few.p[free], pool.n_correct[free], pool.k) - log_loss(many.p[free], pool.n_correct[free], pool.k)
        )
        losses = many.calibration.losses
        assert losses["signals"] < losses["scaled"]
    assert min(gained) > 0.02


def test_where_nothing_but_the_score_matters_it_is_only_rescaled():
    pools = (simulate(seed, 500) for seed in range(16))
    chosen = Counter(
        calibrate(pool.features, pool.judged(400, seed=seed)).calibration.model for seed, pool in enumerate(pools)
    )
    assert chosen["scaled"] >= 12


@pytest.mark.parametrize("concentration", [1.0, 4.0, 12.0])
def test_the_concentration_is_half_of_what_p_was_drawn_with(concentration):
    found = [
        calibrate(pool.features, pool.judged(500)).calibration.concentration
        for pool in (simulate(seed, 500, concentration=concentration) for seed in range(5))
    ]
    assert np.mean(found) == pytest.approx(concentration / 2, rel=0.25)


def test_the_concentration_is_lower_while_few_items_were_judged():
    def mean_concentration(n):
        pools = [simulate(seed, 200, concentration=2.0) for seed in range(20)]
        return np.mean([calibrate(pool.features, pool.judged(n)).calibration.concentration for pool in pools])

    assert mean_concentration(5) < 0.85 * mean_concentration(50)


def test_models_with_more_columns_are_held_near_the_score_while_items_are_few():
    pools = (simulate(seed, 200) for seed in range(10))
    losses = [calibrate(pool.features, pool.judged(FEWEST_TO_CHOOSE)).calibration.losses for pool in pools]
    scaled, signals, prompts = (np.mean([loss[name] for loss in losses]) for name in losses[0])
    assert signals < 1.015 * scaled
    assert prompts < 1.015 * scaled


def test_perfect_predictions_leave_the_concentration_finite():
    pool = simulate(0, 300, k=1_000)
    exact = np.rint(1_000 * typical_p(cold_score(pool.features))).astype(int)
    labelled = pool.judged(300)
    found = calibrate(pool.features, labelled._replace(n_correct=exact[labelled.rows])).calibration.concentration
    assert 20 < found < 100
