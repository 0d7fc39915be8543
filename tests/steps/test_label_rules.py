"""Rules that several rounds, pools, people and exports must not break."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted import right_below

from budgetplan import BudgetError, LabelError, NothingToDo, Project, StoreError
from budgetplan.store.connection import scalar

Write = Callable[..., Path]


@pytest.fixture
def probe(project: Project, write_pool: Write, scripted: Any, monkeypatch: Any, tmp_path: Path) -> Any:
    """Probe a pool of sums; `answers` maps the N of N+N to its known answer."""

    def probed(name: str, n: int, answers: dict[int, str] | None = None, **settings: Any) -> dict[str, str]:
        rows: list[dict[str, Any]] = [{"id": f"q{i}", "question": f"{i}+{i}=?"} for i in range(n)]
        for i, answer in (answers or {}).items():
            rows[i]["answer"] = answer
        scripted(right_below(4))
        monkeypatch.chdir(tmp_path)
        Project(**{**project.settings.model_dump(), **settings}).probe(write_pool(rows, name))
        return {row["id"]: row["item_id"] for row in project.rank().table.to_pylist()}

    return probed


def say(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def state_of(project: Project, item: str) -> tuple[str, str | None]:
    with project.store.reading() as connection:
        ((state, answer),) = connection.execute(
            "SELECT state, answer FROM adjudicated WHERE item_id = ?", [item]
        ).fetchall()
    return state, answer


def tie(project: Project, item: str, folder: Path) -> list[dict[str, Any]]:
    rows = [{"item_id": item, "annotator": who, "answer": answer} for who, answer in (("ana", "6"), ("bo", "7"))]
    project.ingest([say(folder / "tie.jsonl", *rows)])
    assert state_of(project, item) == ("tied", None)
    return rows


def test_another_look_that_confirms_decides(project: Project, probe: Any, tmp_path: Path) -> None:
    item = probe("pool.jsonl", 8)["q3"]
    rows = tie(project, item, tmp_path)
    look = project.look_again()
    project.ingest([say(tmp_path / "look.jsonl", rows[0] | {"shortlist_id": look.shortlist_id})])
    assert state_of(project, item) == ("agreed", "6")


def test_an_old_sheet_does_not_undo_another_look(project: Project, probe: Any, tmp_path: Path) -> None:
    items = probe("pool.jsonl", 8)
    rows = tie(project, items["q3"], tmp_path)
    look = project.look_again()
    project.ingest([say(tmp_path / "look.jsonl", rows[0] | {"answer": "7", "shortlist_id": look.shortlist_id})])
    grown = {"item_id": items["q4"], "annotator": "ana", "answer": "8"}
    project.ingest([say(tmp_path / "grown.jsonl", *rows, grown)])
    assert state_of(project, items["q3"]) == ("agreed", "7")


def test_what_is_out_for_another_look_is_not_sent_twice_and_can_be_taken_back(
    project: Project, probe: Any, tmp_path: Path
) -> None:
    item = probe("pool.jsonl", 8)["q3"]
    tie(project, item, tmp_path)
    look = project.look_again()
    status = project.status()
    assert (status.shortlists[-1].n_labelled, status.labels.n_missing) == (0, 1)
    with pytest.raises(NothingToDo, match="but what is out for another look"):
        project.look_again()
    assert project.recall(look.shortlist_id).item_ids == [item]
    assert not any(project.status().left.values())
    assert project.look_again().n_items == 1


def test_an_item_is_judged_by_the_verifier_of_its_own_pool(project: Project, probe: Any, tmp_path: Path) -> None:
    item = probe("math.jsonl", 8, verifier="math")["q1"]
    probe("words.jsonl", 5, verifier="exact", template="Q: {prompt}")
    other = {"item_id": item, "annotator": "bo", "answer": "0.5"}
    project.ingest([say(tmp_path / "labels.jsonl", other, other | {"annotator": "ana", "answer": "1/2"})])
    assert state_of(project, item)[0] == "tied"  # the last used run that has the item is exact
    with project.store.reading() as connection:
        late = connection.execute("SELECT item_id FROM item WHERE prompt LIKE '7+7%'").fetchall()[0][0]
    pair = [{"item_id": late, "annotator": who, "answer": text} for who, text in (("ana", "1/2"), ("bo", "0.5"))]
    project.ingest([say(tmp_path / "late.jsonl", *pair)])
    assert state_of(project, late)[0] == "agreed"  # only the math pool has it


def test_a_pool_that_corrects_its_answer_settles_the_contradiction(
    project: Project, probe: Any, tmp_path: Path
) -> None:
    item = probe("pool.jsonl", 5, {2: "9"})["q2"]
    project.ingest([say(tmp_path / "labels.jsonl", {"item_id": item, "annotator": "ana", "answer": "4"})])
    assert [one.item_id for one in project.disagreements()] == [item]
    probe("pool.jsonl", 5, {2: "4"})
    assert project.disagreements() == []
    probe("pool.jsonl", 5, {2: "99"})
    assert [(one.known, one.said) for one in project.disagreements()] == [("99", {"ana": "4"})]


def test_the_removed_stay_removed_under_pseudonyms_and_leave_no_trace(
    project: Project, probe: Any, tmp_path: Path
) -> None:
    item = probe("pool.jsonl", 5)["q2"]
    path = say(tmp_path / "zoe.quimby.jsonl", {"item_id": item, "annotator": "zoe.quimby", "answer": "4"})
    project.ingest([path])
    project.forget("zoe.quimby")
    assert b"zoe.quimby" not in project.store.path.read_bytes()
    report = project.ingest([path], pseudonyms=True)
    assert (report.n_removed, report.n("new")) == (1, 0)
    with project.store.reading() as connection:
        assert scalar(connection, "SELECT count(*) FROM label") == 0


def test_pseudonyms_without_their_key_are_an_error(project: Project, probe: Any, tmp_path: Path) -> None:
    item = probe("pool.jsonl", 5)["q2"]
    path = say(tmp_path / "labels.jsonl", {"item_id": item, "annotator": "zoe", "answer": "4"})
    project.ingest([path], pseudonyms=True)
    project.store.path.with_name(project.store.path.name + ".pseudonyms.key").unlink()
    with pytest.raises(StoreError, match=r"their key .* is not there"):
        project.ingest([path])


def test_two_nameless_files_of_one_name_are_not_one_persons(project: Project, probe: Any, tmp_path: Path) -> None:
    item = probe("pool.jsonl", 5)["q2"]
    for folder, answer in (("ana", "4"), ("bo", "5")):
        (tmp_path / folder).mkdir()
        say(tmp_path / folder / "labels.jsonl", {"item_id": item, "answer": answer})
    with pytest.raises(LabelError, match="called alike"):
        project.ingest([tmp_path / "ana" / "labels.jsonl", tmp_path / "bo" / "labels.jsonl"])


def test_what_one_pool_leaves_is_not_spent_on_another(project: Project, probe: Any) -> None:
    probe("a.jsonl", 20)
    project.shortlist("5 items", audit="0")
    project.recall("sl-0001")
    probe("b.jsonl", 12)
    with pytest.raises(BudgetError, match="no budget was given"):
        project.shortlist()


def test_the_audit_slice_keeps_its_items_whatever_the_seed_and_can_be_left_away(project: Project, probe: Any) -> None:
    probe("pool.jsonl", 40)
    first = project.shortlist("10 items", audit="4")
    seeded = Project(**{**project.settings.model_dump(), "seed": 7}).shortlist("10 items", audit="6", dry_run=True)
    assert set(first.audit.slice.index) <= set(seeded.audit.slice.index)
    project.recall("sl-0001")
    assert not any(project.shortlist("10 items", audit="0", dry_run=True).table["audit"].to_pylist())


def test_rejected_items_are_kept_apart_and_can_be_chosen_again(project: Project, probe: Any, tmp_path: Path) -> None:
    probe("pool.jsonl", 10)
    (item, *_) = project.shortlist("2 items", audit="0").table["item_id"].to_pylist()
    report = project.ingest(
        [say(tmp_path / "labels.jsonl", {"item_id": item, "annotator": "ana", "status": "rejected"})]
    )
    assert (report.n("rejected"), report.n("new")) == (1, 0)
    assert project.status().labels.states == {"rejected": 1}
    assert item in project.recall("sl-0001").item_ids
