import html
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetplan.annotation.landing import landing
from budgetplan.annotation.tools import argilla
from budgetplan.annotation.tools.content import Content, read_content
from budgetplan.annotation.tools.record import Record
from budgetplan.errors import LabelError

FIXTURES = Path(__file__).parents[2] / "fixtures" / "argilla"
ANA, BO = "5f1a0c4e-0000-4000-8000-000000000001", "7a2b1d5f-0000-4000-8000-000000000002"
HALF, WHO, SEVEN = (f"bp-{i:016d}" for i in (1, 2, 3))


@pytest.fixture
def written(tmp_path):
    def write(**columns):
        tasks = pa.table({"item_id": ["bp-2", "bp-1"], "prompt": ["if x<y & <b>z</b>:\nü?", "two"], **columns})
        files = argilla.task_files(tmp_path / "shortlist")
        files[0].parent.mkdir(parents=True)
        with landing(*files) as unfinished:
            argilla.write_tasks(tasks, unfinished, "sl-0007")
        return [json.loads(file.read_text(encoding="ascii")) for file in files]

    return write


def content_of(*values):
    records = [Record(place, value) for place, value in enumerate(values, start=1)]
    return Content(Path("labels.json"), "json", records, [])


def said(file):
    names = ("item_id", "annotator", "answer", "verdict", "status")
    return [tuple(row[name] for name in names) for row in file.labels.to_pylist()]


def nested(item_id="bp-1", **responses):
    return {"id": item_id, "fields": {"prompt": "p"}, "metadata": {}, "responses": responses}


def test_the_three_files_are_one_folder(tmp_path):
    folder = tmp_path / "my.shortlist.argilla"
    names = (".argilla/dataset.json", ".argilla/settings.json", "records.json")
    assert argilla.task_files(tmp_path / "my.shortlist") == tuple(folder / name for name in names)


def test_how_to_open_names_the_folder(tmp_path):
    files = argilla.task_files(tmp_path / "shortlist")
    assert f'from_disk("{tmp_path / "shortlist.argilla"}"' in argilla.HOW_TO_OPEN.format(file=files[0])


def test_records_carry_the_ids_in_order_and_nothing_to_run(written):
    _, _, records = written()
    assert [record["id"] for record in records] == ["bp-2", "bp-1"]
    assert records[0]["fields"] == {"prompt": "if x&lt;y &amp; &lt;b&gt;z&lt;/b&gt;:\nü?"}
    assert {record["metadata"]["shortlist_id"] for record in records} == {"sl-0007"}
    assert all(record["suggestions"] == record["responses"] == {} for record in records)


def test_settings_ask_for_an_answer_and_a_verdict(written):
    dataset, settings, _ = written()
    assert dataset["name"] == "sl-0007"
    assert dataset["distribution"] == settings["distribution"] == {"strategy": "overlap", "min_submitted": 1}
    assert [(field["name"], field["settings"]["use_markdown"]) for field in settings["fields"]] == [("prompt", False)]
    answer, verdict = settings["questions"]
    assert (answer["name"], answer["required"]) == ("answer", False)
    assert (verdict["name"], verdict["required"]) == ("verdict", True)
    assert [option["value"] for option in verdict["settings"]["options"]] == ["ok", "ambiguous", "unanswerable"]
    assert [one["visible_for_annotators"] for one in settings["metadata"]] == [False]
    assert settings["guidelines"]


def test_a_models_answer_is_shown_only_where_there_is_one(written):
    _, settings, records = written(model_answer=["<72>", None])
    assert [field["name"] for field in settings["fields"]] == ["prompt", "model_answer"]
    assert settings["fields"][1]["required"] is False
    assert [record["fields"].get("model_answer") for record in records] == ["&lt;72&gt;", None]


def test_nested_responses_are_joined_by_user_and_all_taken_with_a_warning():
    read = argilla.read_labels(read_content(FIXTURES / "records.json"))
    assert said(read) == [
        (HALF, ANA, "1/2", "ok", "submitted"),
        (HALF, BO, "0.50", "ok", "submitted"),
        (WHO, ANA, None, "unanswerable", "submitted"),
    ]
    assert (read.tool, read.bad, read.n_blank) == ("argilla", [], 1)
    assert read.labels["shortlist_id"].to_pylist() == ["sl-0007"] * 3
    assert read.labels["seconds"].null_count == read.labels["native_id"].null_count == 3
    (warning,) = read.warnings
    assert warning.startswith("3 responses come without a status")
    assert "to_datasets()" in warning


def test_flattened_responses_say_which_were_submitted():
    read = argilla.read_labels(read_content(FIXTURES / "flat.json"))
    assert said(read) == [
        (HALF, ANA, "1/2", "ok", "submitted"),
        (HALF, BO, None, None, "skipped"),
        (WHO, ANA, None, "unanswerable", "submitted"),
    ]
    assert (read.bad, read.n_blank, read.warnings) == ([], 2, [])


def test_raw_is_one_users_part_with_the_item():
    read = argilla.read_labels(read_content(FIXTURES / "flat.json"))
    assert json.loads(read.labels["raw"][1].as_py()) == {
        "id": HALF,
        "user_id": BO,
        "responses": {"answer": {"value": "0.50", "status": "discarded"}},
    }


def test_parquet_and_a_folder_read_the_same(tmp_path):
    flat = read_content(FIXTURES / "flat.json")
    pq.write_table(pa.Table.from_pylist([record.value for record in flat.records]), tmp_path / "labels.parquet")
    from_parquet = argilla.read_labels(read_content(tmp_path / "labels.parquet"))
    assert from_parquet.labels.equals(argilla.read_labels(flat).labels)
    (tmp_path / "records.json").write_bytes((FIXTURES / "records.json").read_bytes())
    from_folder = argilla.read_labels(read_content(tmp_path))
    assert from_folder.labels.equals(argilla.read_labels(read_content(FIXTURES / "records.json")).labels)


def test_the_columns_of_each_user_before_release_are_read():
    record = {"id": "bp-1", "prompt": "p", f"answer.response.{ANA}": "72", f"verdict.response.{ANA}": "ok"}
    content = content_of({**record, f"answer.response.{BO}": None})
    assert argilla.recognises(content)
    read = argilla.read_labels(content)
    assert said(read) == [("bp-1", ANA, "72", "ok", "submitted")]
    assert read.warnings[0].startswith("1 responses come without a status")


def test_a_status_in_the_nested_form_holds():
    statuses = {"a": "submitted", "b": "discarded", "c": "draft", "d": "pending"}
    answers = [{"value": "7", "user_id": user, "status": status} for user, status in statuses.items()]
    read = argilla.read_labels(content_of(nested(answer=answers)))
    assert said(read) == [("bp-1", "a", "7", None, "submitted"), ("bp-1", "b", None, None, "skipped")]
    assert (read.n_blank, read.warnings) == (2, [])


def test_a_record_under_another_id_brings_its_prompt():
    ours = nested("0b7d", answer=[{"value": "7", "user_id": ANA}])
    ours["fields"]["prompt"], ours["metadata"]["shortlist_id"] = "1 &lt; 2 &amp;amp;", "sl-0007"
    theirs = nested("x", answer=[{"value": "7", "user_id": ANA}])
    theirs["fields"]["prompt"] = "1 &lt; 2"
    read = argilla.read_labels(content_of(ours, theirs))
    assert read.labels["item_id"].to_pylist() == [None, None]
    assert read.labels["prompt"].to_pylist() == ["1 < 2 &amp;", "1 &lt; 2"]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (nested(verdict=[{"value": "maybe", "user_id": ANA}]), f'user {ANA}: verdict "maybe" is not one of'),
        (nested(answer=[{"value": "7", "user_id": ANA, "status": "sent"}]), f'user {ANA}: status "sent" is not one of'),
        (nested(answer=[{"value": ["7"], "user_id": ANA}]), f"user {ANA}: answer ['7'] is no text"),
        (nested(answer=[{"value": "7", "user_id": ANA}] * 2), f"user {ANA} responds to answer twice"),
        (nested(answer=["7"]), "response 7 to answer is no object"),
        ({**nested(), "responses": ["7"]}, "responses ['7'] are no object"),
        ({**nested("x", answer=[{"value": "7", "user_id": ANA}]), "fields": {}}, f"user {ANA}: id x does not begin"),
        ({"id": "bp-1", "answer.responses": ["7"]}, "answer.responses has 1 values, 0 users and 1 statuses"),
        ({"id": "bp-1", "answer.responses": "7"}, "answer.responses 7 is no list"),
        (
            nested(
                answer=[{"value": "7", "user_id": ANA, "status": "draft"}],
                verdict=[{"value": "ok", "user_id": ANA, "status": "submitted"}],
            ),
            f"user {ANA}: responses are draft and submitted at once",
        ),
    ],
)
def test_a_record_that_cannot_be_read_is_named_and_the_others_are_read(record, reason):
    read = argilla.read_labels(content_of(record, nested("bp-2", answer=[{"value": "8", "user_id": BO}])))
    ((bad),) = read.bad
    assert bad.place == 1
    assert bad.reason.startswith(reason)
    assert read.labels["answer"].to_pylist() == ["8"]


def test_one_users_bad_response_leaves_the_others():
    verdicts = [{"value": "maybe", "user_id": ANA}, {"value": "ambiguous", "user_id": BO}]
    read = argilla.read_labels(content_of(nested(verdict=verdicts)))
    assert said(read) == [("bp-1", BO, None, "ambiguous", "submitted")]
    assert len(read.bad) == 1


def test_it_recognises_its_own_alone():
    assert argilla.recognises(read_content(FIXTURES / "records.json"))
    assert argilla.recognises(read_content(FIXTURES / "flat.json"))
    assert not argilla.recognises(content_of({"id": 1, "data": {}, "annotations": []}))
    assert not argilla.recognises(content_of({"item_id": "bp-1", "answer": "7"}))
    with pytest.raises(LabelError, match=r"labels.json: this is no export of Argilla"):
        argilla.read_labels(content_of({"item_id": "bp-1", "answer": "7"}))


@given(st.text(min_size=1))
def test_escaping_loses_nothing(prompt):
    (record,) = argilla._records(pa.table({"item_id": ["bp-1"], "prompt": [prompt]}), "sl-0007")
    assert html.unescape(record["fields"]["prompt"]) == prompt
    assert not set("<>") & set(record["fields"]["prompt"])


_RESPONSES = st.dictionaries(
    st.sampled_from([ANA, BO, "c", "d"]),
    st.fixed_dictionaries(
        {}, optional={"answer": st.text(), "verdict": st.sampled_from(["ok", "ambiguous", "unanswerable"])}
    ).filter(bool),
    max_size=4,
)


@given(_RESPONSES)
def test_both_forms_read_the_same(users):
    by_question = {
        question: [(user, values[question]) for user, values in users.items() if question in values]
        for question in ("answer", "verdict")
    }
    in_groups = nested(**{q: [{"value": v, "user_id": u} for u, v in pairs] for q, pairs in by_question.items()})
    flat = {"id": "bp-1", "prompt": "p", "_server_id": "s"}
    for question, pairs in by_question.items():
        flat[f"{question}.responses"] = [value for _, value in pairs] or None
        flat[f"{question}.responses.users"] = [user for user, _ in pairs] or None
        flat[f"{question}.responses.status"] = ["submitted" for _ in pairs] or None
    one, other = argilla.read_labels(content_of(in_groups)), argilla.read_labels(content_of(flat))
    assert said(one) == said(other)
    assert (one.n_blank, one.bad) == (other.n_blank, other.bad)
    assert len(one.labels) + one.n_blank == max(1, len(users))
