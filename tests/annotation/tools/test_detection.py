import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from budgetplan.annotation.landing import landing
from budgetplan.annotation.tools.detection import TOOLS, read_label_file
from budgetplan.errors import LabelError

TASKS = pa.table({"item_id": ["bp-0", "bp-1"], "prompt": ["=cmd()", 'two\nlines, "\u00fc"']})

LABEL_STUDIO = {
    "id": 87,
    "data": {"item_id": "bp-9f3c", "prompt": "q"},
    "annotations": [
        {
            "id": 22,
            "completed_by": 1,
            "was_cancelled": False,
            "created_at": "2024-01-30T02:40:43.893565Z",
            "lead_time": 8.65,
            "result": [{"from_name": "answer", "to_name": "question", "type": "textarea", "value": {"text": ["72"]}}],
        }
    ],
}
LABEL_STUDIO_MIN = {
    "item_id": "bp-9f3c",
    "prompt": "q",
    "shortlist_id": "sl-0007",
    "id": 41,
    "answer": "72",
    "verdict": "ok",
    "annotator": 1,
    "annotation_id": 7,
    "created_at": "2024-01-30T02:40:43.893565Z",
    "updated_at": "2024-01-30T02:40:43.893565Z",
    "lead_time": 61.2,
}
ARGILLA = {
    "id": "bp-9f3c",
    "fields": {"prompt": "q"},
    "metadata": {},
    "suggestions": {},
    "responses": {"answer": [{"value": "72", "user_id": "5f1a", "status": "submitted"}]},
    "vectors": {},
    "_server_id": "1",
}
ARGILLA_FLAT = {
    "id": "bp-9f3c",
    "prompt": "q",
    "answer.responses": ["72"],
    "answer.responses.users": ["5f1a"],
    "answer.responses.status": ["submitted"],
}
PRODIGY = {
    "text": "q",
    "item_id": "bp-9f3c",
    "user_input": "72",
    "options": [{"id": "ok", "text": "ok"}],
    "accept": ["ok"],
    "_input_hash": 1,
    "_task_hash": 2,
    "_view_id": "blocks",
    "answer": "accept",
    "_timestamp": 1707211049,
    "_annotator_id": "math-ana",
    "_session_id": "math-ana",
}
PLAIN = {"item_id": "bp-9f3c", "annotator": "ana", "answer": "72"}


def comma(value):
    return ",".join(value) + "\n" + ",".join(str(cell) for cell in value.values()) + "\n"


EXPORTS = {
    "label-studio json": ("label-studio", json.dumps([LABEL_STUDIO])),
    "label-studio min": ("label-studio", json.dumps([LABEL_STUDIO_MIN])),
    "label-studio csv": ("label-studio", comma(LABEL_STUDIO_MIN)),
    "label-studio tsv": ("label-studio", comma(LABEL_STUDIO_MIN).replace(",", "\t")),
    "argilla": ("argilla", json.dumps([ARGILLA])),
    "argilla flat": ("argilla", json.dumps(ARGILLA_FLAT)),
    "prodigy": ("prodigy", json.dumps(PRODIGY)),
    "spreadsheet": ("spreadsheet", comma(PLAIN)),
    "spreadsheet of Excel": ("spreadsheet", "\ufeff" + comma(PLAIN).replace(",", ";").replace("item_id", "Item ID")),
    "jsonl": ("jsonl", json.dumps(PLAIN) + "\n" + json.dumps(PLAIN)),
    "jsonl as an array": ("jsonl", json.dumps([PLAIN])),
}


@pytest.fixture
def labels(tmp_path):
    def write(text):
        (tmp_path / "labels").write_text(text, encoding="utf-8", newline="")
        return tmp_path / "labels"

    return write


@pytest.mark.parametrize("name", EXPORTS)
def test_each_export_is_known_by_its_content_and_read_the_same_when_asked_for(labels, name):
    tool, text = EXPORTS[name]
    path = labels(text)
    file = read_label_file(path)
    assert (file.tool, file.bad) == (tool, [])
    assert set(file.labels["item_id"].to_pylist()) == {"bp-9f3c"}
    assert set(file.labels["answer"].to_pylist()) == {"72"}
    assert read_label_file(path, tool).labels.equals(file.labels)


def test_parquet_is_known_too(tmp_path):
    pq.write_table(pa.Table.from_pylist([PLAIN]), tmp_path / "labels.json")
    file = read_label_file(tmp_path / "labels.json")
    assert (file.tool, file.labels["answer"].to_pylist()) == ("parquet", ["72"])


def test_the_format_that_is_asked_for_is_used(labels):
    path = labels(comma(LABEL_STUDIO_MIN))
    file = read_label_file(path, "spreadsheet")
    assert (file.tool, file.labels["answer"].to_pylist(), file.labels["native_id"].to_pylist()) == (
        "spreadsheet",
        ["72"],
        [None],
    )


def test_a_format_that_nobody_knows(labels):
    with pytest.raises(LabelError, match='no format is called "excel"') as caught:
        read_label_file(labels(comma(PLAIN)), "excel")
    assert "spreadsheet" in caught.value.hint


@pytest.mark.parametrize("text", ["rank,prompt,p_hat\n1,q,0\n", '[{"rank": 1, "prompt": "q", "p_hat": 0}]'])
def test_a_file_of_something_else_names_its_keys_and_the_formats(labels, text):
    with pytest.raises(LabelError, match=r"labels: .* p_hat, prompt, rank\.") as caught:
        read_label_file(labels(text))
    assert all(name in caught.value.hint for name in TOOLS)


def test_many_keys_are_cut_short(labels):
    with pytest.raises(LabelError, match=r"c10, c11, …\."):
        read_label_file(labels(",".join(f"c{place:02}" for place in range(20)) + "\n"))


def test_a_file_without_a_record(labels):
    with pytest.raises(LabelError, match="there are no records"):
        read_label_file(labels("[]"))
    with pytest.raises(LabelError, match="no record can be read: broken JSON at line 1"):
        read_label_file(labels('[{"item_id": "bp-1", '))


def test_every_tool_says_how_to_open_what_it_wrote_and_where(tmp_path):
    assert list(TOOLS) == ["label-studio", "argilla", "prodigy", "spreadsheet", "jsonl", "parquet"]
    for name, tool in TOOLS.items():
        files = tool.task_files(tmp_path / "sl-0007")
        assert files
        assert len(set(files)) == len(files)
        sentence = tool.HOW_TO_OPEN.format(file=files[0])
        assert str(tmp_path / "sl-0007") in sentence
        assert name == tool.NAME


@pytest.mark.parametrize("name", TOOLS)
def test_tasks_of_every_tool_are_written_together(tmp_path, name):
    tool = TOOLS[name]
    paths = tool.task_files(tmp_path / "sl-0007")
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
    with landing(*paths) as files:
        tool.write_tasks(TASKS, files, shortlist_id="sl-0007")
    content = b"".join(path.read_bytes() for path in paths)
    assert all(item_id.encode() in content for item_id in TASKS["item_id"].to_pylist())


def test_a_text_that_is_no_table_is_not_printed_whole(labels):
    with pytest.raises(LabelError) as caught:
        read_label_file(labels("word " * 100_000))
    assert len(str(caught.value)) < 400
