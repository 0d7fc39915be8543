"""What a validation can show: the smallest difference it would likely find, and the size that would find a given one.

Invariant: more items, seeds or samples never make the smallest difference larger. "Likely" is in at least 80 % of
validations, at the 90 % level of the intervals. Planning takes the degrees of the seeds alone, which is exact where
seeds dominate and on the safe side elsewhere.
"""

import math
from dataclasses import dataclass

from budgetplan.validation.effects import LEVEL, UNSEEN_POINTS, components, t_quantile
from budgetplan.validation.scores import Scores

POWER = 0.80
_MOST_SEEDS = 100


@dataclass(frozen=True, slots=True)
class Spread:
    """What makes results vary, as standard deviations in points.

    `seed` is of a seed's effect, `item` of the items' true differences between two arms, `sample` of one sample of an
    item (0 or 100 points) around its p.
    """

    seed: float
    item: float
    sample: float


# Before anything is measured: two points between seeds; items of a real RLVR run moved by 9 points (deviation) in 20
# epochs; one sample of an item whose p is spread like Beta(.5, .5).
TYPICAL = Spread(seed=2.0, item=10.0, sample=35.0)


def spread_between(scores: Scores, arm: str, control: str) -> Spread:
    """Measure what makes the difference of two arms vary; at least one of them needs two seeds."""
    left, right = scores.trained[arm], scores.trained[control]
    parts = components(left, right)
    noise = parts.noise_variance * (1.0 / len(left) + 1.0 / len(right))
    item = max(float(parts.by_item.var(ddof=1)) - noise, 0.0)
    sample = parts.noise_variance * scores.n_samples
    return Spread(seed=math.sqrt(parts.seed_variance), item=math.sqrt(item), sample=math.sqrt(sample))


def shown_by(standard_error: float, degrees: float) -> float:
    """Tell the true difference in points that a test with this error would likely find."""
    return (t_quantile((1.0 + LEVEL) / 2.0, degrees) + t_quantile(POWER, degrees)) * standard_error


def smallest_detectable(n_items: int, n_seeds: int, n_samples: int, spread: Spread = TYPICAL) -> float:
    """Tell the points that two arms of `n_seeds` must differ by to be likely found; infinite for one seed."""
    if n_seeds < 2:
        return math.inf
    variance = _variance_of_one_item(n_seeds, n_samples, spread) / n_items + (UNSEEN_POINTS / n_items) ** 2
    return shown_by(math.sqrt(variance + 2.0 / n_seeds * spread.seed**2), _degrees(n_seeds))


def items_that_suffice(points: float, n_seeds: int, n_samples: int, spread: Spread = TYPICAL) -> int | None:
    """Count the items that likely show a difference of `points`; None where no number does, as seeds vary too much."""
    if n_seeds < 2:
        return None
    allowed = (points / shown_by(1.0, _degrees(n_seeds))) ** 2 - 2.0 / n_seeds * spread.seed**2
    if allowed <= 0:
        return None
    one_item = _variance_of_one_item(n_seeds, n_samples, spread)
    # The positive root of allowed n² - one_item n - unseen² = 0.
    root = (one_item + math.sqrt(one_item**2 + 4.0 * allowed * UNSEEN_POINTS**2)) / (2.0 * allowed)
    return max(math.ceil(root), 2)


def seeds_that_suffice(points: float, n_items: int, n_samples: int, spread: Spread = TYPICAL) -> int | None:
    """Count the seeds per arm that likely show a difference of `points`; None where a hundred do not."""
    enough = (n for n in range(2, _MOST_SEEDS + 1) if smallest_detectable(n_items, n, n_samples, spread) <= points)
    return next(enough, None)


def _variance_of_one_item(n_seeds: int, n_samples: int, spread: Spread) -> float:
    """What is divided by the number of items; the noise counts twice, as in the intervals."""
    return spread.item**2 + 2.0 * 2.0 / n_seeds * spread.sample**2 / n_samples


def _degrees(n_seeds: int) -> int:
    return 2 * (n_seeds - 1)
