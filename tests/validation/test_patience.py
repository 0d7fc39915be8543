import numpy as np
import pytest

from budgetplan.validation.patience import Patience

NAN = float("nan")


def _after(*updates):
    patience = Patience()
    for update in updates:
        patience.see(np.array(update, dtype=float))
    return patience


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([[0.0, 0.0]] * 100, "all wrong"),
        ([[1.0, 1.0]] * 100, "all right"),
        ([[1.0, 1.0], [0.0, 0.0]] * 50, "each was all wrong or all right"),
        ([[0.0, NAN], [NAN, NAN]] * 50, "all wrong"),
    ],
)
def test_200_groups_without_a_mixed_one_are_enough(rows, why):
    assert _after(rows).reason == ""
    assert _after(rows, rows).reason == f"no group of the first 200 had mixed rewards: {why}"


def test_one_update_however_large_is_not_enough():
    assert _after([[0.0, 0.0]] * 500).reason == ""
    assert _after([[0.0, 0.0]] * 500, [[0.0, 0.0]]).reason != ""


def test_one_mixed_group_is_enough_to_go_on_for_ever():
    mixed = _after([[0.0, 1.0]], *[[[0.0, 0.0]] * 100] * 10)
    assert mixed.reason == ""


def test_no_reward_at_all_is_known_after_the_first_update():
    assert not Patience().no_reward_yet
    assert _after([[NAN, NAN], [NAN, NAN]]).no_reward_yet
    assert not _after([[NAN, NAN], [NAN, 0.0]]).no_reward_yet
