"""Difficulty before any answer is known: signals combined by a fixed rule that was learned from no data of the user's.

Invariant: the rule is one line of weights for all pools, models and tasks; an item without samples has no place.
"""

import numpy as np
from numpy.typing import NDArray

from budgetplan.difficulty.features import Features, Scale, scale_of, weighted_sum

RULE = {
    "agreement": 1.0,
    "answer_entropy": -1.0,
    "reference_agreement": 2.0,
    "text_similarity": 0.25,
    "length": -0.25,
    "prompt_length": -0.25,
    "near_agreement": 0.25,
    "mean_logprob": 0.25,
}
"""Weights of the standardised signals; positive: easier.

What the answers say counts fully, another model's answers as much as the model's own two signals together, everything
else a quarter. Signs from 25 public sets of samples. On the six sets of `tests/benchmarks/bench_difficulty.py` weights
learned on the other five sets do no better.
"""

TYPICAL_LOGIT = (0.2, 1.1)
"""Intercept and slope that lead from the standardised score to logit p over public sets: a guess, to start from."""


def cold_scale(features: Features) -> Scale:
    """What standardises the signals added up by RULE over the items with samples.

    A sum whose deviation is below 1, where the answers say nothing, is not blown up to look like one that means much.
    """
    center, spread = scale_of(_by_rule(features)[features.sampled])
    return Scale(center, max(spread, 1.0))


def cold_score(features: Features) -> NDArray[np.float64]:
    """Add the signals up by RULE; mean 0 over the items with samples, larger is easier, nan without."""
    return np.where(features.sampled, cold_scale(features).standardised(_by_rule(features)), np.nan)


def _by_rule(features: Features) -> NDArray[np.float64]:
    return weighted_sum(features.of(list(RULE)), np.array(list(RULE.values())))


def typical_p(score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Guess p from a score as it was over public sets; its order is what counts, its size is not calibrated."""
    from scipy.special import expit

    intercept, slope = TYPICAL_LOGIT
    guess: NDArray[np.float64] = expit(intercept + slope * score)
    return guess
