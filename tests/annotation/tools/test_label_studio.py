import csv
import io
import json
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.annotation.landing import landing
from budgetplan.annotation.tools import label_studio as tool
from budgetplan.annotation.tools.content import read_content
from budgetplan.errors import LabelError
from budgetplan.records import LABELS_SCHEMA

FIXTURES = Path(__file__).parents[2] / "fixtures" / "label-studio"

BEADS = "A jar holds 3 red and 4 blue beads.\nWhat share is red?"
HEAVY = '<b>Which</b> is "heavier", it or that; say = or +'
PRIMES = "List the primes below 6"
HEAP = "How many grains make a heap?"


def label(native_id, item, prompt, annotator, answer, verdict, seconds, status="submitted"):
    return {
        "item_id": f"bp-00000000000000{item}",
        "prompt": prompt,
        "shortlist_id": "sl-0003",
        "annotator": annotator,
        "answer": answer,
        "verdict": verdict,
        "status": status,
        "seconds": seconds,
        "labeled_at": datetime(2026, 3, 2, 9, native_id - 6, 30, 500_000, UTC),
        "native_id": str(native_id),
    }


SAID = [
    label(7, "a1", BEADS, "2", "3/7", "ok", 41.25),
    label(8, "a1", BEADS, "3", "0.43", None, 62.5),
    label(9, "a2", HEAVY, "2", "it", "ambiguous", 18.0),
    label(10, "a2", HEAVY, "3", None, None, 4.5, status="skipped"),
    label(11, "a3", PRIMES, "3", '["2", "3", "5"]', None, None),
    label(12, "a3", PRIMES, "2", "2\n3\n5", "ok", 33.125),
    label(13, "a4", HEAP, "2", None, "unanswerable", 9.75),
]


def rows_of(read):
    rows = read.labels.drop(["place", "raw"]).to_pylist()
    return sorted(rows, key=lambda row: int(row["native_id"]))


def read(path):
    content = read_content(path)
    assert tool.recognises(content)
    return tool.read_labels(content)


@pytest.fixture
def read_json(tmp_path):
    def write_and_read(value):
        path = tmp_path / "export"
        path.write_text(json.dumps(value), encoding="utf-8")
        return read(path)

    return write_and_read


def task(*annotations, **data):
    data = {"item_id": "bp-1", "prompt": "p"} | data
    return {"id": 1, "data": data, "annotations": list(annotations)}


def annotation(*values, **fields):
    """One annotation; values are (control, value)."""
    result = [{"from_name": name, "type": "any", "value": value} for name, value in values]
    return {"id": 5, "completed_by": 1, "result": result, "was_cancelled": False} | fields


def row(**cells):
    return {
        "item_id": "bp-1",
        "prompt": "p",
        "annotation_id": 5,
        "annotator": 1,
        "lead_time": 2.0,
        "updated_at": "2026-01-02T03:04:05Z",
    } | cells


def as_table(rows, delimiter=","):
    names = sorted({name for one in rows for name in one})
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, names, quoting=csv.QUOTE_NONNUMERIC, delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def test_json_is_read_whole():
    export = read(FIXTURES / "export.json")
    assert rows_of(export) == SAID
    assert export.labels.schema == LABELS_SCHEMA
    assert export.labels["place"].to_pylist() == [1, 1, 2, 2, 3, 3, 4]
    assert (export.tool, export.bad, export.warnings, export.n_blank) == ("label-studio", [], [], 2)


@pytest.mark.parametrize("name", ["export-min.json", "export.csv", "export.tsv"])
def test_the_flat_exports_say_the_same_but_for_skips(name):
    export = read(FIXTURES / name)
    assert rows_of(export) == [one for one in SAID if one["status"] == "submitted"]
    assert (export.bad, export.warnings, export.n_blank) == ([], [], 2)


def test_the_names_before_1_0():
    export = read(FIXTURES / "export-0.9.json")
    assert [(row["answer"], row["status"], row["seconds"]) for row in rows_of(export)] == [
        ("3/7", "submitted", 12.5),
        (None, "skipped", 3.5),
    ]
    assert rows_of(export)[0]["labeled_at"] == datetime.fromtimestamp(1583142070, UTC)
    assert "never a label" not in str(export.labels.to_pylist())


def test_raw_is_the_annotation_with_its_item_or_the_row():
    raw = [json.loads(text) for text in read(FIXTURES / "export.json").labels["raw"].to_pylist()]
    given = json.loads((FIXTURES / "export.json").read_text(encoding="utf-8"))
    assert raw[0] == {"item_id": "bp-00000000000000a1", **given[0]["annotations"][0]}
    rows = json.loads((FIXTURES / "export-min.json").read_text(encoding="utf-8"))
    assert json.loads(read(FIXTURES / "export-min.json").labels["raw"][0].as_py()) == rows[0]


@pytest.mark.parametrize(
    ("completed_by", "annotator"),
    [
        (4, "4"),
        ({"id": 4, "email": "ana@example.com", "first_name": "Ana"}, "ana@example.com"),
        ({"id": 4, "email": "", "first_name": "Ana"}, "4"),
        ({}, None),
        (None, None),
    ],
)
def test_an_annotator_is_an_e_mail_or_else_an_id(read_json, completed_by, annotator):
    export = read_json([task(annotation(("answer", {"text": ["1"]}), completed_by=completed_by))])
    assert export.labels["annotator"].to_pylist() == [annotator]


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ({"text": ["1/2"]}, "1/2"),
        ({"text": " 007 "}, "007"),
        ({"text": ["a", "", "b\nc"]}, "a\nb\nc"),
        ({"choices": ["A", "B"]}, "A\nB"),
        ({"number": 3}, "3"),
        ({"rating": 4}, "4"),
        ({"selected": "left"}, "left"),
    ],
)
def test_the_values_of_other_controls_are_answers_too(read_json, value, answer):
    assert read_json([task(annotation(("answer", value)))]).labels["answer"].to_pylist() == [answer]
    assert read_json([row(answer=[value])]).labels["answer"].to_pylist() == [answer]


def test_a_number_keeps_the_digits_it_was_written_with(tmp_path):
    (tmp_path / "export").write_text(
        json.dumps([task(annotation(("answer", {"number": 1.5})))]).replace("1.5", "1.50"), encoding="utf-8"
    )
    assert read(tmp_path / "export").labels["answer"].to_pylist() == ["1.50"]


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_in_a_table_only_what_the_tool_encoded_is_decoded(tmp_path, delimiter):
    typed = [
        '{"a": 1}',
        "[1, 2]",
        '["a"]',
        "[]",
        '{"text":',
        '{"number": 3, "of": 4}',
        '[{"x": [0.50]}]',
        "1e3",
        "true",
    ]
    encoded = ['{"text":["a","b"]}', '{"choices": ["A", "B"]}', '[{"number": 3.50}]']
    rows = [row(annotation_id=at, answer=cell) for at, cell in enumerate(typed + encoded)]
    (tmp_path / "export").write_text(as_table(rows, delimiter), encoding="utf-8", newline="")
    assert read(tmp_path / "export").labels["answer"].to_pylist() == [*typed, "a\nb", "A\nB", "3.50"]


def test_in_json_min_a_text_is_what_was_typed(read_json):
    assert read_json([row(answer='{"text":["a","b"]}')]).labels["answer"].to_pylist() == ['{"text":["a","b"]}']


def test_ids_that_pandas_made_floats_are_the_ids_they_were(tmp_path):
    rows = [row(annotation_id=7.0, annotator=2.0, answer="2.0"), row(annotation_id="", annotator="")]
    (tmp_path / "export").write_text(as_table(rows), encoding="utf-8", newline="")
    export = read(tmp_path / "export")
    assert export.labels.select(["native_id", "annotator", "answer"]).to_pylist() == [
        {"native_id": "7", "annotator": "2", "answer": "2.0"}
    ]
    assert export.n_blank == 1


@pytest.mark.parametrize("renamed", ["_data_{}", "{}_1"])
def test_data_that_had_to_make_room_for_a_control_is_found(tmp_path, renamed):
    cells = {renamed.format(name): f"bp-{name}" for name in ("item_id", "shortlist_id", "prompt")}
    controls = {"item_id": "typed", "shortlist_id": "typed", "prompt": "typed"}
    (tmp_path / "export").write_text(as_table([row(answer="1", **controls, **cells)]), encoding="utf-8", newline="")
    (found,) = read(tmp_path / "export").labels.select(["item_id", "shortlist_id", "prompt"]).to_pylist()
    assert found == {name: f"bp-{name}" for name in controls}


def test_a_row_without_an_annotation_is_blank_whatever_its_data(read_json):
    assert read_json([row(annotation_id=None, annotator=None, answer="known before")]).n_blank == 1


def test_without_our_id_the_prompt_goes_on(read_json):
    export = read_json([task(annotation(("answer", {"text": ["1"]})), item_id="12", prompt=" as sent\n")])
    assert export.labels.select(["item_id", "prompt"]).to_pylist() == [{"item_id": None, "prompt": " as sent\n"}]


def test_a_skip_holds_no_label_even_where_the_form_was_filled_in(read_json):
    filled = annotation(("answer", {"text": ["1"]}), ("verdict", {"choices": ["no word of ours"]}), was_cancelled=True)
    (skip,) = read_json([task(filled)]).labels.to_pylist()
    assert (skip["status"], skip["answer"], skip["verdict"]) == ("skipped", None, None)


def test_a_corrected_annotation_has_the_time_of_its_correction(read_json):
    times = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-03T00:00:00Z"}
    export = read_json([task(annotation(("answer", {"text": ["1"]}), **times))])
    assert export.labels["labeled_at"].to_pylist() == [datetime(2026, 1, 3, tzinfo=UTC)]


BAD = {
    "verdict": (annotation(("verdict", {"choices": ["maybe"]})), 'annotation 5: verdict "maybe" is not one of ok'),
    "two verdicts": (annotation(("verdict", {"choices": ["ok", "ambiguous"]})), 'verdict "ok and ambiguous"'),
    "time": (annotation(("answer", {"text": ["1"]}), updated_at="tomorrow"), 'time "tomorrow"'),
    "seconds": (annotation(("answer", {"text": ["1"]}), lead_time=-1), 'duration "-1"'),
    "region": (annotation(("answer", {"start": 0, "end": 3})), "control answer holds"),
    "nested": (annotation(("answer", {"text": [["1"]]})), "control answer holds"),
    "no annotation": (7, "annotation 7 is no object"),
    "no result": ({"id": 5, "result": "answer"}, "result answer is no object"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_annotation_is_named_and_the_others_are_read(read_json, name):
    broken, reason = BAD[name]
    good = annotation(("answer", {"text": ["1"]}), id=6)
    export = read_json([task(good), task(broken, good)])
    assert [(one.place, reason in one.reason) for one in export.bad] == [(2, True)]
    assert export.labels["place"].to_pylist() == [1, 2]


@pytest.mark.parametrize(
    "broken", [{"id": 1}, {"id": 1, "data": "x", "annotations": []}, {"data": {"item_id": "bp-1"}, "annotations": 3}]
)
def test_a_task_that_is_none_is_bad(read_json, broken):
    export = read_json([task(annotation(("answer", {"text": ["1"]}))), broken])
    assert [one.place for one in export.bad] == [2]
    assert "export as JSON" in export.bad[0].reason


def test_a_label_for_a_task_that_nothing_identifies_is_bad(read_json):
    export = read_json([task(annotation(("answer", {"text": ["1"]})), item_id="12", prompt=" ")])
    assert "neither an item_id that begins with bp- nor a prompt" in export.bad[0].reason
    export = read_json([row(item_id="12", prompt=None, answer="1")])
    assert export.bad[0].reason.startswith("annotation 5: its task has neither")


def test_a_broken_row_is_bad_and_so_is_what_could_not_be_parsed(tmp_path):
    rows = [row(answer="1"), row(verdict="maybe"), row(answer="2", lead_time="soon")]
    (tmp_path / "export").write_text(as_table(rows) + '"torn"\r\n', encoding="utf-8", newline="")
    export = read(tmp_path / "export")
    assert [one.place for one in export.bad] == [3, 4, 5]
    assert export.labels["answer"].to_pylist() == ["1"]


def test_controls_of_other_names_are_ignored_but_not_in_silence_where_nothing_else_is_there(read_json):
    other = annotation(("response", {"text": ["1"]}))
    assert read_json([task(other), task(annotation(("answer", {"text": ["1"]})))]).warnings == []
    (warning,) = read_json([task(other), task(annotation(was_cancelled=True))]).warnings
    assert "control called answer or verdict" in warning
    assert read_json([row(response="1")]).warnings
    assert read_json([task()]).warnings == []


@pytest.mark.parametrize(
    "value",
    [
        [{"item_id": "bp-1", "answer": "1", "annotator": "ana"}],
        [{"id": "bp-1", "fields": {"prompt": "p"}, "responses": {}}],
        [{"text": "p", "item_id": "bp-1", "_input_hash": 1, "answer": "accept"}],
        [{"data": {"item_id": "bp-1", "prompt": "p"}}],
    ],
)
def test_what_other_tools_wrote_is_not_recognised(tmp_path, value):
    (tmp_path / "labels").write_text(json.dumps(value), encoding="utf-8")
    content = read_content(tmp_path / "labels")
    assert not tool.recognises(content)
    with pytest.raises(LabelError) as caught:
        tool.read_labels(content)
    assert str(tmp_path / "labels") in caught.value.message
    assert "Export as JSON" in caught.value.hint


NASTY = ["<b>x</b>", "=1+1", 'say "hi",\r\n\tü\u2028👩‍👧', "$prompt {{x}} \\n"]
TASKS = pa.table({"item_id": ["bp-a", "bp-b", "bp-c", "bp-d"], "prompt": NASTY})


@pytest.fixture
def written(tmp_path):
    def write(tasks):
        files = tool.task_files(tmp_path / "out.v1")
        with landing(*files) as unfinished:
            tool.write_tasks(tasks, unfinished, "sl-0007")
        return json.loads(files[0].read_text(encoding="utf-8")), ET.parse(files[1]).getroot()

    return write


def test_the_files_are_named_after_the_shortlist():
    names = [path.name for path in tool.task_files(Path("my.shortlist"))]
    assert names == ["my.shortlist.labelstudio.json", "my.shortlist.labelstudio.xml"]
    assert "{file}" in tool.HOW_TO_OPEN


def test_tasks_in_row_order_with_nothing_but_their_data(written):
    tasks, _ = written(TASKS)
    assert tasks == [
        {"data": {"item_id": item_id, "shortlist_id": "sl-0007", "prompt": prompt}}
        for item_id, prompt in zip(TASKS["item_id"].to_pylist(), NASTY, strict=True)
    ]
    assert [list(one["data"]) for one in tasks] == [["item_id", "shortlist_id", "prompt"]] * 4


def test_no_tasks_and_many_tasks_are_one_array(written):
    assert written(TASKS.slice(0, 0))[0] == []
    many = pa.table({"item_id": [f"bp-{i}" for i in range(5000)], "prompt": [f"p {i}" for i in range(5000)]})
    assert [one["data"]["item_id"] for one in written(many)[0]] == many["item_id"].to_pylist()


@pytest.mark.parametrize("shows_model_answer", [False, True])
def test_the_interface_shows_the_data_and_no_control_is_named_like_them(written, shows_model_answer):
    items = TASKS.append_column("model_answer", pa.array(["1", None, "2", "3"])) if shows_model_answer else TASKS
    tasks, interface = written(items)
    texts = list(interface.iter("Text"))
    shown = {text.get("value").removeprefix("$") for text in texts}
    assert shown == {"prompt", "model_answer"} - (set() if shows_model_answer else {"model_answer"})
    assert all(text.get("valueType") == "text" for text in texts)
    names = [element.get("name") for element in interface.iter() if element.get("name")]
    assert len(set(names)) == len(names)
    assert not set(names) & set(tasks[0]["data"])
    if shows_model_answer:
        assert [one["data"]["model_answer"] for one in tasks] == ["1", "", "2", "3"]


def test_the_controls_are_those_that_are_read_and_an_answer_is_not_forced_where_there_is_none(written):
    _, interface = written(TASKS)
    (answer,), (verdict,) = interface.iter("TextArea"), interface.iter("Choices")
    assert (answer.get("name"), verdict.get("name")) == ("answer", "verdict")
    assert [choice.get("value") for choice in verdict] == ["ok", "ambiguous", "unanswerable"]
    assert {answer.get("toName"), verdict.get("toName")} <= {text.get("name") for text in interface.iter("Text")}
    assert (answer.get("required"), verdict.get("required")) == ("true", None)
    hidden = (answer.get("visibleWhen"), answer.get("whenTagName"), answer.get("whenChoiceValue"))
    assert hidden == ("choice-unselected", "verdict", "ambiguous,unanswerable")


values = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=4)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.dictionaries(st.sampled_from(["id", "completed_by", "result", "lead_time", "updated_at"]), values)
        | st.builds(lambda name, value: annotation((name, value)), st.sampled_from(["answer", "verdict"]), values)
        | st.builds(lambda text: annotation(("answer", {"text": [text]})), st.text(max_size=5)),
        max_size=4,
    )
)
def test_no_annotation_disappears_whatever_it_holds(tmp_path_factory, annotations):
    path = tmp_path_factory.mktemp("any") / "export"
    path.write_text(json.dumps([task(*annotations)]), encoding="utf-8")
    export = read(path)
    assert len(export.labels) + len(export.bad) + export.n_blank == max(1, len(annotations))


@settings(deadline=None, max_examples=40)
@given(st.lists(st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\r"), max_size=8), min_size=1))
def test_an_answer_is_the_text_as_typed_and_stripped(tmp_path_factory, answers):
    folder = tmp_path_factory.mktemp("typed")
    rows = [row(annotation_id=at, answer=answer) for at, answer in enumerate(answers)]
    (folder / "min").write_text(json.dumps(rows), encoding="utf-8")
    (folder / "csv").write_text(as_table(rows), encoding="utf-8", newline="")
    typed = [answer.strip() for answer in answers if answer.strip()]
    assert read(folder / "min").labels["answer"].to_pylist() == typed
    assert read(folder / "csv").labels["answer"].to_pylist() == typed
