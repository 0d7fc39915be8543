import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from scripted import right_below

from budgetplan import BudgetError, BudgetplanError, ConfigError, NothingToDo, PoolError, Project
from budgetplan.selection.policy import Policy


@pytest.fixture
def probed(project: Project, sums: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """Ten items: q0 to q3 have p̂ 1, .75, .5, .25, the other six 0."""
    scripted(right_below(4))
    project.probe(sums)
    monkeypatch.chdir(tmp_path)
    return project


def with_settings(project: Project, **changes: Any) -> Project:
    return Project(**{**project.settings.model_dump(), **changes})


def ids(table: Any) -> list[str]:
    return sorted(table["id"].to_pylist())


def test_ranking_carries_the_stable_names(probed: Project, tmp_path: Path) -> None:
    ranking = probed.rank(out=tmp_path / "ranking.parquet")
    written = pq.read_table(tmp_path / "ranking.parquet")
    stable = """item_id id prompt k n_correct p_hat p_mean p_low p_high learnable score rank cost policy source
        outcomes"""
    assert set(stable.split()) <= set(written.column_names)
    assert written["topic"].to_pylist()[-1] == "t0"
    assert ranking.table["p_hat"].to_pylist() == [0.0] * 6 + [0.25, 0.5, 0.75, 1.0]
    assert ranking.table["rank"].to_pylist() == list(range(1, 11))
    assert written["outcomes"].to_pylist()[-1]["correct"] == 4
    assert ranking.standing.n_verified == 10


def test_a_shortlist_is_written_for_the_user_and_blind_for_the_annotators(probed: Project) -> None:
    shortlisted = probed.shortlist("30%")
    assert shortlisted.shortlist_id == "sl-0001"
    files = shortlisted.files
    assert files is not None
    with files.table.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    assert {row["p_hat"] for row in rows} == {"0"}
    with files.annotators[0].open(encoding="utf-8-sig", newline="") as stream:
        sheet = list(csv.DictReader(stream))
    assert {row["item_id"] for row in sheet} == {row["item_id"] for row in rows}
    assert list(sheet[0]) == "item_id shortlist_id prompt answer verdict annotator minutes notes".split()
    assert {row["answer"] for row in sheet} == {""}
    manifest = json.loads(files.manifest.read_text())
    assert (manifest["n_items"], manifest["n_tied_at_cut"], manifest["n_tied_picked"]) == (3, 6, 3)
    assert manifest["run_id"] == shortlisted.standing.run.run_id
    assert manifest["probe"]["template"] == "{prompt}"
    assert len(manifest["items"]) == 3


def test_shortlists_are_numbered_and_remembered(probed: Project) -> None:
    probed.shortlist("10%")
    assert probed.shortlist("2 items", out="second.jsonl").shortlist_id == "sl-0002"
    assert [(row.shortlist_id, row.n_items) for row in probed.status().shortlists] == [("sl-0001", 1), ("sl-0002", 2)]
    assert Path("second.annotators.csv").exists()


def test_a_dry_run_writes_nothing(probed: Project, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    shortlisted = probed.shortlist("30%", dry_run=True)
    assert len(shortlisted.choice.order) == 3
    assert shortlisted.files is None
    assert sorted(tmp_path.iterdir()) == before
    assert probed.status().shortlists == []


def test_files_are_not_overwritten_unless_told(probed: Project) -> None:
    probed.shortlist("10%", out="mine.csv")
    with pytest.raises(BudgetplanError, match=r"mine.csv exists.*--force"):
        probed.shortlist("20%", out="mine.csv")
    assert len(probed.status().shortlists) == 1
    probed.shortlist("20%", out="mine.csv", force=True)
    assert len(Path("mine.csv").read_text().splitlines()) == 3


def test_excluded_items_stay_out_and_out_of_the_share(probed: Project) -> None:
    shortlisted = probed.shortlist("40%", exclude=["topic=t1"])
    assert all(int(name[1:]) % 2 == 0 for name in ids(shortlisted.table))
    assert (shortlisted.choice.n_pool, shortlisted.n_excluded, len(shortlisted.choice.order)) == (5, 5, 2)
    with pytest.raises(PoolError, match="no item has this value"):
        probed.shortlist("40%", exclude=["topic=t9"])
    with pytest.raises(PoolError, match="no item has a column 'split'"):
        probed.shortlist("40%", exclude=["split=test"])


def test_money_and_time_need_a_cost(probed: Project) -> None:
    with pytest.raises(BudgetError, match="--cost-per-item"):
        probed.shortlist("40h")
    assert len(with_settings(probed, cost_per_item="30min").shortlist("2h", dry_run=True).choice.order) == 4
    with pytest.raises(BudgetError, match="are both given"):
        with_settings(probed, cost_per_item="30min", cost_column="topic").shortlist("2h")
    with pytest.raises(BudgetError, match=r"no such column \(it has: topic\)"):
        with_settings(probed, cost_column="price").shortlist("2h")


def test_costs_of_ones_own_go_through_the_solver(
    project: Project, write_pool: Callable[..., Path], scripted: Any
) -> None:
    pool = write_pool([{"prompt": f"{n}+{n}=?", "answer": str(2 * n), "usd": 1 + n % 3} for n in range(10)])
    scripted(right_below(4))
    project.probe(pool)
    shortlisted = with_settings(project, cost_column="usd").shortlist("7usd", dry_run=True)
    assert shortlisted.choice.spent <= 7
    assert shortlisted.choice.solver.gap is not None
    assert sum(shortlisted.table["cost"].to_pylist()) == shortlisted.choice.spent


@pytest.mark.parametrize(("policy", "wanted"), [("easy", ["q0", "q1"]), ("learnable", ["q1", "q2", "q3"])])
def test_policies_choose_differently(probed: Project, policy: str, wanted: list[str]) -> None:
    shortlisted = with_settings(probed, policy=policy).shortlist(f"{len(wanted)} items", dry_run=True)
    assert ids(shortlisted.table) == wanted
    assert {row.policy for row in shortlisted.comparison} == set(Policy)


def test_base_wrong_takes_only_items_whose_first_sample_was_wrong(probed: Project) -> None:
    shortlisted = with_settings(probed, policy="base-wrong").shortlist("100%", dry_run=True)
    assert ids(shortlisted.table) == ["q4", "q5", "q6", "q7", "q8", "q9"]
    assert shortlisted.choice.exhausted


def test_a_cost_column_may_be_named_like_one_of_ours(
    project: Project, write_pool: Callable[..., Path], scripted: Any
) -> None:
    pool = write_pool([{"prompt": f"{n}+{n}=?", "answer": str(2 * n), "cost": 2} for n in range(10)])
    scripted(right_below(4))
    project.probe(pool)
    shortlisted = with_settings(project, cost_column="cost", cost_unit="usd").shortlist("6usd", dry_run=True)
    assert (shortlisted.table.num_rows, shortlisted.choice.spent) == (3, 6.0)


def test_a_wrong_suffix_is_met_before_the_work(probed: Project) -> None:
    with pytest.raises(ConfigError, match="xlsx"):
        probed.shortlist("10%", out="mine.xlsx")
    with pytest.raises(ConfigError, match="xlsx"):
        probed.rank(out="mine.xlsx")


def test_a_file_that_cannot_be_written_leaves_no_shortlist(probed: Project) -> None:
    with pytest.raises(BudgetplanError, match="mkdir -p nowhere"):
        probed.shortlist("10%", out="nowhere/mine.csv")
    assert probed.status().shortlists == []


def test_items_without_answers_are_ranked_by_their_signals(
    project: Project, write_pool: Callable[..., Path], scripted: Any
) -> None:
    pool = write_pool([{"prompt": f"{n}+{n}=?"} for n in range(6)])
    scripted(right_below(4))
    report = project.probe(pool)
    assert report.health.outcomes["unknown"] == 24
    ranking = project.rank()
    assert ranking.table["p_hat"].null_count == 6
    assert ranking.standing.n_signals == 6
    assert set(ranking.table["source"].to_pylist()) == {"signals"}
    assert sorted(ranking.table["agreement"].to_pylist()) == [0.5, 0.75, 0.75, 1.0, 1.0, 1.0]
    assert ranking.table["agreement"][0].as_py() == 0.5
    with pytest.raises(NothingToDo, match="needs estimates of p"):
        with_settings(project, policy="learnable").shortlist("10%")


def test_commands_that_come_too_early_say_what_comes_first(project: Project) -> None:
    for too_early in (project.rank, project.status, project.verify, lambda: project.shortlist("10%")):
        with pytest.raises(NothingToDo, match="budgetplan probe POOL"):
            too_early()
    with project.store.writing():
        pass
    with pytest.raises(NothingToDo, match="no samples yet"):
        project.rank()


def test_a_quota_that_binds_nothing_changes_no_pick(probed: Project) -> None:
    wrong = with_settings(probed, policy="base-wrong")
    without, within = (
        wrong.shortlist("2 items", quota=quota, dry_run=True).table for quota in ((), ("topic=t0:..100%",))
    )
    assert ids(within) == ids(without)


def test_a_must_have_item_ranks_no_audit_item(probed: Project, tmp_path: Path) -> None:
    (tmp_path / "must.txt").write_text("q0\n")
    table = probed.shortlist("6 items", audit="3", must=tmp_path / "must.txt", dry_run=True).table
    ranks = dict(zip(table["id"].to_pylist(), table["rank"].to_pylist(), strict=True))
    assert ranks["q0"] == 3
    assert ranks["q1"] is None
