"""`validate` on samples that were made elsewhere: no probe by the model that is trained."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted import write_pool
from scripted_training import Academy, academy

from budgetplan import ModelError, Project
from budgetplan.probing.models import resolve_model
from budgetplan.steps import validation_setup

__all__ = ["academy", "write_pool"]

SHORT: dict[str, Any] = {
    "arms": ("hard", "random"),
    "n_seeds": 2,
    "changes": {"steps": 2, "evaluate_every": 2, "prompts_per_update": 2},
}


def rows_named(n: int) -> list[dict[str, Any]]:
    words = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()
    return [{"prompt": f"Ask {words[i % 10]} {words[i // 10 % 10]} about {i}", "answer": f"{i}"} for i in range(n)]


def test_a_pool_of_imported_samples_is_validated_on_the_model_they_name(
    tmp_path: Path, write_pool: Callable[..., Path], academy: Academy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights are looked for only now, so a name that stands for none is refused here."""
    monkeypatch.chdir(tmp_path)
    pool = [
        row | {"completions": [f"#### {row['answer'] if sample < i % 5 else 'none'}" for sample in range(4)]}
        for i, row in enumerate(rows_named(200))
    ]
    samples = write_pool(pool, "rollouts.jsonl")
    settings: dict[str, Any] = {
        "db": tmp_path / "store.duckdb",
        "engine": "transformers",
        "template": "none",
        "verifier": "exact",
    }
    imported = Project(model="tiny", **settings)
    imported.import_samples([samples])
    report = imported.validate(**SHORT)
    assert (report.model, len(academy.trained), academy.opened.count("rev-tiny")) == ("tiny", 4, 1)
    assert report.verdict is not None
    assert report.verdict.claim == "better"
    monkeypatch.setattr(validation_setup, "resolve_model", resolve_model)
    nameless = Project(model="./rollouts", **settings)
    nameless.import_samples([samples])
    with pytest.raises(ModelError, match=r"model \./rollouts: not found.*imported under this name.*--model MODEL"):
        nameless.validate(**SHORT)
    assert len(academy.trained) == 4
