"""Out and back through a real Label Studio: see install_label_studio.sh."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from label_studio_server import Account, LabelProject, form, label_studio, label_studio_or_skip, open_shortlist

from budgetplan.annotation.landing import landing
from budgetplan.annotation.tools import label_studio as tool
from budgetplan.annotation.tools.content import read_content
from budgetplan.annotation.tools.label_file import LabelFile

pytestmark = pytest.mark.slow

NASTY = [
    "<script>alert(1)</script><img src=x onerror=alert(2)> is 1 < 2 & 3 > 2?",
    "</Text><Choices name='x'/>{{ 7*7 }} $prompt %s \\n \\u0041",
    "=cmd|'/c calc'!A1",
    "@SUM(1+1)\t+1 -1",
    'He said "hi", then; left\n\n  - one\n  - two\r\nend',
    "  spaces around, and\u00a0a hard one  ",
    "e\u0301 and é, 数学の問題, שלום, 👩‍👩‍👧, \u202eevil, x²≤½",
    "https://example.com/?a=1&b=2",
    "s3://bucket/key.txt",
    '{"text": ["a", "b"]}',
    "0012",
    "null",
    "question " * 20_000,
]
PROMPTS = [*NASTY, *(f"What is {number} + {number}?" for number in range(36 - len(NASTY)))]
ANSWERS = [
    "72",
    "1/2",
    "007",
    "0.50",
    "3,5",
    "=1+1",
    "-4",
    "[1, 2]",
    '["a", "b"]',
    '{"a": 1}',
    'first\nsecond "line", <b>bold</b>',
    "½ é 数 👩‍👩‍👧",
    "1e3",
    "true",
    "NaN",
]
NOBODYS = 2
"""How many tasks at the end nobody touches."""


@dataclass
class Project:
    """A project on the server, and what was said in it, as the columns that a reader must return."""

    opened: LabelProject
    said: list[dict[str, Any]] = field(default_factory=list)

    def export(self, kind: str, folder: Path, options: str = "") -> LabelFile:
        file = folder / f"export{len(list(folder.iterdir()))}"  # no suffix: the content must tell
        file.write_bytes(self.opened.export(kind, options))
        return read(file)

    def submitted(self) -> list[dict[str, Any]]:
        return [label for label in self.said if label["status"] == "submitted"]


def read(file: Path) -> LabelFile:
    content = read_content(file)
    assert tool.recognises(content)
    return tool.read_labels(content)


def rows_of(labels: LabelFile) -> list[dict[str, Any]]:
    rows = labels.labels.drop(["place", "raw"]).to_pylist()
    return sorted(rows, key=lambda row: int(row["native_id"]))


@pytest.fixture(scope="module")
def owner(tmp_path_factory):
    with label_studio(label_studio_or_skip(), tmp_path_factory.mktemp("label-studio")) as account:
        yield account


def opened(owner: Account, folder: Path, prompts: list[str], **columns: list[str | None]) -> Project:
    """Write a shortlist and open it as a user does."""
    ids = [f"bp-{number:016x}" for number in range(len(prompts))]
    files = tool.task_files(folder / "shortlist")
    with landing(*files) as unfinished:
        tool.write_tasks(pa.table({"item_id": ids, "prompt": prompts, **columns}), unfinished, "sl-0007")
    return Project(open_shortlist(owner, *files))


def annotate(project: Project, who: Account, number: int, answer: str | None, verdict: str | None, skip: bool) -> None:
    task, seconds = project.opened.tasks[number], 1.5 + number / 7
    body = {"result": form(answer, verdict), "lead_time": seconds, "was_cancelled": skip}  # a skip sends the form too
    annotation = who.json("POST", f"/api/tasks/{task['id']}/annotations/", body)
    if number == 1:  # a second thought
        answer = f"{answer}, corrected"
        annotation = who.json("PATCH", f"/api/annotations/{annotation['id']}/", {"result": form(answer, verdict)})
    project.said.append(
        {
            "item_id": task["data"]["item_id"],
            "prompt": task["data"]["prompt"],
            "shortlist_id": "sl-0007",
            "annotator": str(who.json("GET", "/api/current-user/whoami")["id"]),
            "answer": None if skip else answer,
            "verdict": None if skip else verdict,
            "status": "skipped" if skip else "submitted",
            "seconds": seconds,
            "labeled_at": datetime.fromisoformat(annotation["updated_at"]),
            "native_id": str(annotation["id"]),
        }
    )


@pytest.fixture(scope="module")
def project(owner, tmp_path_factory):
    """36 tasks: two annotators, most tasks by both, with skips, disagreements, verdicts, a draft and a prediction."""
    project = opened(owner, tmp_path_factory.mktemp("out"), PROMPTS)
    ana = owner.invite("ana@example.com")
    for number in range(len(PROMPTS) - NOBODYS):
        answer = ANSWERS[number % len(ANSWERS)]
        verdict = [None, "ok", "ok", "ambiguous"][number % 4]
        annotate(project, owner, number, answer, verdict, skip=number % 10 == 3)
        if number % 5 == 4:
            annotate(project, ana, number, None, "unanswerable", skip=False)
        elif number % 9 != 8:
            other = f"not {answer}" if number % 6 == 2 else answer
            annotate(project, ana, number, other, verdict, skip=number % 7 == 5)
    untouched = project.opened.tasks[-1]["id"]
    ana.call("POST", f"/api/tasks/{untouched}/drafts", {"result": form("a draft", "ok"), "lead_time": 5})
    owner.call("POST", "/api/predictions/", {"task": untouched, "result": form("a guess", "ok")})
    return project


def test_every_task_arrives_as_it_was_sent_in_its_order(project):
    sent = [
        {"item_id": f"bp-{number:016x}", "shortlist_id": "sl-0007", "prompt": prompt}
        for number, prompt in enumerate(PROMPTS)
    ]
    assert [task["data"] for task in project.opened.tasks] == sent


def test_json_brings_everything_back(project, tmp_path):
    read_back = project.export("JSON", tmp_path)
    assert rows_of(read_back) == project.said
    assert (read_back.bad, read_back.warnings, read_back.n_blank) == ([], [], 0)
    said = read_back.labels.to_pylist()
    assert {row["status"] for row in said} == {"submitted", "skipped"}
    assert len({row["annotator"] for row in said}) == 2


@pytest.mark.parametrize("kind", ["JSON_MIN", "CSV", "TSV"])
def test_the_flat_exports_bring_everything_but_skips_back(project, tmp_path, kind):
    offered = project.opened.owner.json("GET", f"/api/projects/{project.opened.id}/export/formats")
    assert kind in {one["name"] for one in offered if not one.get("disabled")}
    read_back = project.export(kind, tmp_path)
    assert rows_of(read_back) == project.submitted()
    assert (read_back.bad, read_back.warnings, read_back.n_blank) == ([], [], 0)


@pytest.mark.parametrize("kind", ["JSON", "JSON_MIN", "CSV"])
def test_tasks_that_nobody_annotated_are_blank_and_drafts_and_predictions_no_labels(project, tmp_path, kind):
    read_back = project.export(kind, tmp_path, "&download_all_tasks=true")
    assert read_back.n_blank == NOBODYS
    assert kind != "JSON" or "a draft" in (tmp_path / "export0").read_text(encoding="utf-8")
    assert rows_of(read_back) == (project.said if kind == "JSON" else project.submitted())


def test_a_snapshot_names_annotators_by_e_mail_and_is_otherwise_the_same(project, tmp_path):
    options = {"serialization_options": {"annotations__completed_by": {"only_id": False}}}
    made = project.opened.owner.json("POST", f"/api/projects/{project.opened.id}/exports/", options)
    file = tmp_path / "snapshot.json"
    file.write_bytes(
        project.opened.owner.call("GET", f"/api/projects/{project.opened.id}/exports/{made['id']}/download")
    )
    rows = rows_of(read(file))
    assert {row["annotator"] for row in rows} == {"owner@example.com", "ana@example.com"}
    assert [row | {"annotator": None} for row in rows] == [label | {"annotator": None} for label in project.said]


def test_a_model_answer_is_shown_where_there_is_one(owner, tmp_path):
    project = opened(owner, tmp_path, ["one", "two"], model_answer=["<b>1</b>", None])
    assert [task["data"]["model_answer"] for task in project.opened.tasks] == ["<b>1</b>", ""]
    annotate(project, owner, 0, "1", "ok", skip=False)
    assert rows_of(project.export("CSV", tmp_path)) == project.said
    parsed = owner.json("GET", f"/api/projects/{project.opened.id}")["parsed_label_config"]
    assert {one["value"] for control in parsed.values() for one in control["inputs"]} == {"prompt"}
