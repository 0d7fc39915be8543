import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from budgetplan import NothingToDo, Project
from budgetplan.store.ledger import Balance


def with_settings(project: Project, **changes: Any) -> Project:
    return Project(**{**project.settings.model_dump(), **changes})


def picked(shortlisted: Any) -> set[str]:
    return set(shortlisted.table["item_id"].to_pylist())


def label(project: Project, item_ids: list[str], answer: str = "1", annotator: str = "ana", **more: Any) -> None:
    path = Path(f"labels-{annotator}-{'-'.join(item_ids)[:60]}.jsonl")
    rows = [{"item_id": item, "annotator": annotator, "answer": answer, "seconds": 90} | more for item in item_ids]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    project.ingest([path])


def labels_balance(project: Project) -> dict[str, Balance]:
    return {row.state: row for row in project.status().ledger if row.kind == "labels"}


def test_a_skipped_item_is_still_out_and_once_recalled_not_bought(probe_sums: Callable[..., Project]) -> None:
    project = probe_sums(5, answers=True)
    first = project.shortlist("5 items")
    (skipped, *_) = sorted(picked(first))
    label(project, [skipped], status="skipped")
    with pytest.raises(NothingToDo, match="already bought or out"):
        project.shortlist("1 item")
    project.recall("sl-0001", [skipped])
    assert picked(project.shortlist("1 item")) == {skipped}


def test_what_is_left_of_hours_is_the_next_rounds_budget(probe_sums: Callable[..., Project]) -> None:
    project = with_settings(probe_sums(10, answers=True), cost_per_item="30min")
    assert project.shortlist("2.25h").table.num_rows == 4
    assert project.status().left == {"h": 0.25}
    project.recall("sl-0001")
    second = project.shortlist()
    assert (second.choice.budget.text, second.table.num_rows) == ("what is left (2.25 h)", 4)


def test_what_is_labelled_is_not_taken_back(probe_sums: Callable[..., Project]) -> None:
    project = probe_sums(10, answers=True)
    done, *rest = sorted(picked(project.shortlist("4 items")))
    label(project, [done])
    with pytest.raises(NothingToDo, match=rf"{done} is not out in sl-0001"):
        project.recall("sl-0001", [rest[0], done])
    assert project.status().left == {"items": 0.0}  # all that were named, or none
    assert sorted(project.recall("sl-0001").item_ids) == rest
    with pytest.raises(NothingToDo, match="nothing is out in sl-0001"):
        project.recall("sl-0001")


def test_what_is_not_there_cannot_be_taken_back(probe_sums: Callable[..., Project]) -> None:
    project = probe_sums(10, answers=True)
    with pytest.raises(NothingToDo, match=r"no shortlist sl-0007.*none yet"):
        project.recall("sl-0007")
    item, *_ = picked(project.shortlist("2 items"))
    with pytest.raises(NothingToDo, match=r"no shortlist sl-0007.*sl-0001"):
        project.recall("sl-0007")
    with pytest.raises(NothingToDo, match="bp-00000000000000aa is not out in sl-0001"):
        project.recall("sl-0001", ["bp-00000000000000aa"])
    project.recall("sl-0001", [item])
    with pytest.raises(NothingToDo, match="is not out in sl-0001"):
        project.recall("sl-0001", [item])


def test_another_look_frees_no_budget_since_it_took_none(probe_sums: Callable[..., Project]) -> None:
    project = probe_sums(10, answers=True)
    item, *_ = picked(project.shortlist("2 items"))
    label(project, [item], "111", "ana")
    label(project, [item], "222", "bo")
    planned = labels_balance(project)["planned"]
    looked = project.look_again()
    for name in ("ana", "bo"):
        project.forget(name)
    assert project.recall(looked.shortlist_id).item_ids == [item]
    assert (project.status().left, labels_balance(project)["planned"]) == ({"items": 0.0}, planned)


def test_an_item_chosen_again_is_spent_at_what_it_was_planned_at_last(probe_sums: Callable[..., Project]) -> None:
    project = probe_sums(10, answers=True)
    first = with_settings(project, cost_per_item="2usd").shortlist("2usd")
    project.recall("sl-0001")
    second = with_settings(project, cost_per_item="3usd").shortlist("3usd")
    assert picked(first) == picked(second)
    label(project, sorted(picked(second)))
    balance = labels_balance(project)
    assert (balance["planned"].money, balance["spent"].money) == ({"usd": 3.0}, {"usd": 3.0})
