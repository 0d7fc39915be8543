import importlib.util
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetplan.annotation.landing import landing
from budgetplan.annotation.tools import prodigy
from budgetplan.annotation.tools.content import Content, read_content
from budgetplan.annotation.tools.detection import read_label_file
from budgetplan.annotation.tools.record import Record
from budgetplan.errors import LabelError

FIXTURES = Path(__file__).parents[2] / "fixtures" / "prodigy"
HALF, WHO, SEVEN = (f"bp-{i:016d}" for i in (1, 2, 3))
PROMPTS = ["if x<y & <b>z</b>:\n\tü {{text}}\u2028?", "two"]


@pytest.fixture
def files(tmp_path):
    def write(**columns):
        tasks = pa.table({"item_id": ["bp-2", "bp-1"], "prompt": PROMPTS, **columns})
        with landing(*prodigy.task_files(tmp_path / "my.shortlist")) as unfinished:
            prodigy.write_tasks(tasks, unfinished, "sl-0007")
        return prodigy.task_files(tmp_path / "my.shortlist")

    return write


@pytest.fixture
def recipes(monkeypatch):
    """Recipes by name, as Prodigy's decorator would collect them from a file."""
    found = {}

    def recipe(name, **arguments):
        return lambda function: found.setdefault(name, function)

    monkeypatch.setitem(sys.modules, "prodigy", SimpleNamespace(recipe=recipe))

    def load(path):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
        return found

    return load


def tasks_in(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def content_of(*values):
    return Content(Path("labels.jsonl"), "json-lines", [Record(i, value) for i, value in enumerate(values, 1)], [])


def accepted(**values):
    return {"text": "p", "item_id": "bp-1", "answer": "accept", **values}


def read_one(**values):
    (row,) = prodigy.read_labels(content_of(accepted(**values))).labels.to_pylist()
    return row


def said(file):
    names = ("item_id", "annotator", "answer", "verdict", "status", "seconds")
    return [tuple(row[name] for name in names) for row in file.labels.to_pylist()]


def test_tasks_are_one_a_line_in_order_and_as_they_were_written(files):
    recipe, path = files()
    assert (recipe.name, path.name) == ("my.shortlist.prodigy.py", "my.shortlist.prodigy.jsonl")
    tasks = tasks_in(path)
    assert [task["text"] for task in tasks] == PROMPTS
    assert [task["item_id"] for task in tasks] == ["bp-2", "bp-1"]
    assert [option["id"] for option in tasks[0]["options"]] == ["ok", "ambiguous", "unanswerable"]
    assert set(tasks[0]) == {"text", "options", "item_id", "shortlist_id"}


def test_a_models_answer_is_shown_only_where_there_is_one(files):
    tasks = tasks_in(files(model_answer=["<72>", None])[1])
    assert [list(task["meta"].values()) for task in tasks] == [["<72>"], [""]]


def test_the_recipe_shows_the_tasks_beside_it(files, recipes):
    recipe, path = files()
    assert f"prodigy budgetplan DATASET -F {recipe} " in prodigy.HOW_TO_OPEN.format(file=recipe)
    parts = recipes(recipe)["budgetplan"]("math-2")
    assert parts["dataset"] == "math-2"
    assert parts["stream"] == [{**task, "prodigy_dataset": "math-2"} for task in tasks_in(path)]
    blocks = parts["config"]["blocks"]
    assert (parts["view_id"], [block["view_id"] for block in blocks]) == ("blocks", ["text", "text_input", "choice"])


def test_what_the_recipe_collects_is_read_back(files, recipes, tmp_path):
    parts = recipes(files()[0])["budgetplan"]("math-2")
    field = parts["config"]["blocks"][1]["field_id"]
    labels = [
        {**task, field: "72", "accept": ["ok"], "answer": "accept", "_session_id": "math-2-ana"}
        for task in parts["stream"]
    ]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(label) + "\n" for label in labels))
    read = read_label_file(tmp_path / "labels.jsonl")
    assert read.tool == "prodigy"
    assert said(read) == [(item_id, "ana", "72", "ok", "submitted", None) for item_id in ("bp-2", "bp-1")]
    assert (read.bad, read.n_blank, read.warnings) == ([], 0, [])


def test_tasks_that_came_back_as_they_went_are_blank(files):
    read = read_label_file(files()[1])
    assert (read.tool, len(read.labels), read.n_blank, read.bad, read.warnings) == ("prodigy", 0, 2, [], [])


def test_an_export_is_read_exactly():
    read = prodigy.read_labels(read_content(FIXTURES / "labels.jsonl"))
    assert said(read) == [
        (HALF, "ana-maria", "1/2", "ok", "submitted", None),
        (WHO, "ana-maria", None, "unanswerable", "submitted", 41.0),
        (HALF, "bo", "0.50", None, "submitted", None),
        (WHO, "bo", None, None, "skipped", 5.0),
        (SEVEN, "bo", None, None, "rejected", None),  # after an hour's break
    ]
    assert read.labels["labeled_at"][0].as_py() == datetime(2024, 2, 6, 9, 17, 29, tzinfo=UTC)
    assert set(read.labels["shortlist_id"].to_pylist()) == {"sl-0007"}
    assert read.labels["native_id"].null_count == 5
    assert json.loads(read.labels["raw"][3].as_py())["answer_text"] == "half typed"
    assert (read.bad, read.n_blank, read.warnings) == ([], 0, [])


def test_an_old_export_without_ids_brings_the_prompts_and_one_warning():
    read = read_label_file(FIXTURES / "old.jsonl")
    assert read.tool == "prodigy"
    assert said(read) == [(None, None, "1/2", None, "submitted", None), (None, None, None, None, "rejected", None)]
    assert read.labels["prompt"].to_pylist() == ["What is half of one?", "What is half of two?"]
    assert read.labels["labeled_at"].null_count == 2
    assert read.warnings == ["2 records carry no item_id: their items are looked up by the text of the prompt."]


@pytest.mark.parametrize(
    ("values", "answer", "verdict"),
    [
        ({"answer_text": "007"}, "007", None),
        ({"user_input": "3,5", "accept": ["ok"]}, "3,5", "ok"),
        ({"accept": ["B"], "options": [{"id": "A"}, {"id": "B"}], "user_input": "a comment"}, "B", None),
        ({"accept": [2], "options": [{"id": 1}, {"id": 2}]}, "2", None),
        ({"accept": ["ok"], "options": [{"id": "ok"}, {"id": "nok"}]}, "ok", None),
        ({"accept": ["ambiguous"], "options": [{"id": "ok"}, {"id": "ambiguous"}]}, None, "ambiguous"),
        ({"label": "unanswerable"}, None, "unanswerable"),
        ({"label": "72"}, "72", None),
    ],
)
def test_options_are_the_verdict_where_they_are_verdicts_and_else_the_answer(values, answer, verdict):
    row = read_one(**values)
    assert (row["answer"], row["verdict"]) == (answer, verdict)


@pytest.mark.parametrize(
    ("values", "annotator"),
    [
        ({"_annotator_id": "m-ana", "_session_id": "m-ana", "prodigy_dataset": "m"}, "ana"),
        ({"_annotator_id": "m-ana", "_session_id": "ana"}, "ana"),
        ({"_annotator_id": "m-ana", "_session_id": "m-ana"}, "m-ana"),
        ({"_session_id": "m-ana"}, "m-ana"),
        ({"_annotator_id": "2024-02-06_10-17-19", "_session_id": "2024-02-06_10-17-19"}, None),
        ({"_annotator_id": "m-2024-02-06_10-17-19", "prodigy_dataset": "m"}, None),
        ({}, None),
    ],
)
def test_the_annotator_is_named_without_the_dataset(values, annotator):
    assert read_one(answer_text="7", **values)["annotator"] == annotator


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (accepted(answer="maybe"), 'answer "maybe" is not one of accept, reject, ignore'),
        (accepted(accept=["ok", "ambiguous"]), "ok and ambiguous are chosen at once"),
        (accepted(_timestamp="soon", answer_text="7"), 'time "soon" is not'),
        ({"item_id": "12", "answer": "accept"}, "neither an item_id that begins with bp- nor a text"),
    ],
)
def test_a_record_that_cannot_be_read_is_named_and_the_others_are_read(record, reason):
    read = prodigy.read_labels(content_of(record, accepted(answer_text="8")))
    ((bad),) = read.bad
    assert bad.place == 1
    assert bad.reason.startswith(reason)
    assert read.labels["answer"].to_pylist() == ["8"]


def test_answers_in_a_field_of_another_name_are_missed_aloud():
    read = prodigy.read_labels(content_of(accepted(solution="72"), accepted(solution="73")))
    assert read.n_blank == 2
    assert read.warnings[0].startswith("none of 2 accepted records has an answer in answer_text")


def test_it_recognises_its_own_alone():
    assert not prodigy.recognises(content_of({"item_id": "bp-1", "prompt": "p", "answer": "accept"}))
    assert not prodigy.recognises(content_of({"id": 1, "data": {}, "annotations": []}))
    assert prodigy.recognises(content_of({"text": "p", "answer": "ignore"}))
    with pytest.raises(LabelError, match=r"this is table, not JSON Lines"):
        prodigy.read_labels(Content(Path("labels.csv"), "table", [], []))


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5000)), max_size=8),
    st.randoms(use_true_random=False),
)
def test_seconds_follow_from_the_times_whatever_the_order_and_the_copies(moments, random):
    records = [accepted(answer_text="7", _session_id=session, _timestamp=time) for session, time in moments]
    shuffled = records * 2
    random.shuffle(shuffled)
    timed = {
        (row["annotator"], row["labeled_at"]): row["seconds"]
        for row in prodigy.read_labels(content_of(*shuffled)).labels.to_pylist()
    }
    for row in prodigy.read_labels(content_of(*records)).labels.to_pylist():
        seconds = row["seconds"]
        assert timed[row["annotator"], row["labeled_at"]] == seconds
        earlier = [time for session, time in moments if session == row["annotator"]]
        now = row["labeled_at"].timestamp()
        gap = min((now - time for time in earlier if time < now), default=None)
        assert seconds == (gap if gap is not None and gap <= prodigy.BREAK_SECONDS else None)
