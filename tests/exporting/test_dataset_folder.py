import json
import resource
from contextlib import contextmanager

import pytest

from budgetplan.errors import BudgetplanError
from budgetplan.exporting.formats import FORMATS

write = FORMATS["datasets"].write


def load(path):
    import datasets

    return datasets.load_from_disk(str(path))


@contextmanager
def small_disk():
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_it_is_loaded_from_disk_with_chats_as_prompts(rows_of, tmp_path, capfd):
    rows = rows_of()
    write(rows, tmp_path / "train")
    read = load(tmp_path / "train")
    assert read["prompt"][0] == json.loads(rows["messages"][0].as_py())
    assert list(read["answer"]) == ["2", "12:00", "hi"]
    assert list(read["p_hat"]) == [0.5, None, 0.0]
    assert list(read["topic"]) == ["sums", "time", None]
    assert [path.name for path in tmp_path.iterdir()] == ["train"]
    assert capfd.readouterr() == ("", "")


def test_a_saved_dataset_is_replaced_and_nothing_else_is(rows_of, tmp_path):
    write(rows_of(), tmp_path / "train")
    (tmp_path / "train" / "old").touch()
    write(rows_of(answer=["a", "b", "c"]), tmp_path / "train")
    assert list(load(tmp_path / "train")["answer"]) == ["a", "b", "c"]
    assert not (tmp_path / "train" / "old").exists()
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "thesis.txt").touch()
    for there in (tmp_path / "work", tmp_path / "work" / "thesis.txt"):
        with pytest.raises(BudgetplanError, match="exists and is no saved dataset"):
            write(rows_of(), there)
    assert (tmp_path / "work" / "thesis.txt").exists()


def test_a_full_disk_leaves_what_was_there(rows_of, tmp_path):
    write(rows_of(), tmp_path / "train")
    with pytest.raises(BudgetplanError, match=r"cannot write .*train: File too large"), small_disk():
        write(rows_of(answer=["a", "b", "c"]), tmp_path / "train")
    assert list(load(tmp_path / "train")["answer"]) == ["2", "12:00", "hi"]
    assert [path.name for path in tmp_path.iterdir()] == ["train"]


def test_a_missing_parent_is_named_with_the_command_that_makes_it(rows_of, tmp_path):
    with pytest.raises(BudgetplanError) as caught:
        write(rows_of(), tmp_path / "not there" / "train")
    assert "mkdir -p" in caught.value.hint
    assert not list(tmp_path.iterdir())
