import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted import right_below

from budgetplan import BudgetError, NothingToDo, Project
from budgetplan.store.connection import scalar

Write = Callable[..., Path]


def with_settings(project: Project, **changes: Any) -> Project:
    return Project(**{**project.settings.model_dump(), **changes})


def items(shortlisted: Any) -> set[str]:
    return set(shortlisted.table["item_id"].to_pylist())


def label(project: Project, path: Path, item_ids: list[str], annotator: str = "ana") -> None:
    rows = [{"item_id": item, "annotator": annotator, "answer": "1", "seconds": 60} for item in item_ids]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    project.ingest([path])


def test_a_later_round_leaves_out_what_is_taken_and_spends_what_is_left(probe_sums: Any, tmp_path: Path) -> None:
    project = probe_sums(25, answers=True)
    first = project.shortlist("5 items")
    with pytest.raises(BudgetError, match="nothing is left of the budgets given so far"):
        project.shortlist()
    second = project.shortlist("30%")
    assert (len(items(second)), second.n_taken) == (7, 5)  # a share is one of the whole pool
    assert not items(first) & items(second)
    recalled = project.recall("sl-0001", sorted(items(first))[:2])
    assert (len(recalled.item_ids), recalled.freed, recalled.freed_unit) == (2, 2, "items")
    third = project.shortlist()
    assert (third.choice.budget.text, len(items(third))) == ("what is left (2 items)", 2)
    assert items(third) == set(recalled.item_ids)  # the hardest of what can be chosen, by the same tie rule
    label(project, tmp_path / "labels.jsonl", sorted(items(second)))
    assert not items(project.shortlist("3 items", dry_run=True)) & (items(first) | items(second))


def test_without_any_budget_one_must_be_given(probe_sums: Any) -> None:
    with pytest.raises(BudgetError, match="no budget was given"):
        probe_sums(5, answers=True).shortlist()


def test_what_a_share_leaves_over_is_no_item(probe_sums: Any) -> None:
    project = probe_sums(25, answers=True)
    assert len(items(project.shortlist("10%"))) == 2  # of 2.5
    assert project.status().left == {"items": 0.0}


def test_money_that_is_left_is_spent_in_the_next_round(probe_sums: Any) -> None:
    project = with_settings(probe_sums(20, answers=True, usd=3), cost_column="usd")
    assert len(items(project.shortlist("10usd"))) == 3
    assert project.status().left == {"usd": 1.0}
    project.recall("sl-0001")
    again = project.shortlist()
    assert (again.choice.budget.text, len(items(again)), again.spent) == ("what is left (10 usd)", 3, 9.0)
    project.shortlist("2 items")
    project.recall("sl-0003")
    assert project.shortlist(dry_run=True).choice.budget.text == "what is left (2 items)"  # in the last used unit


def test_the_ledger_adds_up(probe_sums: Any, tmp_path: Path) -> None:
    project = with_settings(probe_sums(20, answers=False, usd=3), cost_column="usd")
    first = project.shortlist("15usd", audit="0")
    label(project, tmp_path / "labels.jsonl", sorted(items(first))[:3])

    def balance() -> dict[str, tuple[int, float, dict[str, float]]]:
        rows = [row for row in project.status().ledger if row.kind == "labels"]
        return {row.state: (row.items, round(row.hours * 60, 6), row.money) for row in rows}

    assert balance() == {"planned": (5, 0.0, {"usd": 15.0}), "spent": (3, 3.0, {"usd": 9.0})}
    recalled = project.recall("sl-0001")
    assert (len(recalled.item_ids), recalled.cost) == (2, 6.0)
    assert balance() == {"planned": (3, 0.0, {"usd": 9.0}), "spent": (3, 3.0, {"usd": 9.0})}
    project.forget("ana")
    assert balance()["spent"] == (3, 3.0, {"usd": 9.0})  # it was paid
    label(project, tmp_path / "again.jsonl", sorted(items(first)), annotator="bo")
    assert balance()["spent"] == (8, 8.0, {"usd": 24.0})


def test_only_what_is_out_can_be_recalled(probe_sums: Any, tmp_path: Path) -> None:
    project = probe_sums(10, answers=False)
    with pytest.raises(NothingToDo, match=r"no shortlist sl-0009.*none yet"):
        project.recall("sl-0009")
    bought = sorted(items(project.shortlist("3 items", audit="0")))
    label(project, tmp_path / "labels.jsonl", bought[:1])
    with pytest.raises(NothingToDo, match=f"{bought[0]} is not out in sl-0001"):
        project.recall("sl-0001", bought[:1])
    assert project.recall("sl-0001").item_ids != []
    assert project.status().shortlists[0].n_recalled == 2


def test_the_audit_slice_is_drawn_from_the_whole_pool_and_paid_from_the_budget(probe_sums: Any) -> None:
    project = probe_sums(40, answers=False)
    hard = project.shortlist("50%", batch="100%", dry_run=True)
    easy = with_settings(project, policy="easy").shortlist("50%", batch="100%", dry_run=True)
    assert len(items(hard)) == len(items(easy)) == 20
    assert hard.audit.slice.index.tolist() == easy.audit.slice.index.tolist()
    assert (len(hard.audit.new), hard.audit.slice.inclusion) == (5, 5 / 40)  # a quarter of the budget
    assert "5 audit items tell the pool's success rate only within" in str(hard.audit.cannot_conclude)
    assert hard.table["audit"].to_pylist().count(True) == 5
    ranks = hard.table["rank"].to_pylist()
    ranked = [rank for rank in ranks if rank is not None]
    assert ranked == list(range(1, len(ranked) + 1))
    assert ranks[len(ranked) :] == [None] * (20 - len(ranked))


def test_an_answered_pool_has_no_audit_slice_unless_asked(probe_sums: Any) -> None:
    project = probe_sums(40, answers=True)
    assert len(project.shortlist("50%", dry_run=True).audit.slice.index) == 0
    assert len(project.shortlist("50%", audit="10%", dry_run=True).audit.slice.index) == 4
    with pytest.raises(BudgetError, match="--audit"):
        project.shortlist("50%", audit="some")
    with pytest.raises(BudgetError):
        project.shortlist("10%", audit="20", dry_run=True)  # dearer than the budget


def test_the_slice_grows_over_rounds_and_keeps_its_items(probe_sums: Any) -> None:
    project = probe_sums(40, answers=False)
    first = project.shortlist("20%", audit="4")
    second = project.shortlist("20%", audit="10")
    assert set(first.audit.slice.index) <= set(second.audit.slice.index)
    assert len(second.audit.new) == 10 - len(items(first) & items_at(second, project))
    with project.store.reading() as connection:
        assert scalar(connection, "SELECT count(*) FROM audit_item") == 10
        assert scalar(connection, "SELECT max(inclusion) FROM audit_item") == 0.25


def items_at(shortlisted: Any, project: Project) -> set[str]:
    with project.store.reading() as connection:
        return {item for (item,) in connection.execute("SELECT item_id FROM audit_item").fetchall()}


def test_unequal_costs_never_pass_the_budget_with_an_audit_slice(
    project: Project, write_pool: Write, scripted: Any
) -> None:
    pool = write_pool([{"question": f"{i}+{i}=?", "usd": 1 + i % 7} for i in range(40)])
    scripted(right_below(4))
    project.probe(pool)
    priced = with_settings(project, cost_column="usd")
    for budget in ("20usd", "37usd", "61usd"):
        made = priced.shortlist(budget, audit="4", dry_run=True)
        assert made.spent <= float(budget.removesuffix("usd"))
        assert made.table["audit"].to_pylist().count(True) == 4


@pytest.mark.parametrize("tool", ["label-studio", "argilla", "prodigy", "spreadsheet", "jsonl", "parquet"])
def test_annotators_see_no_trace_of_rank_or_audit_and_the_models_answer_only_if_asked(
    probe_sums: Any, tmp_path: Path, tool: str
) -> None:
    project = probe_sums(20, answers=False)
    blind = project.shortlist("50%", tool=tool, out=tmp_path / "blind.csv")
    assert blind.files is not None
    content = b"".join(path.read_bytes() for path in blind.files.annotators)
    for word in (b"audit", b"p_hat", b"learnable", b"score", b"999"):
        assert word not in content
    shown = project.shortlist("40%", tool=tool, out=tmp_path / "shown.csv", show_model_answer=True)
    assert shown.files is not None
    assert b"999" in b"".join(path.read_bytes() for path in shown.files.annotators)


def test_measured_times_price_a_budget_in_hours(probe_sums: Any, tmp_path: Path) -> None:
    project = probe_sums(60, answers=False)
    with pytest.raises(BudgetError, match="needs a cost per item"):
        project.shortlist("10min")
    first = project.shortlist("25 items", audit="0", batch="100%")
    label(project, tmp_path / "labels.jsonl", sorted(items(first)))
    timed = project.shortlist("10min", audit="0", dry_run=True)
    assert timed.cost_model is not None
    assert (timed.cost_model.n_timed, len(items(timed)), timed.choice.unit) == (25, 10, "h")
    share = with_settings(project, cost_per_item="measured").shortlist("10%", audit="0", dry_run=True)
    assert (share.choice.unit, len(items(share))) == ("h", 6)
