import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scripted import right_below

from budgetplan import LabelError, NothingToDo, Project
from budgetplan.store.connection import scalar

Write = Callable[..., Path]


@pytest.fixture
def unanswered(project: Project, write_pool: Write, scripted: Any, monkeypatch: Any, tmp_path: Path) -> Project:
    """Ten sums without answers, probed: the model is right on qN with the first 4 - N of 4 samples."""
    pool = write_pool([{"id": f"q{n}", "question": f"{n}+{n}=?", "topic": f"t{n % 2}"} for n in range(10)])
    scripted(right_below(4))
    project.probe(pool)
    monkeypatch.chdir(tmp_path)
    return project


@pytest.fixture
def answered(project: Project, sums: Path, scripted: Any, monkeypatch: Any, tmp_path: Path) -> Project:
    """The same ten sums with their answers."""
    scripted(right_below(4))
    project.probe(sums)
    monkeypatch.chdir(tmp_path)
    return project


def item_of(project: Project) -> dict[str, str]:
    """Item ids by the user's ids."""
    rows = project.rank().table.to_pylist()
    return {row["id"]: row["item_id"] for row in rows}


def write_labels(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def state(project: Project) -> dict[str, Any]:
    """Everything that follows from the labels."""
    with project.store.reading() as connection:
        return {
            "current": connection.execute(
                "SELECT item_id, annotator, answer, verdict, status, seconds FROM current_label ORDER BY ALL"
            ).fetchall(),
            "adjudicated": connection.execute("FROM adjudicated ORDER BY ALL").fetchall(),
            "gold": connection.execute("SELECT item_id, answer, source FROM gold ORDER BY ALL").fetchall(),
            "verdicts": connection.execute(
                "SELECT item_id, sample_index, outcome::VARCHAR FROM verdict SEMI JOIN probe_run "
                "ON probe_run.verdicts_by = verdict.verifier ORDER BY ALL"
            ).fetchall(),
        }


def p_hats(project: Project) -> dict[str, float | None]:
    return {row["id"]: row["p_hat"] for row in project.rank().table.to_pylist()}


def test_labels_re_score_what_was_sampled_and_nothing_is_sampled_again(unanswered: Project, tmp_path: Path) -> None:
    items = item_of(unanswered)
    assert set(p_hats(unanswered).values()) == {None}
    labels = [{"item_id": items[f"q{n}"], "annotator": "ana", "answer": str(2 * n), "seconds": 30} for n in range(4)]
    report = unanswered.ingest([write_labels(tmp_path / "labels.jsonl", labels)])
    assert [report.n(change) for change in ("new", "changed", "unchanged", "skipped")] == [4, 0, 0, 0]
    assert (report.files[0].tool, report.rescored.decided.n_gold_changed) == ("jsonl", 4)
    found = p_hats(unanswered)
    assert [found[f"q{n}"] for n in range(5)] == [1.0, 0.75, 0.5, 0.25, None]
    with unanswered.store.reading() as connection:
        assert scalar(connection, "SELECT count(*) FROM completion") == 40


def test_the_same_file_twice_changes_nothing(unanswered: Project, tmp_path: Path) -> None:
    items = item_of(unanswered)
    path = write_labels(
        tmp_path / "labels.jsonl",
        [
            {"item_id": items["q0"], "annotator": "ana", "answer": "0", "seconds": 10},
            {"item_id": items["q1"], "annotator": "ana", "status": "skipped"},
        ],
    )
    unanswered.ingest([path])
    before = state(unanswered)
    again = unanswered.ingest([path, path])
    assert (again.n("unchanged"), again.n("new"), again.n("skipped")) == (2, 0, 0)
    assert state(unanswered) == before
    with unanswered.store.reading() as connection:
        assert scalar(connection, "SELECT count(*) FROM label") == 2
        assert scalar(connection, "SELECT sum(items) FROM ledger WHERE kind = 'labels'") == 1


def test_a_corrected_label_supersedes_and_its_history_stays(unanswered: Project, tmp_path: Path) -> None:
    item = item_of(unanswered)["q2"]
    first = write_labels(tmp_path / "1.jsonl", [{"item_id": item, "annotator": "ana", "answer": "5"}])
    second = write_labels(tmp_path / "2.jsonl", [{"item_id": item, "annotator": "ana", "answer": "4"}])
    unanswered.ingest([first])
    assert p_hats(unanswered)["q2"] == 0.0
    assert unanswered.ingest([second]).n("changed") == 1
    assert p_hats(unanswered)["q2"] == 0.5
    assert unanswered.ingest([first]).n("unchanged") == 1  # an old file that comes by again corrects nothing
    assert p_hats(unanswered)["q2"] == 0.5
    back = write_labels(tmp_path / "3.jsonl", [{"item_id": item, "annotator": "ana", "answer": "5", "note": "sure"}])
    assert unanswered.ingest([back]).n("changed") == 1
    assert p_hats(unanswered)["q2"] == 0.0
    with unanswered.store.reading() as connection:
        assert connection.execute("SELECT answer FROM label ORDER BY arrival").fetchall() == [("5",), ("4",), ("5",)]
        raw = connection.execute("SELECT raw FROM label ORDER BY arrival DESC LIMIT 1").fetchall()[0][0]
    assert json.loads(raw)["note"] == "sure"


def test_a_label_with_an_earlier_time_does_not_supersede(unanswered: Project, tmp_path: Path) -> None:
    row = {"item_id": item_of(unanswered)["q2"], "annotator": "ana"}
    newer = write_labels(tmp_path / "n.jsonl", [row | {"answer": "4", "labeled_at": "2026-02-02T00:00:00Z"}])
    older = write_labels(tmp_path / "o.jsonl", [row | {"answer": "5", "labeled_at": "2026-01-01T00:00:00Z"}])
    unanswered.ingest([newer])
    assert unanswered.ingest([older]).n("unchanged") == 1
    assert p_hats(unanswered)["q2"] == 0.5


def test_equal_answers_in_other_words_agree_and_others_are_decided_by_majority(
    unanswered: Project, tmp_path: Path
) -> None:
    items = item_of(unanswered)
    said = {
        "q1": {"ana": "2", "bo": "2.0", "cy": "4/2"},
        "q2": {"ana": "4", "bo": "4.00", "cy": "5"},
        "q3": {"ana": "6", "bo": "7"},
    }
    rows = [
        {"item_id": items[name], "annotator": who, "answer": answer}
        for name, answers in said.items()
        for who, answer in answers.items()
    ]
    report = unanswered.ingest([write_labels(tmp_path / "labels.jsonl", rows)])
    assert unanswered.status().labels.states == {"agreed": 1, "majority": 1, "tied": 1}
    assert {item.item_id: item.state for item in report.disagreements} == {
        items["q2"]: "majority",
        items["q3"]: "tied",
    }
    assert report.disagreements[0].said == {"ana": "6", "bo": "7"}
    found = p_hats(unanswered)
    assert (found["q1"], found["q2"], found["q3"]) == (0.75, 0.5, None)
    alpha = unanswered.status().labels.alpha
    assert alpha is not None
    assert 0 < alpha < 1


def test_another_look_decides_alone(unanswered: Project, tmp_path: Path) -> None:
    item = item_of(unanswered)["q3"]
    tie = [{"item_id": item, "annotator": who, "answer": answer} for who, answer in (("ana", "6"), ("bo", "7"))]
    unanswered.ingest([write_labels(tmp_path / "tie.jsonl", tie)])
    made = unanswered.look_again(tool="jsonl")
    (task,) = [json.loads(line) for line in made.files.annotators[0].read_text().splitlines()]
    assert (task["item_id"], task["shortlist_id"]) == (item, made.shortlist_id)
    task |= {"answer": "7", "annotator": "lead"}
    report = unanswered.ingest([write_labels(tmp_path / "look.jsonl", [task])])
    assert report.disagreements == []
    assert p_hats(unanswered)["q3"] == 0.0
    with pytest.raises(NothingToDo, match="disagree on nothing"):
        unanswered.look_again()


def test_ambiguous_items_leave_the_training_set(unanswered: Project, tmp_path: Path) -> None:
    items = item_of(unanswered)
    rows = [
        {"item_id": items["q1"], "annotator": "ana", "answer": "2"},
        {"item_id": items["q2"], "annotator": "ana", "answer": "4"},
        {"item_id": items["q2"], "annotator": "bo", "verdict": "ambiguous"},
        {"item_id": items["q3"], "annotator": "bo", "verdict": "unanswerable"},
    ]
    unanswered.ingest([write_labels(tmp_path / "labels.jsonl", rows)])
    exported = unanswered.export("trl", out=tmp_path / "train.jsonl")
    assert (exported.n_items, exported.n_from_labels, exported.n_unusable) == (1, 1, 2)
    (row,) = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text().splitlines()]
    assert (row["id"], row["answer"], row["topic"], row["p_hat"], row["n_labels"]) == ("q1", "2", "t1", 0.75, 1)
    assert row["prompt"] == [{"role": "user", "content": "1+1=?"}]


def test_known_answers_are_never_silently_replaced(answered: Project, tmp_path: Path) -> None:
    items = item_of(answered)
    rows = [
        {"item_id": items["q1"], "annotator": "ana", "answer": "2.0"},
        {"item_id": items["q2"], "annotator": "ana", "answer": "5"},
    ]
    path = write_labels(tmp_path / "labels.jsonl", rows)
    report = answered.ingest([path])
    assert [(item.item_id, item.known, item.said) for item in report.disagreements] == [
        (items["q2"], "4", {"ana": "5"})
    ]
    assert p_hats(answered)["q2"] == 0.5
    changed = write_labels(tmp_path / "more.jsonl", [rows[1] | {"seconds": 3}])
    report = answered.ingest([changed], replace_known=True)
    assert report.disagreements == []
    assert p_hats(answered)["q2"] == 0.0
    assert p_hats(answered)["q1"] == 0.75


def test_bad_records_stop_all_or_are_named_and_left_out(unanswered: Project, tmp_path: Path) -> None:
    items = item_of(unanswered)
    good = {"item_id": items["q0"], "annotator": "ana", "answer": "0"}
    path = tmp_path / "labels.jsonl"
    path.write_text(json.dumps(good) + "\n" + '{"item_id": "bp-' + "\n" + json.dumps(good | {"verdict": "meh"}) + "\n")
    with pytest.raises(LabelError, match=r"2 records cannot be read.*labels.jsonl:2.*labels.jsonl:3.*meh"):
        unanswered.ingest([path])
    with unanswered.store.reading() as connection:
        assert scalar(connection, "SELECT count(*) FROM label") == 0
    report = unanswered.ingest([path], skip_bad=True)
    assert (report.n("new"), [bad.place for bad in report.files[0].bad]) == (1, [2, 3])


def test_strangers_are_left_out_and_another_projects_file_is_refused(unanswered: Project, tmp_path: Path) -> None:
    stranger = {"item_id": "bp-00000000000000aa", "annotator": "ana", "answer": "1"}
    with pytest.raises(LabelError, match=r"not one of its labels \(1\) is for an item of this store"):
        unanswered.ingest([write_labels(tmp_path / "other.jsonl", [stranger])])
    ours = {"item_id": item_of(unanswered)["q0"], "annotator": "ana", "answer": "0"}
    report = unanswered.ingest([write_labels(tmp_path / "mixed.jsonl", [stranger, ours])])
    assert [(one.place, one.item) for one in report.unknown] == [(1, stranger["item_id"])]
    assert report.n("new") == 1
    assert report.unasked == [ours["item_id"]]


def test_one_annotator_with_two_answers_is_warned_of(unanswered: Project, tmp_path: Path) -> None:
    row = {"item_id": item_of(unanswered)["q2"], "annotator": "ana"}
    report = unanswered.ingest([write_labels(tmp_path / "l.jsonl", [row | {"answer": "5"}, row | {"answer": "4"}])])
    assert "one annotator gives two different answers to 1 item" in report.files[0].warnings[0]
    assert p_hats(unanswered)["q2"] == 0.5


def test_a_record_without_an_id_is_known_by_its_prompt(unanswered: Project, tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["Prompt", "Answer"], [" 3+3=?\r\n", "6"]])
    report = unanswered.ingest([path], annotator="ana")
    assert (report.n("new"), report.changes["annotator"].to_pylist()) == (1, ["ana"])
    assert p_hats(unanswered)["q3"] == 0.25


def test_a_spreadsheet_goes_round(unanswered: Project, tmp_path: Path) -> None:
    made = unanswered.shortlist("50%", audit="0")
    assert made.files is not None
    with made.files.annotators[0].open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        row |= {"answer": str(2 * number_in_prompt(row["prompt"])), "annotator": "bo", "minutes": "1,5"}
    with (tmp_path / "back.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows[:-1])
    report = unanswered.ingest([tmp_path / "back.csv"])
    assert (report.n("new"), report.missing) == (4, [rows[-1]["item_id"]])
    status = unanswered.status()
    (planned, spent) = [row for row in status.ledger if row.kind == "labels"]
    assert (planned.state, planned.items, spent.items, round(spent.hours * 60, 6)) == ("planned", 5, 4, 6.0)
    assert status.labels.annotators[0].median_seconds == 90


def number_in_prompt(prompt: str) -> int:
    return int(prompt.split("+", maxsplit=1)[0].lstrip("'"))


def test_names_can_be_replaced_and_removed(unanswered: Project, tmp_path: Path) -> None:
    items = item_of(unanswered)
    rows = [
        {"item_id": items["q0"], "annotator": "ana@example.org", "answer": "0", "email": "ana@example.org"},
        {"item_id": items["q1"], "annotator": "bo@example.org", "answer": "2"},
    ]
    path = write_labels(tmp_path / "labels.jsonl", rows)
    unanswered.ingest([path])
    unanswered.ingest([path], pseudonyms=True)
    stored = [row.annotator for row in unanswered.status().labels.annotators]
    assert len(stored) == 2
    assert all(name.startswith("annotator-") for name in stored)
    assert b"ana@example" not in b"".join(str(row).encode() for row in everything(unanswered))
    assert unanswered.ingest([path]).n("unchanged") == 2  # from now on, whether asked for or not
    with pytest.raises(LabelError, match="no labels of an annotator 'cy'"):
        unanswered.forget("cy")
    forgotten = unanswered.forget("ana@example.org")
    assert forgotten.n_records == 1
    assert (p_hats(unanswered)["q0"], p_hats(unanswered)["q1"]) == (None, 0.75)
    again = unanswered.ingest([path])
    assert (again.n_removed, p_hats(unanswered)["q0"]) == (1, None)


def everything(project: Project) -> list[Any]:
    with project.store.reading() as connection:
        return [
            connection.execute(f"SELECT COLUMNS(*)::VARCHAR FROM {table}").fetchall() for table in ("label", "ledger")
        ]


def test_without_a_store_there_is_nothing_to_label(tmp_path: Path) -> None:
    path = write_labels(tmp_path / "labels.jsonl", [{"item_id": "bp-00000000000000aa", "answer": "1"}])
    project = Project(db=tmp_path / "none.duckdb")
    with pytest.raises(NothingToDo, match="no store"):
        project.ingest([path])
    assert not (tmp_path / "none.duckdb").exists()


LABELS = [(f"q{n}", who, str(2 * n + (n % 3 == 0 and who == "bo"))) for n in range(6) for who in ("ana", "bo", "cy")]


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_order_and_any_parts_give_the_same_state(
    data: st.DataObject, unanswered: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    without_labels(unanswered)
    items, folder = item_of(unanswered), tmp_path_factory.mktemp("parts")
    rows = [{"item_id": items[name], "annotator": who, "answer": answer} for name, who, answer in LABELS]
    rows += [{"item_id": items["q7"], "annotator": "ana", "status": "skipped"}]
    rows += [{"item_id": items["q8"], "annotator": "bo", "verdict": "ambiguous", "seconds": 5}]
    unanswered.ingest([write_labels(folder / "whole.jsonl", rows)])
    expected = state(unanswered)
    assert len(expected["current"]) == len(rows)
    without_labels(unanswered)
    parts = data.draw(st.lists(st.lists(st.sampled_from(rows), min_size=1, max_size=12), max_size=4))
    for number, part in enumerate(data.draw(st.permutations([*parts, data.draw(st.permutations(rows))]))):
        unanswered.ingest([write_labels(folder / f"{number}.jsonl", part)])
    assert state(unanswered) == expected


def without_labels(project: Project) -> None:
    with project.store.writing() as connection:
        for table in ("label", "label_file", "adjudicated", "answer_group", "gold", "verdict"):
            connection.execute(f"DELETE FROM {table}")
