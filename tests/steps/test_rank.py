from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_pools import bought, imported, make_pool

from budgetplan import Project
from budgetplan.difficulty.horizon import expected_rise, mixed_group_chance


def changed(project: Project, **changes: Any) -> Project:
    return Project(**{**project.settings.model_dump(), **changes})


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Forty items: the first 20 with an answer, the others predicted from these."""
    return imported(tmp_path, make_pool(40).with_answers(20))


def test_horizon_ranks_verified_and_calibrated_items_by_learnable_horizon(project: Project) -> None:
    table = changed(project, policy="horizon").rank().table
    assert set(table["source"].to_pylist()) == {"verified", "calibrated"}
    assert table["learnable_horizon"].null_count == 0
    assert table["score"].to_pylist() == table["learnable_horizon"].to_pylist()
    assert table["score"].to_pylist() == sorted(table["score"].to_pylist(), reverse=True)
    assert table["rank"].null_count == 0


def test_the_passes_decide_how_far_the_horizon_is(project: Project) -> None:
    none, some = (changed(project, policy="horizon", passes_per_item=passes).rank() for passes in (0, 10))
    assert none.table["learnable_horizon"].to_pylist() == none.table["learnable"].to_pylist()
    assert (none.standing.passes_per_item, some.standing.passes_per_item) == (0.0, 10.0)
    prior = some.standing.prior
    row = next(row for row in some.table.to_pylist() if row["source"] == "verified")
    a, b = np.array([prior.a + row["n_correct"]]), np.array([prior.b + row["k"] - row["n_correct"]])
    assert row["learnable_horizon"] == pytest.approx(mixed_group_chance(a, b, 8, expected_rise(10.0))[0])
    assert row["learnable_horizon"] != row["learnable"]


def test_it_is_written_under_its_stable_name_and_bought_by(project: Project, tmp_path: Path) -> None:
    horizon = changed(project, policy="horizon")
    assert "learnable_horizon" in horizon.rank(out=tmp_path / "ranking.jsonl").table.column_names
    shortlisted = horizon.shortlist("5 items", audit="0", out=tmp_path / "picks.csv")
    assert shortlisted.table["item_id"].to_pylist() == horizon.rank().table["item_id"].to_pylist()[:5]
    assert "horizon" in [row.policy.value for row in shortlisted.comparison if row.items == 5]


def test_with_signals_alone_it_can_rank_nothing_until_labels_are_there(tmp_path: Path) -> None:
    pool = make_pool(40)
    project = imported(tmp_path, pool.rows)
    horizon = changed(project, policy="horizon")
    assert horizon.rank().table["rank"].null_count == 40
    bought(project, tmp_path, pool.answer_of, "50%")
    assert horizon.rank().table["rank"].null_count == 0
