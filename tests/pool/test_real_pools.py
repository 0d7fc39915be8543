"""The real files the tool is made for."""

import json
from pathlib import Path

import pytest

from budgetplan.pool.reader import read_pool
from budgetplan.pool.samples import read_samples


@pytest.mark.parametrize(
    ("name", "n_items", "first_answer"),
    [
        ("gsm8k/train.jsonl", 7473, "72"),
        ("gsm8k/test.jsonl", 1319, "18"),
        ("bbh/tracking_shuffled_objects_seven_objects.json", 250, "(A)"),
        ("aime/aime2025_I_15.jsonl", 15, "70"),
    ],
)
def test_pools(shared_data: Path, name: str, n_items: int, first_answer: str) -> None:
    pool = read_pool(str(shared_data / name))
    assert (pool.n_rows, pool.n_items, pool.n_duplicates, pool.n_conflicts) == (n_items, n_items, 0, 0)
    assert pool.table["answers"][0].as_py() == [first_answer]
    assert all(len(answers) == 1 and len(answers[0]) < 20 for answers in pool.table["answers"].to_pylist())


@pytest.mark.parametrize(
    ("name", "n_rows", "n_items", "n_conflicts"),
    [
        ("ref_shuffleobj_qwen3_4b_train_k10", 125, 125, 0),
        ("ref_kegg_qwen3_4b_test_k10", 146, 97, 3),
        ("hirt_gsm8k_llama3.1_8b_cod_k5", 1318, 1318, 0),
        ("nikbrus_gsm8k_qwen2.5_1.5b_t0.7_k10", 191, 191, 0),
        ("esc_lastletters_gpt3.5_k40", 500, 500, 0),
        ("mot_date_llama2_13b_cot1", 369, 369, 0),
    ],
)
def test_rollouts(shared_data: Path, name: str, n_rows: int, n_items: int, n_conflicts: int) -> None:
    path = shared_data / "rollouts" / f"{name}.jsonl"
    pool, samples = read_samples([str(path)])
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert (pool.n_rows, pool.n_items, pool.n_conflicts) == (n_rows, n_items, n_conflicts)
    assert sorted(samples["text"].to_pylist()) == sorted(text for row in rows for text in row["completions"])
    assert sorted(id_ for ids in pool.table["ids"].to_pylist() for id_ in ids) == sorted(row["id"] for row in rows)
