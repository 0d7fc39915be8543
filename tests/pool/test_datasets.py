"""Hugging Face datasets: saved folders for real; the hub only as far as it goes without a network."""

from pathlib import Path

import pytest

from budgetplan.errors import PoolError
from budgetplan.pool.reader import read_pool

datasets = pytest.importorskip("datasets")


@pytest.fixture
def splits() -> "datasets.DatasetDict":
    return datasets.DatasetDict(
        train=datasets.Dataset.from_dict(
            {"question": ["a", "b", "a"], "answer": ["x #### 1", "2", "1"], "level": [1, 2, 3]}
        ),
        test=datasets.Dataset.from_dict({"question": ["c"], "answer": ["3"], "level": [None]}),
    )


def test_a_saved_dataset_of_one_split(splits: "datasets.DatasetDict") -> None:
    splits["train"].select([2, 1]).save_to_disk("pool")
    table = read_pool("pool").table
    assert table["prompt"].to_pylist() == ["a", "b"]
    assert table["answers"].to_pylist() == [["1"], ["2"]]
    assert table["columns"].to_pylist() == ['{"level":3}', '{"level":2}']


def test_a_saved_dataset_of_several_splits(splits: "datasets.DatasetDict") -> None:
    splits.save_to_disk("pool")
    assert read_pool("pool").table["prompt"].to_pylist() == ["a", "b"]
    assert read_pool("pool").n_duplicates == 1
    assert read_pool("pool:test").table["prompt"].to_pylist() == ["c"]
    with pytest.raises(PoolError, match="no split 'dev'; there is: train, test") as caught:
        read_pool("pool:dev")
    assert caught.value.hint == "Name one: budgetplan probe pool:train"


def test_without_a_train_split_one_must_be_named(splits: "datasets.DatasetDict") -> None:
    datasets.DatasetDict(one=splits["test"], two=splits["test"]).save_to_disk("pool")
    with pytest.raises(PoolError, match="there is: one, two") as caught:
        read_pool("pool")
    assert caught.value.hint == "Name one: budgetplan probe pool:one"
    datasets.DatasetDict(only=splits["test"]).save_to_disk("single")
    assert read_pool("single").n_items == 1


def test_chats_and_images_in_a_saved_dataset() -> None:
    chats = [[{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]]
    datasets.Dataset.from_dict({"messages": chats}).save_to_disk("chats")
    assert read_pool("chats").table["prompt"].to_pylist() == ["system: s\n\nuser: u"]
    datasets.Dataset.from_dict({"prompt": ["a", "b"], "image": [None, "x.png"]}).save_to_disk("pictures")
    with pytest.raises(PoolError, match="pictures row 2: the prompt comes with 'image'"):
        read_pool("pictures")


def test_a_folder_that_is_no_dataset() -> None:
    Path("folder/data").mkdir(parents=True)
    with pytest.raises(PoolError, match="folder: this folder is no saved dataset"):
        read_pool("folder")
    Path("folder/data/train.parquet").touch()
    with pytest.raises(PoolError) as caught:
        read_pool("folder")
    assert caught.value.hint == "Name one of its files: budgetplan probe folder/data/train.parquet"


@pytest.mark.parametrize(
    ("source", "asked"),
    [
        ("hf://gsm8k", ("gsm8k", None, None)),
        ("hf://openai/gsm8k:test", ("openai/gsm8k", None, "test")),
        ("hf://openai/gsm8k/main:train[:50%]", ("openai/gsm8k", "main", "train[:50%]")),
    ],
)
def test_what_is_asked_of_the_hub(
    source: str,
    asked: tuple[str, str | None, str | None],
    splits: "datasets.DatasetDict",
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []

    def load_dataset(path: str, name: str | None, split: str | None) -> object:
        seen.append((path, name, split))
        return splits["train"] if split else splits

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    assert read_pool(source).n_items == 2
    assert seen == [asked]


def test_a_hub_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    with pytest.raises(PoolError, match="hf://nobody/nothing: the dataset cannot be had") as caught:
        read_pool("hf://nobody/nothing")
    assert "save_to_disk('pool')" in caught.value.hint
    with pytest.raises(PoolError, match="not a dataset name"):
        read_pool("hf://a/b/c/d")
