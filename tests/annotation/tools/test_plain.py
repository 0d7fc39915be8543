import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.annotation.landing import landing
from budgetplan.annotation.tools.content import read_content
from budgetplan.annotation.tools.plain import JSONL, PARQUET
from budgetplan.errors import LabelError

TASKS = pa.table({"item_id": ["bp-0", "bp-1"], "prompt": ["=cmd()", 'two\nlines, "\u00fc"']})


@pytest.fixture
def labels(tmp_path):
    def read(*values):
        path = tmp_path / "labels.jsonl"
        path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in values))
        return JSONL.read_labels(read_content(path))

    return read


def written(tool, tasks, folder):
    (path,) = tool.task_files(folder / "sl-0007")
    with landing(path) as files:
        tool.write_tasks(tasks, files, shortlist_id="sl-0007")
    return path


def told(file, *names):
    return [tuple(row[name] for name in names) for row in file.labels.to_pylist()]


def test_json_lines_hold_the_tasks_with_nulls_to_fill_in(tmp_path):
    path = written(JSONL, TASKS.append_column("model_answer", pa.array(["7", None])), tmp_path)
    assert path.name == "sl-0007.annotators.jsonl"
    first, second = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    assert first == {
        "item_id": "bp-0",
        "shortlist_id": "sl-0007",
        "prompt": "=cmd()",
        "model_answer": "7",
        "answer": None,
        "verdict": None,
        "annotator": None,
        "seconds": None,
    }
    assert (second["prompt"], second["model_answer"]) == ('two\nlines, "\u00fc"', None)


def test_parquet_holds_the_same_with_columns_of_their_types(tmp_path):
    path = written(PARQUET, TASKS, tmp_path)
    assert path.name == "sl-0007.annotators.parquet"
    table = pq.read_table(path)
    assert table.column_names == ["item_id", "shortlist_id", "prompt", "answer", "verdict", "annotator", "seconds"]
    assert [str(table.schema.field(name).type) for name in ("answer", "seconds")] == ["string", "double"]
    assert table["prompt"].to_pylist() == TASKS["prompt"].to_pylist()


@pytest.mark.parametrize("tool", [JSONL, PARQUET])
def test_tasks_that_nobody_filled_in_are_blank(tmp_path, tool):
    content = read_content(written(tool, TASKS, tmp_path))
    assert tool.recognises(content)
    file = tool.read_labels(content)
    assert (file.tool, file.labels.num_rows, file.n_blank, file.bad) == (tool.NAME, 0, 2, [])


def test_every_field_of_a_label(labels):
    value = {
        "item_id": "bp-1",
        "annotator": "ana",
        "answer": " 72 ",
        "verdict": "ok",
        "seconds": 61.2,
        "labeled_at": "2026-01-01T00:00:00Z",
        "shortlist_id": "sl-1",
        "mine": {"a": [1]},
    }
    file = labels(value, {"item_id": "bp-2", "status": "Skipped", "minutes": 1.5}, {"prompt": " q ", "answer": "7"})
    assert file.bad == []
    first, second, third = file.labels.to_pylist()
    assert json.loads(first.pop("raw")) == value
    assert first == {
        "item_id": "bp-1",
        "prompt": None,
        "shortlist_id": "sl-1",
        "annotator": "ana",
        "answer": "72",
        "verdict": "ok",
        "status": "submitted",
        "seconds": 61.2,
        "labeled_at": datetime(2026, 1, 1, tzinfo=UTC),
        "native_id": None,
        "place": 1,
    }
    assert (second["status"], second["seconds"], second["answer"]) == ("skipped", 90.0, None)
    assert (third["item_id"], third["prompt"], third["place"]) == (None, " q ", 3)


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("72", "72"),
        ("0.50", "0.50"),
        ("1e3", "1e3"),
        ("true", "true"),
        ('["a", "\u00fc"]', '["a", "\u00fc"]'),
        ('{"x": 1}', '{"x": 1}'),
        ('"1/2"', "1/2"),
        ('"007"', "007"),
        ("0", "0"),
        ("false", "false"),
    ],
)
def test_an_answer_is_what_stands_in_the_file(labels, value, answer):
    assert told(labels(f'{{"item_id": "bp-1", "answer": {value}}}'), "answer") == [(answer,)]


@pytest.mark.parametrize("value", ["null", '""', '" "', "NaN"])
def test_nothing_is_no_answer(labels, value):
    file = labels(f'{{"item_id": "bp-1", "answer": {value}, "annotator": "ana"}}')
    assert (file.labels.num_rows, file.n_blank) == (0, 1)


def test_whole_numbers_of_a_parquet_column_with_gaps(tmp_path):
    table = pa.table(
        {
            "item_id": ["bp-1", "bp-2", "bp-3"],
            "answer": [72.0, None, 0.5],
            "seconds": [float("nan"), 1.0, 2.0],
            "labeled_at": pa.array([datetime(2026, 1, 1)] * 3, pa.timestamp("ns")),
        }
    )
    pq.write_table(table, tmp_path / "labels")
    content = read_content(tmp_path / "labels")
    assert PARQUET.recognises(content)
    assert not JSONL.recognises(content)
    file = PARQUET.read_labels(content)
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    assert told(file, "answer", "seconds", "labeled_at", "place") == [("72", None, moment, 1), ("0.5", 2.0, moment, 3)]
    assert (file.bad, file.n_blank) == ([], 1)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"item_id": 42, "answer": "7"}, "item_id '42' is no item's id"),
        ({"answer": "7", "prompt": " "}, "there is no prompt"),
        ({"item_id": "bp-9", "answer": "7", "verdict": "good"}, 'verdict "good"'),
        ({"item_id": "bp-9", "answer": "7", "seconds": True}, 'duration "True"'),
        ({"item_id": "bp-9", "answer": "7", "labeled_at": "yesterday"}, 'time "yesterday"'),
        (
            {"item_id": "bp-9", "answer": "7", "status": "maybe"},
            'status "maybe" is not one of submitted, skipped, rejected',
        ),
        ('{"item_id": "bp-9", "ans', "broken JSON"),
        ("[1]", "not an object"),
    ],
)
def test_a_bad_record_is_named_and_the_others_are_read(labels, value, reason):
    file = labels({"item_id": "bp-1", "answer": "1"}, value, {"item_id": "bp-2", "answer": "2"})
    assert told(file, "item_id", "place") == [("bp-1", 1), ("bp-2", 3)]
    (bad,) = file.bad
    assert bad.place == 2
    assert reason in bad.reason


def test_one_array_is_as_good_as_lines(tmp_path):
    (tmp_path / "a").write_text('[{"item_id": "bp-1", "answer": "7"}, {"item_id": "bp-2", "ans')
    content = read_content(tmp_path / "a")
    assert JSONL.recognises(content)
    file = JSONL.read_labels(content)
    assert told(file, "item_id") == [("bp-1",)]
    assert [one.place for one in file.bad] == [2]


def test_another_kind_of_file_is_refused(tmp_path):
    (tmp_path / "a").write_text("item_id,answer\nbp-1,7\n")
    content = read_content(tmp_path / "a")
    assert not JSONL.recognises(content)
    with pytest.raises(LabelError, match="its content is table, not jsonl"):
        JSONL.read_labels(content)


def test_json_lines_cut_anywhere_never_change_a_label(labels, tmp_path):
    rows = [{"item_id": f"bp-{n}", "answer": n + 10, "annotator": "ana", "seconds": 12.5} for n in range(3)]
    whole = labels(*rows)
    text = (tmp_path / "labels.jsonl").read_text()
    for end in range(1, len(text)):
        file = labels(text[:end])
        assert file.labels.equals(whole.labels.slice(0, file.labels.num_rows))
        assert len(file.bad) <= 1
    assert file.labels.num_rows == 2


any_text = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(any_text, any_text), min_size=1, max_size=5), st.sampled_from([JSONL, PARQUET]))
def test_any_prompt_and_answer_come_back(tmp_path_factory, pairs, tool):
    folder = tmp_path_factory.mktemp("any")
    prompts, answers = (
        [f"x{text}" if not text.strip() else text for text in texts] for texts in zip(*pairs, strict=True)
    )
    tasks = pa.table({"item_id": [f"bp-{place}" for place in range(len(pairs))], "prompt": prompts})
    path = written(tool, tasks, folder)
    rows = [record.value for record in read_content(path).records]
    filled = pa.table({**pa.Table.from_pylist(rows).to_pydict(), "answer": answers})
    if tool is PARQUET:
        pq.write_table(filled, path)
    else:
        path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in filled.to_pylist()), encoding="utf-8")
    file = tool.read_labels(read_content(path))
    assert file.bad == []
    expected = [
        (f"bp-{n}", prompt, answer.strip()) for n, (prompt, answer) in enumerate(zip(prompts, answers, strict=True))
    ]
    assert told(file, "item_id", "prompt", "answer") == expected
