import json

import pyarrow as pa
import pytest

from budgetplan.annotation.tools import label_studio
from budgetplan.annotation.tools.content import read_content
from budgetplan.demo.annotators import ANNOTATORS, write_export
from budgetplan.demo.task import make_pool


@pytest.fixture
def tasks(tmp_path):
    """Three hundred prompts of the demo as Label Studio gets them."""
    rows = make_pool(300)
    table = pa.table({"item_id": [f"bp-{n:016x}" for n in range(300)], "prompt": [row["prompt"] for row in rows]})
    files = label_studio.task_files(tmp_path / "demo")
    label_studio.write_tasks(table, files, shortlist_id="sl-0001")
    return files[0], {f"bp-{n:016x}": row["answer"] for n, row in enumerate(rows)}


def test_two_imperfect_people_come_back_in_label_studios_own_shape(tasks, tmp_path):
    file, answers = tasks
    read = label_studio.read_labels(read_content(write_export(file, tmp_path / "export.json")))
    assert (read.bad, read.n_blank) == ([], 0)
    rows = read.labels.to_pylist()
    assert len(rows) == 2 * len(answers)
    assert {row["annotator"] for row in rows} == {annotator.email for annotator in ANNOTATORS}
    for annotator in ANNOTATORS:
        own = [row for row in rows if row["annotator"] == annotator.email]
        skipped = [row for row in own if row["status"] == "skipped"]
        wrong = [row for row in own if row["answer"] and row["answer"].lower() != answers[row["item_id"]]]
        assert abs(len(skipped) / 300 - annotator.skips) < 0.04
        assert abs(len(wrong) / 300 - annotator.wrong) < 0.06
        assert all(row["seconds"] > 0 for row in own)
    assert max(row["seconds"] for row in rows) > 1000  # someone took a break


def test_the_same_seed_gives_the_same_export(tasks, tmp_path):
    file, _ = tasks
    one, two, other = (write_export(file, tmp_path / f"{n}.json", seed=n // 2) for n in (0, 1, 2))
    assert one.read_bytes() == two.read_bytes() != other.read_bytes()
    assert len({note["id"] for task in json.loads(one.read_text()) for note in task["annotations"]}) == 600
