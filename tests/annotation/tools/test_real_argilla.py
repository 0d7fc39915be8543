"""The folder that is written, opened by the real Argilla client; its exports, read back. See install_argilla.sh."""

import json
import os
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

from budgetplan.annotation.landing import landing
from budgetplan.annotation.tools import argilla
from budgetplan.annotation.tools.detection import read_label_file

ROOT = Path(__file__).parents[3]
PYTHON = Path(os.environ.get("BUDGETPLAN_ARGILLA", ROOT / ".venv-argilla")) / "bin" / "python"
ANA, BO = "5f1a0c4e-0000-4000-8000-000000000001", "7a2b1d5f-0000-4000-8000-000000000002"
TASKS = pa.table(
    {
        "item_id": ["bp-0003", "bp-0001", "bp-0002"],
        "prompt": ["if x<y & <script>z</script>:\nü?", "two", "three"],
        "model_answer": ["<72>", None, ""],
    }
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not PYTHON.exists(), reason=f"no Argilla client in {PYTHON.parents[1]}: sh tests/install_argilla.sh VENV"
    ),
]


def response(user, status, **values):
    return {
        "id": user,
        "user_id": user,
        "status": status,
        "values": {question: {"value": value} for question, value in values.items()},
    }


RESPONSES = {
    "bp-0001": [
        response(ANA, "submitted", answer=" 1/2 ", verdict="ok"),
        response(BO, "submitted", answer="007", verdict="ambiguous"),
    ],
    "bp-0002": [response(ANA, "discarded", answer="half typed"), response(BO, "draft", verdict="ok")],
    "bp-0003": [],
}
SUBMITTED = [("bp-0001", ANA, "1/2", "ok", "submitted"), ("bp-0001", BO, "007", "ambiguous", "submitted")]


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """What the client sent when it opened the folder, and the folder of its exports."""
    folder = tmp_path_factory.mktemp("argilla")
    files = argilla.task_files(folder / "shortlist")
    files[0].parent.mkdir(parents=True)
    with landing(*files) as unfinished:
        argilla.write_tasks(TASKS, unfinished, "sl-0007")
    (folder / "responses.json").write_text(json.dumps(RESPONSES))
    client = ROOT / "tests" / "fixtures" / "argilla" / "client.py"
    command = [PYTHON, client, files[-1].parent, folder / "responses.json", folder / "out"]
    run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout), folder / "out"


def said(file):
    names = ("item_id", "annotator", "answer", "verdict", "status")
    return [tuple(row[name] for name in names) for row in file.labels.to_pylist()]


def test_the_client_makes_the_dataset_that_was_written(opened):
    sent, _ = opened
    assert [dataset["name"] for dataset in sent["datasets"]] == ["sl-0007"]
    assert [(field["name"], field["required"]) for field in sent["fields"]] == [
        ("prompt", True),
        ("model_answer", False),
    ]
    assert [(question["name"], question["settings"]["type"]) for question in sent["questions"]] == [
        ("answer", "text"),
        ("verdict", "label_selection"),
    ]
    assert [option["value"] for option in sent["questions"][1]["settings"]["options"]] == [
        "ok",
        "ambiguous",
        "unanswerable",
    ]
    assert [(one["name"], one["visible_for_annotators"]) for one in sent["metadata-properties"]] == [
        ("shortlist_id", False)
    ]


def test_the_ids_and_texts_arrive_in_order(opened):
    sent, _ = opened
    assert [record["external_id"] for record in sent["records"]] == TASKS["item_id"].to_pylist()
    assert [record["fields"].get("model_answer") for record in sent["records"]] == ["&lt;72&gt;", None, ""]
    assert sent["records"][0]["fields"]["prompt"] == "if x&lt;y &amp; &lt;script&gt;z&lt;/script&gt;:\nü?"
    assert {record["metadata"]["shortlist_id"] for record in sent["records"]} == {"sl-0007"}


@pytest.mark.parametrize("name", ["flat.json", "flat.jsonl", "flat.parquet"])
def test_a_flattened_export_is_read_back_exactly(opened, name):
    read = read_label_file(opened[1] / name)
    assert (read.tool, said(read)) == ("argilla", [*SUBMITTED, ("bp-0002", ANA, None, None, "skipped")])
    assert (read.n_blank, read.bad, read.warnings) == (2, [], [])
    assert set(read.labels["shortlist_id"].to_pylist()) == {"sl-0007"}


def test_an_exported_folder_is_read_back_with_a_warning(opened):
    read = read_label_file(opened[1] / "folder")
    assert (read.tool, said(read)) == ("argilla", [*SUBMITTED, ("bp-0002", ANA, "half typed", None, "submitted")])
    assert (read.n_blank, read.bad) == (2, [])
    assert read.warnings[0].startswith("3 responses come without a status")
