"""Made validations with known truth: items of every difficulty, arms, lucky and unlucky seeds, binary samples."""

from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import beta

from budgetplan.validation.scores import Scores

CONTROL = "random"
ARMS = ("hard", CONTROL, "easy", "middle")
BASE_P = 0.5  # mean and both parameters of the items' Beta distribution


@cache
def logit_shift(points: float) -> float:
    """Logits by which every item must move for the mean to move by `points`."""
    p = beta.ppf((np.arange(20_000) + 0.5) / 20_000, BASE_P, BASE_P)
    return brentq(lambda shift: expit(logit(p) + shift).mean() - p.mean() - points / 100, -20, 20)


def simulate(
    rng, n_items, *, n_seeds=3, n_samples=4, seed_points=2.0, item_points=0.0, better=0.0, arms=ARMS
) -> Scores:
    """Draw one validation in which the first arm is `better` than all the others by that many points.

    Standard deviations, both in points of the mean: `seed_points` of a seed's effect (a number, or one per arm),
    `item_points` of what an arm does to one item more than to another.
    """
    items = logit(np.clip(rng.beta(BASE_P, BASE_P, n_items), 1e-4, 1 - 1e-4))
    one_point = logit_shift(1.0)
    seeds = rng.normal(size=(len(arms), n_seeds, 1)) * np.reshape(seed_points, (-1, 1, 1)) * one_point
    by_item = rng.normal(size=(len(arms), 1, n_items)) * item_points * one_point
    arm_effect = np.zeros((len(arms), 1, 1))
    arm_effect[0] = logit_shift(better)
    p = expit(items + arm_effect + by_item + seeds)
    shares = rng.binomial(n_samples, p) / n_samples
    base = rng.binomial(n_samples, expit(items)) / n_samples
    return Scores(base, dict(zip(arms, shares, strict=True)), n_samples)
