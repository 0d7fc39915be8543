import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetplan.validation.checkpoints import checkpoints, mark_whole
from budgetplan.validation.records_of_training import (
    GROUPS_FILE,
    append_groups,
    groups,
    metrics,
    rewards_by_update,
    rewind,
)


def _update(folder, step, rewards):
    n = len(rewards)
    columns = {"item_id": [f"{step}-{i}" for i in range(n)], "rewards": rewards}
    append_groups(folder, step, columns | {"n_truncated": [1] * n, "mean_tokens": [2.5] * n})


def _checkpoint(folder, step, history, *, whole=True):
    checkpoint = folder / "checkpoints" / f"checkpoint-{step}"
    checkpoint.mkdir(parents=True)
    (checkpoint / "trainer_state.json").write_text(json.dumps({"log_history": history}))
    if whole:
        mark_whole(checkpoint)


def test_groups_come_back_whole_and_in_order(tmp_path):
    _update(tmp_path, 1, [[1.0, None], [0.0, 0.5]])
    _update(tmp_path, 2, [[None, None]])
    assert groups(tmp_path).to_pylist() == [
        {
            "step": step,
            "position": position,
            "item_id": f"{step}-{position}",
            "rewards": rewards,
            "n_truncated": 1,
            "mean_tokens": 2.5,
        }
        for step, position, rewards in ((1, 0, [1.0, None]), (1, 1, [0.0, 0.5]), (2, 0, [None, None]))
    ]


def test_a_folder_without_updates_has_no_groups(tmp_path):
    assert groups(tmp_path).num_rows == 0
    assert metrics(tmp_path).num_rows == 0
    assert rewards_by_update(tmp_path) == []


def test_what_is_trained_again_and_a_torn_line_are_forgotten(tmp_path):
    for step in (1, 2, 3):
        _update(tmp_path, step, [[1.0, 0.0]])
    with (tmp_path / GROUPS_FILE).open("a") as file:
        file.write('{"step": 4, "item_id": ["4-')
    assert groups(tmp_path)["step"].to_pylist() == [1, 2, 3]
    _checkpoint(tmp_path, 1, [])
    _checkpoint(tmp_path, 3, [], whole=False)
    rewind(tmp_path)
    assert [checkpoint.step for checkpoint in checkpoints(tmp_path)] == [1]
    _update(tmp_path, 2, [[0.0, 0.0]])
    assert not (tmp_path / "checkpoints" / "checkpoint-3").exists()
    assert groups(tmp_path)["step"].to_pylist() == [1, 2]
    assert groups(tmp_path)["rewards"].to_pylist() == [[1.0, 0.0], [0.0, 0.0]]


reward = st.one_of(st.none(), st.floats(-2, 2))


@given(updates=st.lists(st.lists(st.lists(reward, min_size=3, max_size=3), min_size=1, max_size=4), max_size=4))
def test_rewards_by_update_are_those_that_were_kept(tmp_path_factory, updates):
    folder = tmp_path_factory.mktemp("groups")
    for step, rewards in enumerate(updates, start=1):
        _update(folder, step, rewards)
    read = rewards_by_update(folder)
    assert len(read) == len(updates)
    for matrix, rewards in zip(read, updates, strict=True):
        np.testing.assert_array_equal(matrix, np.array(rewards, dtype=float))


def test_metrics_are_those_of_the_last_whole_checkpoint(tmp_path):
    first = {"step": 1, "reward": 0.25, "completions/clipped_ratio": 0.5, "epoch": 0.1, "kl": None}
    second = {"step": 2, "reward": 0.5, "step_time": 3}
    _checkpoint(tmp_path, 2, [first, second])
    _checkpoint(tmp_path, 10, [first, second, {"step": 10, "reward": 1.0}], whole=False)
    assert [tuple(row.values()) for row in metrics(tmp_path).to_pylist()] == [
        (1, "reward", pytest.approx(0.25)),
        (1, "truncated_share", 0.5),
        (2, "reward", 0.5),
        (2, "seconds", 3.0),
    ]
