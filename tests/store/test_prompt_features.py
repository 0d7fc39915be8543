from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from budgetplan.store.connection import Store
from budgetplan.store.prompt_features import (
    has_prompt_features,
    load_prompt_features,
    pool_prompts,
    save_prompt_features,
)

Connection = duckdb.DuckDBPyConnection


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    """A store with the pool c, a, b in file order, and another pool of a."""
    with Store(tmp_path / "store.duckdb").writing() as connection:
        for row, item in enumerate("cab", start=1):
            connection.execute("INSERT INTO item VALUES (?, ?, NULL)", [item, f"prompt é{item}"])
            own(connection, "pool-1", item, row)
        own(connection, "pool-2", "a", 1)
        yield connection


def own(connection: Connection, pool_id: str, item: str, row: int) -> None:
    connection.execute("INSERT INTO pool_item VALUES (?, ?, ?, [], [], '{}')", [pool_id, item, row])


def table(*items: str, first: float = 0.5) -> pa.Table:
    return pa.table(
        {
            "item_id": pa.array(items, pa.string()),
            "components": pa.array([[first, float(n)] for n in range(len(items))], pa.list_(pa.float32())),
            "near": pa.array([[other for other in items if other > item] for item in items], pa.list_(pa.string())),
        }
    )


def test_features_come_back_in_file_order(connection: Connection) -> None:
    save_prompt_features(connection, "pool-1", table("a", "b", "c"))
    loaded = load_prompt_features(connection, "pool-1")
    assert loaded.to_pydict() == {
        "item_id": ["c", "a", "b"],
        "components": [[0.5, 2.0], [0.5, 0.0], [0.5, 1.0]],
        "near": [[], ["b", "c"], ["c"]],
    }
    assert loaded.schema.field("components").type == pa.list_(pa.float32())
    assert loaded.schema.field("near").type == pa.list_(pa.string())


def test_a_pool_without_features_has_none(connection: Connection) -> None:
    save_prompt_features(connection, "pool-2", table("a"))
    assert load_prompt_features(connection, "pool-1") is None
    assert not has_prompt_features(connection, "pool-1")
    assert has_prompt_features(connection, "pool-2")


@pytest.mark.parametrize("items", ["ab", "abcd", "abd"])
def test_features_of_other_items_than_the_pools_are_none(connection: Connection, items: str) -> None:
    save_prompt_features(connection, "pool-1", table(*items))
    assert not has_prompt_features(connection, "pool-1")
    assert load_prompt_features(connection, "pool-1") is None


def test_saving_again_replaces_those_of_the_pool_alone(connection: Connection) -> None:
    save_prompt_features(connection, "pool-2", table("a", first=0.25))
    for first in (0.5, 0.75):
        save_prompt_features(connection, "pool-1", table("a", "b", "c", first=first))
    rows = connection.execute("SELECT pool_id, components[1] FROM prompt_feature ORDER BY ALL").fetchall()
    assert rows == [*[("pool-1", 0.75)] * 3, ("pool-2", 0.25)]


def test_prompts_are_read_in_file_order_up_to_so_many_characters(connection: Connection) -> None:
    assert pool_prompts(connection, "pool-1", 8).to_pydict() == {"item_id": ["c", "a", "b"], "prompt": ["prompt é"] * 3}
    assert pool_prompts(connection, "pool-2", 100)["prompt"].to_pylist() == ["prompt éa"]
