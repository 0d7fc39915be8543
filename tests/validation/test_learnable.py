from collections import defaultdict
from functools import partial
from math import nan

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from budgetplan.difficulty.horizon import mixed_group_chance
from budgetplan.validation import learnable
from budgetplan.validation.learnable import observed, observed_by_step

predicted = partial(learnable.predicted, mixed_group_chance=mixed_group_chance)
reward = st.sampled_from([0.0, 1.0, 0.5, None])
stored_groups = st.lists(st.tuples(st.integers(1, 6), st.lists(reward, max_size=6)), max_size=30)


def table_of(groups):
    steps, rewards = [step for step, _ in groups], [rewards for _, rewards in groups]
    columns = {"step": pa.array(steps, pa.int64()), "position": pa.array(range(len(groups)), pa.int64())}
    columns["item_id"] = pa.array([f"bp-{place}" for place in range(len(groups))], pa.string())
    return pa.table(columns | {"rewards": pa.array(rewards, pa.list_(pa.float64()))})


def recounted(groups):
    """Whether each counted group is mixed, by step, with loops."""
    by_step = defaultdict(list)
    for step, rewards in groups:
        known = [value for value in rewards if value is not None]
        if len(known) >= 2:
            by_step[step].append(len(set(known)) > 1)
    return by_step


@settings(deadline=None)
@given(stored_groups, st.integers(0, 30))
def test_observed_is_a_recount(groups, cut):
    by_step = recounted(groups)
    table = pa.concat_tables([table_of(groups[:cut]), table_of(groups[cut:])])
    found, steps = observed(table), observed_by_step(table)
    flags = [flag for step in by_step.values() for flag in step]
    assert found.n_groups == len(flags)
    assert found.groups == pytest.approx(100 * np.mean(flags) if flags else nan, nan_ok=True)
    with_one = [any(step) for step in by_step.values()]
    assert found.updates == pytest.approx(100 * np.mean(with_one) if flags else nan, nan_ok=True)
    assert steps["step"].to_pylist() == sorted(by_step)
    assert steps["learnable"].to_pylist() == pytest.approx([np.mean(by_step[step]) for step in sorted(by_step)])
    assert steps["n_groups"].to_pylist() == [len(by_step[step]) for step in sorted(by_step)]


def test_a_sample_without_reward_makes_no_group_mixed_and_a_group_of_one_is_not_counted():
    groups = [(1, [1.0, None, 1.0]), (1, [0.0, 1.0, None]), (2, [1.0, None]), (2, None), (3, [0.0, 0.0])]
    found = observed(table_of(groups))
    assert found.groups == pytest.approx(100 / 3)
    assert (found.updates, found.n_groups) == (50.0, 3)


def test_the_expectation_is_the_one_passed_in():
    def chance(a, b, group_size, horizon):
        assert (group_size, horizon) == (4, -2.0)
        return a / b

    found = learnable.predicted(np.array([2.0, 1.0, nan]), np.array([8.0, 2.0, nan]), 4, 10, chance, horizon=-2.0)
    assert found.percent == pytest.approx(100 * (0.25 + 0.5) / 2)


def test_the_percentage_is_the_mean_over_items_and_leaves_out_those_without_a_posterior():
    a, b = np.array([0.5, 6.0, nan]), np.array([8.5, 2.0, nan])
    single = [predicted(a[[place]], b[[place]], 8, 50).percent for place in (0, 1)]
    assert predicted(a, b, 8, 50).percent == pytest.approx(np.mean(single))
    assert np.isnan(predicted(a[2:], b[2:], 8, 50).percent)
    for group_size, n_groups in ((1, 50), (8, 0)):
        with pytest.raises(ValueError, match="no share can be predicted"):
            predicted(a, b, group_size, n_groups)


def test_the_interval_is_the_same_every_time_and_narrows_with_groups_and_with_knowledge():
    a, b = np.full(50, 2.0), np.full(50, 5.0)

    def width(a, b, n_groups):
        found = predicted(a, b, 8, n_groups)
        assert found == predicted(a, b, 8, n_groups)
        assert found.low < found.percent < found.high
        return found.high - found.low

    assert width(a, b, 20) > 1.5 * width(a, b, 200) > 1.5 * width(100 * a, 100 * b, 2000)


@pytest.mark.parametrize(("horizon", "n_items", "n_groups"), [(0.0, 40, 600), (2.0, 40, 600), (2.0, 100, 60)])
def test_training_with_known_p_stays_within_the_interval_as_often_as_stated(horizon, n_items, n_groups):
    random = np.random.default_rng(11)
    inside, n_simulations, k, group_size = 0, 400, 8, 8
    for _ in range(n_simulations):
        p = random.beta(0.6, 0.9, n_items).clip(1e-12, 1 - 1e-12)
        n_correct = random.binomial(k, p)
        found = predicted(0.6 + n_correct, 0.9 + k - n_correct, group_size, n_groups, horizon=horizon)
        epochs = random.random((-(-n_groups // n_items), n_items)).argsort(axis=1)
        rise = horizon * (np.arange(n_groups) + 0.5) / n_groups
        rewards = random.binomial(group_size, expit(np.log(p / (1 - p))[epochs.ravel()[:n_groups]] + rise))
        share = 100 * np.mean((rewards > 0) & (rewards < group_size))
        inside += found.low <= share <= found.high
    print(f"horizon {horizon:g}, {n_items} items, {n_groups} groups: {inside / n_simulations:.3f} in the 90 % interval")
    assert 0.85 <= inside / n_simulations <= 0.95
