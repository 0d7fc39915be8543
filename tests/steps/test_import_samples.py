import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from budgetplan import PoolError, Project


def rollout(n: int, *answers: Any, **changes: Any) -> dict[str, Any]:
    texts = [f"The answer is {answer}." if not isinstance(answer, dict) else answer for answer in answers]
    return {"id": f"q{n}", "prompt": f"{n}+{n}=?", "answer": str(2 * n), "completions": texts} | changes


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(db=tmp_path / "store.duckdb", model="elsewhere")


def test_imported_samples_are_verified_and_ranked(project: Project, write_pool: Callable[..., Path]) -> None:
    report = project.import_samples([write_pool([rollout(1, 2, 2, 3), rollout(2, 5, 5, 5)])])
    assert (report.n_samples, report.n_new_samples) == (6, 6)
    assert (report.run.model, report.run.engine, report.run.k) == ("elsewhere", "import", 3)
    assert project.rank().table["p_hat"].to_pylist() == [0.0, pytest.approx(2 / 3)]


def test_the_same_rows_again_add_nothing_and_shards_add_up(project: Project, write_pool: Callable[..., Path]) -> None:
    first = write_pool([rollout(1, 2, 3), rollout(2, 4)], "a.jsonl")
    project.import_samples([first])
    again = write_pool([rollout(2, 4), rollout(1, 2, 3)], "b.jsonl")
    assert project.import_samples([again]).n_new_samples == 0
    more = write_pool([rollout(1, 2, 2), rollout(2, 4)], "c.jsonl")
    assert project.import_samples([more]).n_new_samples == 2
    table = project.rank().table
    assert dict(zip(table["id"].to_pylist(), table["k"].to_pylist(), strict=True)) == {"q1": 4, "q2": 1}


def test_finish_reasons_and_failures_keep_their_meaning(project: Project, write_pool: Callable[..., Path]) -> None:
    samples = [{"text": "So we", "finish_reason": "length"}, {"text": None, "finish_reason": "error"}]
    report = project.import_samples([write_pool([rollout(1, 2, *samples)])])
    assert {name: n for name, n in report.health.outcomes.items() if n} == {
        "correct": 1, "truncated": 1, "engine_error": 1
    }  # fmt: skip
    assert project.rank().table["p_hat"].to_pylist() == [0.5]


def test_the_model_is_named_by_the_rows_or_the_file(tmp_path: Path, write_pool: Callable[..., Path]) -> None:
    unnamed = Project(db=tmp_path / "store.duckdb", model="")
    named = write_pool([rollout(1, {"text": "The answer is 2.", "model": "phi-4"})], "a.jsonl")
    assert unnamed.import_samples([named]).run.model == "phi-4"
    assert unnamed.import_samples([write_pool([rollout(1, 2)], "rollouts.jsonl")]).run.model == "rollouts"
    mixed = [{"text": "2", "model": "phi-4"}, {"text": "2", "model": "qwen3-4b"}]
    with pytest.raises(PoolError, match="several models"):
        unnamed.import_samples([write_pool([rollout(1, *mixed)], "c.jsonl")])


def test_verify_judges_again_without_sampling(
    project: Project, write_pool: Callable[..., Path], tmp_path: Path
) -> None:
    project.import_samples([write_pool([rollout(1, 2, 3), rollout(2, 4, 4)])])
    own = tmp_path / "mine.py"
    own.write_text("def lenient(completions, answer, **columns):\n    return [1.0 for _ in completions]\n")
    lenient = Project(db=project.settings.db, verifier=f"{own}:lenient")
    report = lenient.verify()
    assert (report.before["correct"], report.after["correct"]) == (3, 4)
    assert project.rank().table["p_hat"].to_pylist() == [1.0, 1.0]
    back = Project(db=project.settings.db, verifier="math").verify()
    assert back.after["correct"] == 3


def test_a_broken_file_stores_nothing(project: Project, tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    good = json.dumps(rollout(1, 2))
    path.write_text("\n".join([good] * 16 + ['{"prompt": "1+1=?", "completions": ['] + [good]))
    with pytest.raises(PoolError, match=r"broken.jsonl:17"):
        project.import_samples([path])
    assert not project.store.path.exists()


def test_a_verifier_once_named_stays_with_its_run(project: Project, write_pool: Callable[..., Path]) -> None:
    pool = write_pool([rollout(1, 2, 3)])
    Project(db=project.settings.db, model="elsewhere", verifier="exact").import_samples([pool])
    assert project.import_samples([pool]).run.verdicts_by.startswith("exact@")
    assert project.verify().run.verdicts_by.startswith("exact@")


def test_another_pool_for_the_same_run_is_said(project: Project, write_pool: Callable[..., Path]) -> None:
    notes: list[str] = []
    project.progress.note = notes.append  # type: ignore[method-assign]
    project.import_samples([write_pool([rollout(1, 2)], "a.jsonl")])
    project.import_samples([write_pool([rollout(2, 4)], "b.jsonl")])
    assert any("was last used on another pool" in note for note in notes)
    assert project.rank().table["id"].to_pylist() == ["q2"]
