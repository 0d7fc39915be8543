import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
from made_pools import MadePool, Notes, bought, bring_reference, fill_in, imported, make_pool, said

from budgetplan import Project
from budgetplan.errors import Interrupted, StoreLocked
from budgetplan.records import Silent
from budgetplan.steps import recalibrate as module

ESTIMATES = ("p_mean", "p_low", "p_high", "learnable")


@pytest.fixture(scope="module")
def pool() -> MadePool:
    return make_pool(60)


@pytest.fixture(scope="module")
def labelled(pool: MadePool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store in which half of the items are labelled, ten of them drawn at random; made once."""
    folder = tmp_path_factory.mktemp("labelled")
    bought(imported(folder, pool.rows), folder, pool.answer_of, "50%", audit="10", batch="100%")
    return folder


@pytest.fixture
def project(labelled: Path, tmp_path: Path) -> Project:
    shutil.copytree(labelled, tmp_path, dirs_exist_ok=True)
    return Project(db=tmp_path / "store.duckdb")


def stored(project: Project) -> list[dict[str, Any]]:
    with project.store.reading() as connection:
        rows = connection.execute("SELECT model FROM calibration ORDER BY fitted_at").fetchall()
    return [json.loads(model) for (model,) in rows]


def test_after_labels_every_item_has_an_estimate(project: Project, pool: MadePool) -> None:
    ranking = project.rank()
    table = ranking.table
    assert (ranking.standing.n_verified, ranking.standing.n_calibrated, ranking.standing.n_signals) == (30, 30, 0)
    for name in ESTIMATES:
        assert np.isfinite(table[name].to_numpy()).all()
    assert table["p_hat"].null_count == 30
    predicted = table.filter(pc.equal(table["source"], "calibrated"))
    assert set(predicted["k"].to_pylist()) == {0}
    hidden = pool.hidden_p(predicted["id"].to_pylist())
    assert np.corrcoef(predicted["p_mean"].to_numpy(), hidden)[0, 1] > 0.7
    inside = (predicted["p_low"].to_numpy() <= hidden) & (hidden <= predicted["p_high"].to_numpy())
    assert inside.mean() > 0.7


def test_after_labels_the_policy_learnable_works(project: Project, tmp_path: Path) -> None:
    learnable = Project(db=project.settings.db, policy="learnable")
    picked = learnable.shortlist("10 items", audit="0", out=tmp_path / "more.csv").table
    assert set(picked["source"].to_pylist()) == {"calibrated"}
    assert picked["learnable"].to_pylist() == sorted(picked["learnable"].to_pylist(), reverse=True)


def test_a_calibration_is_stored_as_json_once_per_change(project: Project, pool: MadePool, tmp_path: Path) -> None:
    (first,) = stored(project)
    assert first["calibration"]["n_items"] == 30
    assert first["trust"]["n_items"] == 10
    again = project.ingest([tmp_path / "sl.annotators.ana.csv"])
    assert again.recalibrated is not None
    assert again.recalibrated.before == first == json.loads(json.dumps(asdict(again.recalibrated.now)))
    assert len(stored(project)) == 1
    wrong = dict.fromkeys(pool.answer_of, "5555")
    changed = project.ingest([fill_in(tmp_path / "sl.annotators.csv", wrong)])
    assert changed.recalibrated is not None
    assert changed.recalibrated.before == first
    assert [model["calibration"]["n_items"] for model in stored(project)] == [30, 30]
    assert stored(project)[1]["calibration"]["intercept"] < first["calibration"]["intercept"]


def test_labels_that_go_take_what_they_taught_along(project: Project, pool: MadePool, tmp_path: Path) -> None:
    project.shortlist("10 items", audit="0", out=tmp_path / "more.csv")
    project.ingest([fill_in(tmp_path / "more.annotators.csv", pool.answer_of, "bo")])
    project.forget("bo")
    first, more, last = stored(project)
    assert more["calibration"]["n_items"] == 40
    assert last == first
    project.forget("ana")
    assert stored(project)[-1]["calibration"] is None
    assert set(project.rank().table["source"].to_pylist()) == {"signals"}


def test_a_pool_answered_in_part_is_calibrated_at_once(pool: MadePool, tmp_path: Path) -> None:
    project = imported(tmp_path, pool.with_answers(20))
    standing = project.rank().standing
    assert (standing.n_verified, standing.n_calibrated) == (20, 40)
    assert standing.without_answers is not None
    assert standing.without_answers.calibration is not None
    assert standing.without_answers.calibration.n_samples == 20 * 8
    assert standing.without_answers.trust.n_items == 0
    assert stored(project) == []  # which is for what labels teach


def test_what_goes_wrong_here_takes_no_label_back(
    pool: MadePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = imported(tmp_path, pool.rows)
    project.shortlist("20 items", out=tmp_path / "sl.csv")
    path = fill_in(tmp_path / "sl.annotators.csv", pool.answer_of)

    def locked(*_: object) -> None:
        raise StoreLocked("the store is in use.", hint="Wait.")

    notes = Notes()
    monkeypatch.setattr(module, "run_to_rank", locked)
    report = Project(db=project.settings.db, progress=notes).ingest([path])
    assert (report.recalibrated, report.n("new")) == (None, 10)
    assert "has not learned from the labels yet" in notes.said[-1]
    assert "the store is in use. Wait." in notes.said[-1]
    monkeypatch.undo()
    assert project.rank().standing.n_verified == 10


def test_who_stops_it_stops_it(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise Interrupted("stopped.")

    monkeypatch.setattr(module, "run_to_rank", stopped)
    with pytest.raises(Interrupted):
        project.ingest([tmp_path / "sl.annotators.ana.csv"])


def test_without_a_base_run_or_an_item_to_predict_there_is_nothing_to_learn(tmp_path: Path) -> None:
    pool = make_pool(8, 4)
    answered = imported(tmp_path / "answered", pool.with_answers(8))
    report = bought(answered, tmp_path / "answered", pool.answer_of, "50%")
    assert (report.recalibrated, stored(answered)) == (None, [])
    alone = Project(db=tmp_path / "store.duckdb")
    bring_reference(alone, tmp_path, pool.answer_of)
    assert module.recalibrate(alone.store, Silent()) is None


@pytest.mark.parametrize("answer", ["7", "8"])
def test_labels_all_right_or_all_wrong_are_learned_from(tmp_path: Path, answer: str) -> None:
    rows = [{"prompt": f"{n}?", "completions": [said(7)] * 3 + [said(n)]} for n in range(100, 130)]
    project = imported(tmp_path, rows)
    bought(project, tmp_path, {row["prompt"]: answer for row in rows}, "20 items", batch="100%")
    table = project.rank().table
    predicted = table.filter(pc.equal(table["source"], "calibrated"))["p_mean"].to_numpy()
    assert len(predicted) == 10
    assert (predicted > 0.6).all() if answer == "7" else (predicted < 0.2).all()
