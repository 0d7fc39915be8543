"""Is the 90 % interval one? On real samples: fit and estimate on one half, look where the other half falls."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import betabinom

from budgetplan.difficulty.posterior import Prior, fit_prior

ROLLOUTS = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "rollouts"
REPEATS = 6


def coverage(correct, rng, concentration_factor):
    """Share of items whose held-out count has a (randomised) predictive quantile between .05 and .95."""
    half = min(map(len, correct)) // 2
    inside = []
    for _ in range(REPEATS):
        shuffled = [rng.permutation(samples) for samples in correct]
        seen = np.array([samples[:half].sum() for samples in shuffled])
        held_out = np.array([samples[half:].sum() for samples in shuffled])
        size = np.array([len(samples) - half for samples in shuffled])
        prior = fit_prior(seen, np.full(len(seen), half))
        prior = Prior(prior.a * concentration_factor, prior.b * concentration_factor)
        a, b = prior.a + seen, prior.b + half - seen
        quantile = betabinom.cdf(held_out - 1, size, a, b)
        quantile += rng.random(len(seen)) * betabinom.pmf(held_out, size, a, b)
        inside.append(np.mean((quantile > 0.05) & (quantile < 0.95)))
    return float(np.mean(inside))


@pytest.mark.skipif(not ROLLOUTS.is_dir(), reason="needs ../shared/data/rollouts")
def test_the_fitted_concentration_covers_90_percent_on_real_samples_and_half_of_it_less():
    fitted, halved = [], []
    for path in sorted(ROLLOUTS.glob("*.jsonl")):
        correct = [np.array(json.loads(line)["correct"]) for line in path.read_text(encoding="utf-8").splitlines()]
        fitted.append(coverage(correct, np.random.default_rng(0), 1.0))
        halved.append(coverage(correct, np.random.default_rng(0), 0.5))
    assert len(fitted) >= 6
    assert np.mean(fitted) == pytest.approx(0.90, abs=0.02)
    assert min(fitted) > 0.85
    assert np.mean(halved) < np.mean(fitted) - 0.01
