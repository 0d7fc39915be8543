import numpy as np
import pyarrow as pa

from budgetplan.annotation.tasks import blind

ITEMS = pa.table(
    {
        "rank": range(1, 201),
        "item_id": [f"bp-{i:04d}" for i in range(200)],
        "prompt": [f"question {i}" for i in range(200)],
        "p_hat": [i / 200 for i in range(200)],
        "audit": [i % 5 == 0 for i in range(200)],
        "answers": [[f"known-{i}"] for i in range(200)],
    }
)


def test_annotators_see_the_item_and_nothing_else():
    assert blind(ITEMS, seed=0).column_names == ["item_id", "prompt"]
    shown = ITEMS.append_column("model_answer", pa.array([f"guess-{i}" for i in range(200)]))
    assert blind(shown, seed=0).column_names == ["item_id", "prompt", "model_answer"]


def test_rows_stay_together_and_none_is_lost():
    tasks = blind(ITEMS, seed=0)
    assert tasks.sort_by("item_id").equals(ITEMS.select(["item_id", "prompt"]))


def test_the_order_follows_no_rank_and_tells_no_audit():
    places = np.array([int(item_id[3:]) for item_id in blind(ITEMS, seed=0)["item_id"].to_pylist()])
    assert abs(np.corrcoef(places, np.arange(200))[0, 1]) < 0.25
    assert abs(np.corrcoef(places % 5 == 0, np.arange(200))[0, 1]) < 0.25


def test_the_order_is_the_seeds_and_not_the_items():
    shuffled = ITEMS.take(np.random.default_rng(0).permutation(200))
    assert blind(ITEMS, seed=0).equals(blind(shuffled, seed=0))
    assert not blind(ITEMS, seed=0).equals(blind(ITEMS, seed=1))


def test_no_items_are_no_tasks():
    assert blind(ITEMS.slice(0, 0), seed=0).num_rows == 0
