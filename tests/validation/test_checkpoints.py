from budgetplan.validation.checkpoints import CHECKPOINTS, checkpoints, drop_partial, mark_whole


def test_only_marked_checkpoints_count_in_the_order_of_their_steps(tmp_path):
    for step in (100, 20, 3):
        (tmp_path / CHECKPOINTS / f"checkpoint-{step}").mkdir(parents=True)
    mark_whole(tmp_path / CHECKPOINTS / "checkpoint-100")
    mark_whole(tmp_path / CHECKPOINTS / "checkpoint-20")
    assert [checkpoint.step for checkpoint in checkpoints(tmp_path)] == [20, 100]
    drop_partial(tmp_path)
    assert sorted(path.name for path in (tmp_path / CHECKPOINTS).iterdir()) == ["checkpoint-100", "checkpoint-20"]


def test_an_empty_folder_has_none(tmp_path):
    assert checkpoints(tmp_path) == []
    drop_partial(tmp_path)
