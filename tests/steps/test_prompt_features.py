from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from budgetplan.difficulty.prompts import N_NEAR, prompt_features
from budgetplan.errors import NothingToDo
from budgetplan.records import POOL_SCHEMA, Silent
from budgetplan.steps.prompt_features import prompt_features_of, ready_prompt_features
from budgetplan.store.connection import Store
from budgetplan.store.pools import import_pool

TEXTS = [f"{('swap the ball', 'count the apples', 'find a date')[i % 3]} n{i % 5} m{i}" for i in range(40)]


class Counting(Silent):
    """Progress that remembers what was begun and how far it came."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, int | None]] = []
        self.steps = 0

    def start(self, task: str, total: int | None) -> None:
        self.begun.append((task, total))

    def advance(self, steps: int) -> None:
        self.steps += steps


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.duckdb")


def bring(store: Store, texts: list[str]) -> None:
    """Import texts as pool-1; item ids are in another order than the rows."""
    rows = [
        {"item_id": f"bp-{len(texts) - n:04}", "prompt": text, "answers": [], "ids": [], "columns": "{}", "row": n + 1}
        for n, text in enumerate(texts)
    ]
    with store.writing() as connection:
        import_pool(connection, "pool-1", "pool.jsonl", len(texts), pa.Table.from_pylist(rows, POOL_SCHEMA))


@pytest.mark.parametrize(
    "texts", [TEXTS, ["one prompt"], ["???", "!"], ["two words", "?", "two more words"], [*TEXTS, "x " * 600_000]]
)
def test_features_come_back_as_they_were_computed(store: Store, texts: list[str]) -> None:
    bring(store, texts)
    ready_prompt_features(store, "pool-1", Silent())
    with store.reading() as connection:
        stored = prompt_features_of(connection, "pool-1")
    computed = prompt_features(pa.array(texts))
    np.testing.assert_array_equal(stored.components, computed.components)
    np.testing.assert_array_equal(stored.near, computed.near)
    assert (stored.components.dtype, stored.near.dtype) == (np.float32, np.int64)
    assert stored.near.shape == (len(texts), N_NEAR)


def test_they_are_computed_once(store: Store) -> None:
    bring(store, TEXTS)
    progress = Counting()
    for _ in range(2):
        ready_prompt_features(store, "pool-1", progress)
    assert progress.begun == [("prompt features", len(TEXTS))]
    assert progress.steps == len(TEXTS)


def test_a_pool_that_changed_is_computed_again(store: Store) -> None:
    bring(store, TEXTS[:30])
    ready_prompt_features(store, "pool-1", Silent())
    bring(store, TEXTS)
    with store.reading() as connection, pytest.raises(NothingToDo, match="pool-1"):
        prompt_features_of(connection, "pool-1")
    ready_prompt_features(store, "pool-1", Silent())
    with store.reading() as connection:
        assert len(prompt_features_of(connection, "pool-1").near) == len(TEXTS)
