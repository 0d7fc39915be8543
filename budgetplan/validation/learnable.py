"""Learnable %: the share of GRPO groups that could teach anything, as observed and as predicted before training.

Invariant: a sample without a reward counts nowhere, so a failing verifier never makes a group look mixed or uniform.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

INTERVAL = 0.90
_DRAWS = 1_000
_SEED = 0
_CELLS = 500_000  # numbers in memory at once
_TIMES = (np.arange(50) + 0.5) / 50
_LOGITS = np.linspace(-40.0, 40.0, 4_001)


@dataclass(frozen=True, slots=True)
class Learnable:
    """Section 4.1 of the paper, in percent; nan where no group could be counted.

    `groups`: groups with nonzero reward spread. `updates`: updates with at least one such group. `n_groups` groups
    were counted: those with two rewards or more.
    """

    groups: float
    updates: float
    n_groups: int


@dataclass(frozen=True, slots=True)
class Predicted:
    """Learnable % by group as expected before training, with the 90 % interval for what training will show."""

    percent: float
    low: float
    high: float


def observed(groups: pa.Table) -> Learnable:
    """Count the groups of one training with different rewards.

    `groups` has the columns step and rewards, a list per group with null for "no reward". An update of which no group
    can be counted is left out, like the group.
    """
    by_step = observed_by_step(groups)
    n_groups = np.asarray(by_step["n_groups"])
    shares = np.asarray(by_step["learnable"])
    if not len(shares):
        return Learnable(float("nan"), float("nan"), 0)
    total = int(n_groups.sum())
    return Learnable(100.0 * float(shares @ n_groups) / total, 100.0 * float((shares > 0).mean()), total)


def observed_by_step(groups: pa.Table) -> pa.Table:
    """Give `step`, `learnable` (share of its groups, 0 to 1) and `n_groups`, by step, where any is counted."""
    rewards = groups["rewards"].combine_chunks()
    sample = pa.table({"group": pc.list_parent_indices(rewards), "reward": pc.list_flatten(rewards).cast(pa.float64())})
    sample = sample.filter(pc.is_finite(sample["reward"]))
    group = sample.group_by("group").aggregate([("reward", "min"), ("reward", "max"), ("reward", "count")])
    group = group.filter(pc.greater_equal(group["reward_count"], 2))
    mixed = pc.greater(group["reward_max"], group["reward_min"]).cast(pa.float64())
    by_group = pa.table({"step": groups["step"].take(group["group"]), "mixed": mixed})
    by_step = by_group.group_by("step").aggregate([("mixed", "mean"), ("mixed", "count")]).sort_by("step")
    return by_step.select(["step", "mixed_mean", "mixed_count"]).rename_columns(["step", "learnable", "n_groups"])


MixedGroupChance = Callable[[NDArray[np.float64], NDArray[np.float64], int, float], NDArray[np.float64]]
"""Of every Beta(a, b), groups of some size and a horizon: the expected share of mixed groups."""


def predicted(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    group_size: int,
    n_groups: int,
    mixed_group_chance: MixedGroupChance,
    *,
    horizon: float = 0.0,
) -> Predicted:
    """Expect the share of mixed groups for items with p ~ Beta(a, b), trained equally often.

    Mean over the items of E[1 - p_t^G - (1-p_t)^G], t uniform in [0, 1], logit p_t = logit p + horizon·t, as
    `mixed_group_chance` gives it. The interval is for the share seen in `n_groups` groups: it holds what is not known
    of every p, and the chance of each group. It is simulated with a fixed seed. Items without a posterior (nan) are
    left out; nan where none is left. Raises ValueError for a group size below 2 or no group.
    """
    if group_size < 2 or n_groups < 1:
        raise ValueError(f"no share can be predicted for {n_groups} groups of {group_size}")
    known = np.isfinite(a) & np.isfinite(b)
    a, b = np.asarray(a, float)[known], np.asarray(b, float)[known]
    if not a.size:
        return Predicted(float("nan"), float("nan"), float("nan"))
    expected = float(mixed_group_chance(a, b, group_size, horizon).mean())
    shares = _simulated(a, b, group_size, n_groups, horizon)
    low, high = np.quantile(shares, [(1 - INTERVAL) / 2, (1 + INTERVAL) / 2])
    return Predicted(100.0 * expected, 100.0 * min(float(low), expected), 100.0 * max(float(high), expected))


def _simulated(
    a: NDArray[np.float64], b: NDArray[np.float64], group_size: int, n_groups: int, horizon: float
) -> NDArray[np.float64]:
    """Draw every p, then the share of mixed groups; which items get one group more than others is drawn as well."""
    from scipy.special import logit

    random = np.random.default_rng(_SEED)
    chances = _mixed(_LOGITS[:, None] + horizon * _TIMES, group_size).mean(axis=1)
    rounds, rest = divmod(n_groups, len(a))
    shares = np.empty(_DRAWS)
    n_rows = max(1, _CELLS // len(a))
    for start in range(0, _DRAWS, n_rows):
        order = np.argsort(random.random((min(n_rows, _DRAWS - start), len(a))), axis=1)
        trained = order if rounds else order[:, :rest]
        times = rounds + (np.arange(trained.shape[1]) < rest)
        p = random.beta(a[trained], b[trained])
        chance = np.interp(logit(p), _LOGITS, chances)  # beyond the ends, p = 0 and 1 included: as at the ends
        shares[start : start + n_rows] = random.binomial(times, chance).sum(axis=1) / n_groups
    return shares


def _mixed(logit_p: NDArray[np.float64], group_size: int) -> NDArray[np.float64]:
    """Chance that a group of `group_size` samples is neither all right nor all wrong."""
    from scipy.special import expit

    chance: NDArray[np.float64] = 1.0 - expit(logit_p) ** group_size - expit(-logit_p) ** group_size
    return np.clip(chance, 0.0, 1.0)
