"""Label files that are hostile, awkward or broken, and ingests that are stopped half way."""

import csv
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from scripted import reply
from typer.testing import CliRunner, Result

from budgetplan import LabelError, Project
from budgetplan.annotation.formulas import guarded
from budgetplan.cli import app
from budgetplan.errors import StoreLocked
from budgetplan.records import Completion, SampleRequest
from budgetplan.steps import adjudicate, ingest, people
from budgetplan.store import connection as store_connection

Write = Callable[..., Path]
Run = Callable[..., Result]

NASTY = [
    "=cmd|'/c calc'!A1",
    "@SUM(1+1)",
    "-1+1",
    "'=already quoted",
    "<script>alert(1)</script> 1 < 2",
    "</Text><Choices name='x'/>{{ 7*7 }}",
    'said "so", then;\n\n  left',
    "[red]bold[/red] [link=x]",
    "+49 30 0012",
]
ESCAPE = "\x1b[2J"


@pytest.fixture
def asked(project: Project, write_pool: Write, scripted: Any, monkeypatch: Any, tmp_path: Path) -> Project:
    """Prompts that a spreadsheet or a browser would run, and three sums, probed; the model always says 4."""

    def four(request: SampleRequest, index: int) -> Completion:
        return reply(request, index, "The answer is 4.")

    scripted(four)
    project.probe(write_pool([{"id": f"q{n}", "question": text} for n, text in enumerate([*NASTY, *"678"])]))
    monkeypatch.chdir(tmp_path)
    return project


@pytest.fixture
def budgetplan(asked: Project, monkeypatch: Any) -> Run:
    """Type a command on the same store."""

    def typed(command: str, *words: str | Path) -> Result:
        line = [command, *map(str, words), "--db", str(asked.store.path)]
        monkeypatch.setattr("sys.argv", ["budgetplan", *line])
        return CliRunner().invoke(app, line, env={"COLUMNS": "400"})

    return typed


def items_of(project: Project) -> dict[str, str]:
    """Item ids by the user's ids."""
    return {row["id"]: row["item_id"] for row in project.rank().table.to_pylist()}


def label(item_id: str, answer: str = "4", annotator: str | None = "ana", **more: Any) -> dict[str, Any]:
    return {"item_id": item_id, "annotator": annotator, "answer": answer, **more}


def write_labels(name: str, *rows: dict[str, Any]) -> Path:
    path = Path(name)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def history(project: Project) -> set[tuple[Any, ...]]:
    """Every record that is stored, under its place in the order of arrival."""
    with project.store.reading() as connection:
        return set(connection.execute("SELECT COLUMNS(*)::VARCHAR FROM label").fetchall())


def said(project: Project) -> dict[tuple[str, str], str | None]:
    with project.store.reading() as connection:
        rows = connection.execute("SELECT item_id, annotator, answer FROM current_label").fetchall()
    return {(item_id, annotator): answer for item_id, annotator, answer in rows}


def follows(project: Project) -> list[Any]:
    """What was decided, and what that made of the samples; read as it lies, without finishing anything."""
    with project.store.reading() as connection:
        return [
            connection.execute(query).fetchall()
            for query in (
                "FROM adjudicated ORDER BY ALL",
                "FROM answer_group ORDER BY ALL",
                "SELECT item_id, answer, source FROM gold ORDER BY ALL",
                "SELECT item_id, sample_index, outcome::VARCHAR FROM verdict SEMI JOIN probe_run "
                "ON probe_run.verdicts_by = verdict.verifier ORDER BY ALL",
            )
        ]


# What comes back is what went out.


@pytest.mark.parametrize("by_program", [False, True], ids=["typed", "written with care"])
def test_formulas_and_html_go_round_a_spreadsheet_unchanged(asked: Project, by_program: bool) -> None:
    made = asked.shortlist("100%", audit="0")
    assert made.files is not None
    with made.files.annotators[0].open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert not [row["prompt"] for row in rows if row["prompt"].startswith(tuple("=+-@\t\r"))]
    answers = [text for text in NASTY if by_program or not text.startswith("'")]
    answers += ["4"] * (len(rows) - len(answers))
    cells = guarded(pa.array(answers)).to_pylist() if by_program else answers
    with Path("back.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["prompt", "answer"])  # no item_id: each is known by its prompt alone
        writer.writerows([row["prompt"], cell] for row, cell in zip(rows, cells, strict=True))
    report = asked.ingest(["back.csv"], annotator="ana")
    assert (report.unknown, report.missing, report.n("new")) == ([], [], len(rows))
    assert said(asked) == {(row["item_id"], "ana"): text for row, text in zip(rows, answers, strict=True)}
    asked.export("trl", out="train.jsonl")
    exported = [json.loads(line) for line in Path("train.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sorted(row["answer"] for row in exported) == sorted(answers)
    assert {row["prompt"][0]["content"] for row in exported} == {*NASTY, *"678"}


def test_what_annotators_wrote_is_shown_as_text(asked: Project, budgetplan: Run) -> None:
    item = items_of(asked)["q0"]
    answers = {"ana": "[red]x[/red]", "bo": f"<b>{ESCAPE}</b>", "cy": "9" * 5000}
    asked.ingest([write_labels("labels.jsonl", *(label(item, text, who) for who, text in answers.items()))])
    shown = budgetplan("status", "--disagreements").stdout
    assert "ana: [red]x[/red]; bo: <b>" in shown
    assert "\x1b" not in shown
    assert "(5,000 characters)" in shown
    assert len(shown) < 4000
    (one,) = json.loads(budgetplan("status", "--disagreements", "--json").stdout)["disagreements"]
    assert one["said"] == answers


def test_an_answer_of_a_megabyte_is_stored_whole(asked: Project) -> None:
    items, long = items_of(asked), "why " * 2**18 + "end"
    asked.ingest([write_labels("long.jsonl", label(items["q0"], long), label(items["q0"], "4", "bo"))])
    with Path("long.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["item_id", "answer", "annotator"], [items["q1"], long, "ana"]])
    asked.ingest(["long.csv"])
    assert said(asked) == {
        (items["q0"], "ana"): long,
        (items["q0"], "bo"): "4",
        (items["q1"], "ana"): long,
    }
    assert [(one.item_id, one.state) for one in asked.disagreements()] == [(items["q0"], "tied")]


# What does not belong here.


def test_another_projects_file_is_refused_and_a_few_strangers_are_left_out(asked: Project, budgetplan: Run) -> None:
    stranger = label("bp-00000000000000aa")
    refused = budgetplan("ingest", write_labels("other.jsonl", stranger))
    assert refused.exit_code == 1
    assert "not one of its labels (1) is for an item of this store" in refused.stderr
    assert "--db" in refused.stderr
    assert history(asked) == set()
    taken = budgetplan("ingest", write_labels("mixed.jsonl", label(items_of(asked)["q0"]), stranger))
    assert taken.exit_code == 0
    assert "the first: mixed.jsonl:2, bp-00000000000000aa" in taken.stderr
    assert len(history(asked)) == 1


def test_labels_that_nobody_asked_for_are_taken_and_named(asked: Project, budgetplan: Run) -> None:
    made = asked.shortlist("1 items", audit="0")
    (out,) = made.table["item_id"].to_pylist()
    other = next(item_id for item_id in items_of(asked).values() if item_id != out)
    result = budgetplan("ingest", write_labels("labels.jsonl", label(out), label(other)))
    assert result.exit_code == 0
    assert f"1 labelled items were on no shortlist ({other} …); they were taken." in result.stderr
    assert set(said(asked)) == {(out, "ana"), (other, "ana")}


HALF = {
    "tasks.json": """[{"data": {"item_id": "%(q0)s", "prompt": "p"}, "id": 1, "annotations": [
  {"id": 1, "completed_by": 1, "was_cancelled": false, "result": [
    {"from_name": "answer", "to_name": "question", "type": "textarea", "value": {"text": ["4"]}}]}]},
 {"data": {"item_id": "%(q1)s", "prompt": "p"}, "id": 2, "annot""",
    "labels.json": """[{"item_id": "%(q0)s", "answer": "4"},\n {"item_id": "%(q1)s", "ans""",
    "labels.jsonl": """{"item_id": "%(q0)s", "answer": "4"}\n{"item_id": "%(q1)s", "answ""",
    "quote.csv": """item_id,answer\n%(q0)s,4\n%(q1)s,"5""",
    "row.csv": """item_id,answer\n%(q0)s,4\n%(q1)s""",
}


@pytest.mark.parametrize("name", HALF)
def test_a_half_written_file_goes_in_only_as_far_as_the_user_says(asked: Project, budgetplan: Run, name: str) -> None:
    items = items_of(asked)
    Path(name).write_text(HALF[name] % items, encoding="utf-8")
    place = 3 if name.endswith(".csv") else 2
    refused = budgetplan("ingest", name)
    assert refused.exit_code == 1
    assert f"1 record cannot be read, and nothing was stored: {name}:{place}: " in refused.stderr
    assert "--skip-bad" in refused.stderr
    assert history(asked) == set()
    taken = budgetplan("ingest", name, "--skip-bad")
    assert taken.exit_code == 0
    assert f"{name}:{place} left out: " in taken.stderr
    assert [(item, answer) for (item, _), answer in said(asked).items()] == [(items["q0"], "4")]


def test_of_two_files_both_go_in_or_neither(asked: Project) -> None:
    items = items_of(asked)
    good, bad = write_labels("good.jsonl", label(items["q0"])), Path("bad.jsonl")
    bad.write_text(json.dumps(label(items["q1"])) + '\n{"item_id":')
    with pytest.raises(LabelError, match=r"bad\.jsonl:2"):
        asked.ingest([good, bad])
    assert history(asked) == set()
    both = asked.ingest([good, write_labels("more.jsonl", label(items["q1"]), label(items["q0"]))])
    assert (both.n("new"), [file.n_labels for file in both.files]) == (2, [1, 2])


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("labels.xlsx", b"PK\x03\x04\x14\x00\x06\x00", "Save the sheet as CSV UTF-8"),
        ("labels.csv", b"", "Export the labels again."),
        ("labels.html", b"<html><body>Log in</body></html>", "Log in to the tool"),
        ("folder", None, "a folder that Argilla's to_disk wrote"),
        ("missing.json", None, "Name a file that an annotation tool wrote."),
    ],
)
def test_what_is_no_label_file_is_refused_with_the_way_on(
    asked: Project, budgetplan: Run, name: str, content: bytes | None, hint: str
) -> None:
    if content is not None:
        Path(name).write_bytes(content)
    elif name == "folder":
        Path(name).mkdir()
    refused = budgetplan("ingest", name)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert f"error: {name}: " in refused.stderr
    assert hint in refused.stderr
    assert history(asked) == set()


# Whose labels they are.


def test_a_file_that_names_nobody_is_its_own_annotators_under_any_name(asked: Project, budgetplan: Run) -> None:
    item = items_of(asked)["q0"]
    first = write_labels("monday.jsonl", label(item, annotator=None), label(items_of(asked)["q1"], annotator="bo"))
    shown = budgetplan("ingest", first)
    assert "warning: 1 labels do not say who gave them; they count as given by 'monday'." in shown.stderr
    assert "budgetplan forget monday" in shown.stderr
    before = history(asked)
    copy = first.rename("monday (1).jsonl")
    assert asked.ingest([copy]).n("unchanged") == 2
    assert history(asked) == before
    assert {annotator for _, annotator in said(asked)} == {"monday", "bo"}


def test_the_user_can_say_whose_labels_they_are(asked: Project, budgetplan: Run) -> None:
    items = items_of(asked)
    path = write_labels("labels.jsonl", label(items["q0"], annotator=None), label(items["q1"], annotator="bo"))
    shown = budgetplan("ingest", path, "--annotator", "cy")
    assert "do not say who" not in shown.stderr
    assert set(said(asked)) == {(items["q0"], "cy"), (items["q1"], "bo")}


# Stopped half way.


@contextmanager
def held_by_another_process(path: Path, *, read_only: bool) -> Iterator[int]:
    code = (
        f"import duckdb, sys; c = duckdb.connect({str(path)!r}, read_only={read_only}); "
        "print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        yield holder.pid
        holder.communicate()


@pytest.mark.parametrize("read_only", [False, True], ids=["written", "read"])
def test_a_store_in_use_takes_nothing_and_later_everything(
    asked: Project, budgetplan: Run, monkeypatch: Any, read_only: bool
) -> None:
    path = write_labels("labels.jsonl", label(items_of(asked)["q0"]))
    monkeypatch.setattr(store_connection, "LOCK_PATIENCE_SECONDS", 0.2)
    with held_by_another_process(asked.store.path, read_only=read_only) as pid:
        with pytest.raises(StoreLocked, match=f"PID {pid}"):
            asked.ingest([path])
        refused = budgetplan("ingest", path)
        assert refused.exit_code == 1
        assert "in use by another process" in refused.stderr
    assert history(asked) == set()
    assert asked.ingest([path]).n("new") == 1


class Killed(BaseException):
    """The process ended here."""


def killed(*_: Any, **__: Any) -> None:
    raise Killed


@pytest.fixture
def disagreed(asked: Project) -> Path:
    """Labels that agree, that agree in other words, and that do not."""
    items = items_of(asked)
    return write_labels(
        "labels.jsonl",
        label(items["q9"], "4"),
        label(items["q10"], "4"),
        label(items["q10"], "4.0", "bo"),
        label(items["q11"], "4"),
        label(items["q11"], "5", "bo"),
    )


STEPS = {
    "ingest": lambda project: project.ingest(["labels.jsonl"]),
    "rank": lambda project: project.rank(),
    "status": lambda project: project.status(),
    "disagreements": lambda project: project.disagreements(),
    "shortlist": lambda project: project.shortlist("1 items"),
    "another look": lambda project: project.look_again(),
    "export": lambda project: project.export("trl", out="train.jsonl"),
}


@pytest.mark.parametrize("step", STEPS)
def test_what_a_killed_ingest_did_not_decide_the_next_step_decides(
    asked: Project, disagreed: Path, monkeypatch: Any, step: str
) -> None:
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(ingest, "adjudicate_labels", killed)
        asked.ingest([disagreed])
    assert len(history(asked)) == 5
    assert follows(asked)[0] == []
    STEPS[step](asked)
    interrupted = follows(asked)
    without_what_follows(asked)
    asked.ingest([disagreed])
    assert interrupted == follows(asked)
    assert asked.status().labels.states == {"agreed": 2, "tied": 1}
    assert len(history(asked)) == 5


def without_what_follows(project: Project) -> None:
    with project.store.writing() as connection:
        for table in ("adjudicated", "answer_group", "gold", "verdict"):
            connection.execute(f"DELETE FROM {table}")


@pytest.mark.parametrize("step", ["ingest", "rank", "shortlist", "export"])
def test_what_was_decided_but_not_judged_the_next_step_judges(
    asked: Project, disagreed: Path, monkeypatch: Any, step: str
) -> None:
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(adjudicate, "_judge_again", killed)
        asked.ingest([disagreed])
    STEPS[step](asked)
    found = {row["id"]: row["p_hat"] for row in asked.rank().table.to_pylist()}
    assert {name: found[name] for name in ("q8", "q9", "q10", "q11")} == {"q8": None, "q9": 1, "q10": 1, "q11": None}


def test_names_that_a_killed_command_did_not_replace_the_next_ingest_replaces(
    asked: Project, disagreed: Path, monkeypatch: Any
) -> None:
    asked.ingest([disagreed])
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(people, "rename_annotators", killed)
        asked.ingest([disagreed], pseudonyms=True)
    report = asked.ingest([disagreed])
    assert report.n("unchanged") == 5
    assert len(history(asked)) == 5
    assert all(annotator.startswith("annotator-") for _, annotator in said(asked))


def test_replacing_known_answers_can_be_asked_for_afterwards(
    project: Project, sums: Path, scripted: Any, monkeypatch: Any, tmp_path: Path
) -> None:
    scripted(lambda request, index: reply(request, index, "The answer is 5."))
    project.probe(sums)
    monkeypatch.chdir(tmp_path)
    items = items_of(project)
    path = write_labels("labels.jsonl", label(items["q2"], "5"))
    others = write_labels("others.jsonl", label(items["q3"], "5"))
    project.ingest([path, others])
    assert len(project.disagreements()) == 2
    project.ingest([path], replace_known=True)
    assert [item.item_id for item in project.disagreements()] == [items["q3"]]  # of the files named, no others
    assert {row["id"]: row["p_hat"] for row in project.rank().table.to_pylist()}["q2"] == 1.0


def test_labels_for_an_older_run_leave_the_last_used_run_the_last_used(
    project: Project, sums: Path, write_pool: Write, scripted: Any, monkeypatch: Any, tmp_path: Path
) -> None:
    scripted(lambda request, index: reply(request, index, "The answer is 5."))
    monkeypatch.chdir(tmp_path)
    project.probe(write_pool([{"question": "2+3=?"}], "first.jsonl"))
    (item,) = project.rank().table["item_id"].to_pylist()
    Project(db=project.store.path, model="other", engine="transformers", template="none", k=4).probe(sums)
    before = project.status().runs[0].run.run_id
    assert project.ingest([write_labels("labels.jsonl", label(item, "5"))]).rescored.n_runs == 1
    assert project.status().runs[0].run.run_id == before


# What is stored stays.


def test_the_history_only_grows_until_someone_is_forgotten(asked: Project) -> None:
    items = items_of(asked)
    files = [
        write_labels("1.jsonl", label(items["q0"], "4"), label(items["q1"], "4")),
        write_labels("2.jsonl", label(items["q0"], "5"), label(items["q1"], status="skipped")),
        write_labels("3.jsonl", label(items["q0"], "6", labeled_at="2020-01-01T00:00:00Z")),
        write_labels("4.jsonl", label(items["q0"], "4", "bo", verdict="ambiguous"), label("bp-00000000000000aa")),
        write_labels("5.jsonl", label(items["q0"], "5", shortlist_id="sl-9999"), label(items["q0"], "7")),
        write_labels("6.jsonl", label(items["q0"], "4", status="rejected"), {"item_id": "q0"}),
    ]
    before: set[tuple[Any, ...]] = set()
    for path in [*files, *reversed(files)]:
        asked.ingest([path], skip_bad=True, replace_known=True)
        assert before <= history(asked)
        before = history(asked)
    asked.rank()
    asked.status()
    assert history(asked) == before
    asked.forget("bo")
    assert before - history(asked) == {row for row in before if row[1] == "bo"}
    assert len(history(asked)) == len(before) - 1
