import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from scripted import right_below

from budgetplan import BudgetplanError, ConfigError, NothingToDo, Project


@pytest.fixture
def labelled(
    project: Project, write_pool: Callable[..., Path], scripted: Any, monkeypatch: Any, tmp_path: Path
) -> Project:
    """Ten sums, q0 to q4 with known answers; five out in sl-0001, of which q5 to q7 came back, q7 as ambiguous."""
    rows: list[dict[str, Any]] = [{"id": f"q{n}", "question": f"{n}+{n}=?", "topic": f"t{n % 2}"} for n in range(10)]
    for row in rows[:5]:
        row["answer"] = str(2 * int(row["id"][1:]))
    scripted(right_below(9))
    asked = Project(**{**project.settings.model_dump(), "template": "Q: {prompt}", "system": "Be brief."})
    asked.probe(write_pool(rows))
    monkeypatch.chdir(tmp_path)
    asked.shortlist("5 items", exclude=[f"id=q{n}" for n in range(5)], audit="2")
    of = {row["id"]: row["item_id"] for row in asked.rank().table.to_pylist()}
    labels = [{"item_id": of[f"q{n}"], "annotator": "ana", "answer": str(2 * n)} for n in (5, 6)]
    labels.append({"item_id": of["q7"], "annotator": "ana", "verdict": "ambiguous"})
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labels))
    asked.ingest([tmp_path / "labels.jsonl"])
    return asked


def ids(path: Path) -> list[str]:
    return sorted(pq.read_table(path)["id"].to_pylist())


def test_a_row_carries_gold_provenance_and_the_users_columns(labelled: Project) -> None:
    exported = labelled.export("trl", out="train.jsonl")
    assert (exported.n_items, exported.n_from_labels, exported.n_from_pool, exported.n_unusable) == (2, 2, 0, 1)
    rows = {row["id"]: row for row in map(json.loads, Path("train.jsonl").read_text().splitlines())}
    row = rows["q5"]
    assert row["prompt"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Q: 5+5=?"},
    ]
    assert (row["answer"], row["gold_source"], row["n_labels"], row["topic"]) == ("10", "label", 1, "t1")
    assert (row["shortlist_id"], row["policy"], row["p_hat"]) == ("sl-0001", "hard", 1.0)
    assert row["run_id"].startswith("run-")
    assert row["verifier"] == "math@" + row["verifier"].partition("@")[2]


def test_which_items_is_for_the_user_to_say(labelled: Project) -> None:
    labelled.export("trl", out="known.parquet", with_known=True)
    assert ids(Path("known.parquet")) == ["q0", "q1", "q2", "q3", "q4", "q5", "q6"]
    in_audit = [row["id"] for row in pq.read_table("known.parquet").to_pylist() if row["audit"] and not row["picked"]]
    labelled.export("trl", out="bought.parquet", with_known=True, without_audit=True)
    assert ids(Path("bought.parquet")) == sorted({f"q{n}" for n in range(7)} - set(in_audit))
    labelled.export("trl", out="first.parquet", shortlist="sl-0001")
    assert ids(Path("first.parquet")) == ["q5", "q6"]


@pytest.mark.parametrize("target", ["trl", "verl", "open-instruct", "datasets"])
def test_every_target_is_written_under_its_own_name_and_not_replaced_unasked(labelled: Project, target: str) -> None:
    exported = labelled.export(target)
    assert exported.path.name.startswith(f"train.{target}")
    assert exported.path.exists()
    with pytest.raises(BudgetplanError, match=r"exists.*--force"):
        labelled.export(target)
    assert labelled.export(target, force=True).n_items == 2


def test_wrong_names_are_refused(labelled: Project) -> None:
    with pytest.raises(ConfigError, match=r"--out v.jsonl: verl is written as .parquet"):
        labelled.export("verl", out="v.jsonl")
    with pytest.raises(NothingToDo, match=r"no shortlist sl-0007.*sl-0001"):
        labelled.export("trl", shortlist="sl-0007")
    with pytest.raises(ConfigError, match="there is no target 'jax'"):
        labelled.export("jax")


@pytest.mark.parametrize(("target", "column"), [("trl", "prompt"), ("verl", "prompt"), ("open-instruct", "messages")])
def test_a_chat_keeps_its_turns(
    project: Project, write_pool: Callable[..., Path], scripted: Any, tmp_path: Path, target: str, column: str
) -> None:
    turns = [("user", "Hello"), ("assistant", "Hi. What is it?"), ("user", "3+3=?")]
    chat = [{"role": role, "content": content} for role, content in turns]
    scripted(right_below(4))
    asked = Project(**{**project.settings.model_dump(), "template": "Q: {prompt}", "system": "Be brief."})
    asked.probe(write_pool([{"prompt": chat, "answer": "6"}]))
    asked.export(target, out=tmp_path / "train.parquet", with_known=True)
    (row,) = pq.read_table(tmp_path / "train.parquet").to_pylist()
    said = [(turn["role"], turn["content"]) for turn in row[column]]
    asked_turns = [("system", "Be brief."), *turns[:2], ("user", "Q: 3+3=?")]
    assert said == asked_turns + ([("assistant", "6")] if target == "open-instruct" else [])
