"""The main job on public files, through both engines, with tiny random models of the families people probe."""

from pathlib import Path
from typing import Any

import pytest

from budgetplan import Project

ENGINES = ["transformers", pytest.param("vllm", marks=pytest.mark.vllm)]


def probed(folder: Path, model: Path, engine: str, pool: Path, **settings: Any) -> Project:
    """K = 2 and few tokens: it is the path that is tested, not the model."""
    chosen = {"k": 2, "max_tokens": 8, "db": folder / "store.duckdb", "model": str(model), "engine": engine} | settings
    project = Project(**chosen)
    report = project.probe(pool)
    assert report.n_missing == 0
    assert sum(report.health.outcomes.values()) == 2 * report.pool.n_items
    assert report.health.outcomes["engine_error"] == 0
    return project


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_gsm8k_becomes_a_shortlist_of_747(engine: str, tmp_path: Path, tiny_model: Any, shared_data: Path) -> None:
    project = probed(tmp_path, tiny_model("qwen3"), engine, shared_data / "gsm8k" / "train.jsonl")
    assert project.rank().standing.n_verified == 7_473
    shortlisted = project.shortlist("10%", out=tmp_path / "shortlist.parquet")
    assert shortlisted.table.num_rows == 747
    assert shortlisted.standing.run.verdicts_by.startswith("math@")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_shuffled_objects_become_a_shortlist_of_25(
    engine: str, tmp_path: Path, tiny_model: Any, shared_data: Path
) -> None:
    pool = shared_data / "bbh" / "tracking_shuffled_objects_seven_objects.json"
    project = probed(tmp_path, tiny_model("qwen3"), engine, pool)
    assert project.rank().standing.n_verified == 250
    shortlisted = project.shortlist("10%", out=tmp_path / "shortlist.jsonl")
    assert shortlisted.table.num_rows == 25
    assert shortlisted.standing.run.verdicts_by.startswith("choice@")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("family", ["qwen3", "llama", "phi3"])
def test_every_family_probes_through_every_engine(engine: str, family: str, tmp_path: Path, tiny_model: Any) -> None:
    pool = tmp_path / "pool.jsonl"
    pool.write_text("".join(f'{{"prompt": "What is {n} plus {n}?", "answer": {2 * n}}}\n' for n in range(20)))
    project = probed(tmp_path, tiny_model(family, chat_template=True), engine, pool)
    assert project.rank().table["k"].to_pylist() == [2] * 20
    with project.store.reading() as connection:
        stored = connection.execute(
            "SELECT count(*), count(mean_logprob), count(DISTINCT seed) FROM completion"
        ).fetchall()
    assert stored == [(40, 40, 40)]


def test_the_hardest_tenth_of_the_shuffled_objects_is_a_part_of_a_tie(tmp_path: Path, shared_data: Path) -> None:
    project = Project(db=tmp_path / "store.duckdb", model="qwen3-4b")
    project.import_samples([shared_data / "rollouts" / "ref_shuffleobj_qwen3_4b_train_k10.jsonl"])
    shortlisted = project.shortlist("10%", out=tmp_path / "shortlist.csv")
    assert (shortlisted.choice.n_pool, shortlisted.table.num_rows) == (125, 12)
    assert set(shortlisted.table["p_hat"].to_pylist()) == {0.0}
    assert (shortlisted.choice.n_tied_at_cut, shortlisted.choice.n_tied_picked) == (16, 12)
