"""The demo, played with its own model where its numbers count, and with a scripted one where its screens do."""

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from scripted import reply
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from budgetplan import Project
from budgetplan.cli import app
from budgetplan.demo.task import Exercise
from budgetplan.difficulty.pick_quality import pick_quality

ROWS = ["random picks", "self-agreement alone", "signals, no labels", "after batch 1", "after batch 2"]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The whole loop with the demo's own model, its folder and its document."""
    folder = tmp_path_factory.mktemp("demo")
    words = ["demo", "--no-answers", "--json", "--engine", "transformers", "--folder", str(folder)]
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 0, ended.output
    document = json.loads(ended.stdout)
    assert isinstance(document, dict)
    return folder, document


def rows_of(document: dict[str, Any]) -> dict[str, Any]:
    return {row["ranking"]: row for row in document["ranking_quality"]["rows"]}


def samples(store: Path) -> set[tuple[Any, ...]]:
    with duckdb.connect(store, read_only=True) as connection:
        return set(connection.sql("SELECT item_id, sample_index, seed, text FROM completion").fetchall())


def test_the_document_has_every_report_and_the_table(played: Any) -> None:
    _, document = played
    assert set(document) == {"probe", "rank", "shortlists", "ingests", "status", "export", "ranking_quality"}
    first, rest = document["shortlists"]
    assert first["batch"] < rest["batch"] == 1
    assert first["n_items"] + rest["n_items"] == 80
    rows = rows_of(document)
    assert list(rows) == [*ROWS, "all answers known"]
    answered = [ingest["answered"]["n"] for ingest in document["ingests"]]
    assert [row["n_labels"] for row in rows.values()] == [0, 0, 0, *answered, 400]
    assert rows["random picks"]["all_items"]["pick_quality"] == pytest.approx(0)
    assert all(rows[name]["all_items"]["calibration_error"] is None for name in ROWS[:3])
    assert "NaN" not in json.dumps(document)


def test_truth_comes_from_samples_and_answers_that_the_loop_never_had(played: Any) -> None:
    folder, _ = played
    ranked, judged = samples(folder / "unanswered.duckdb"), samples(folder / "truth.duckdb")
    assert (len(ranked), len(judged)) == (400 * 8, 400 * 16)
    assert {seed for _, _, seed, _ in ranked}.isdisjoint(seed for _, _, seed, _ in judged)
    assert samples(folder / "answered.duckdb") == ranked
    with duckdb.connect(folder / "unanswered.duckdb", read_only=True) as connection:
        assert connection.sql("SELECT DISTINCT source FROM gold").fetchall() == [("label",)]
        assert connection.sql("SELECT count(*) FROM pool").fetchall() == [(1,)]


def test_the_table_is_what_the_stores_say(played: Any) -> None:
    folder, document = played
    truth = Project(db=folder / "truth.duckdb").rank().table
    p = dict(zip(*(truth[name].to_pylist() for name in ("item_id", "p_hat")), strict=True))
    now = Project(db=folder / "unanswered.duckdb").rank().table
    known = Project(db=folder / "answered.duckdb").rank().table
    left = {row["item_id"] for row in now.select(["item_id", "source"]).to_pylist() if row["source"] != "verified"}
    ranked = {"signals, no labels": pa.Table.from_pylist(document["rank"]["items"])}
    ranked |= {"after batch 2": now, "all answers known": known}
    assert document["ranking_quality"]["n_unanswered"] == len(left)
    for name, table in ranked.items():
        items = [(row["item_id"], row["score"]) for row in table.select(["item_id", "score"]).to_pylist()]
        for kept, column in ((set(p), "all_items"), (left, "unanswered")):
            measured = rows_of(document)[name][column]
            place = np.array([score for item_id, score in items if item_id in kept])
            true = np.array([p[item_id] for item_id, _ in items if item_id in kept])
            assert measured["auroc"] == pytest.approx(roc_auc_score(true <= 0.2, -place))
            assert measured["pick_quality"] == pytest.approx(pick_quality(place, true, len(true) // 10))


def test_the_signals_are_far_better_than_random_and_the_answers_no_worse(played: Any) -> None:
    rows = rows_of(played[1])
    auroc = {name: row["all_items"]["auroc"] for name, row in rows.items()}
    assert 0.5 == auroc["random picks"] < 0.8 < auroc["signals, no labels"] < auroc["all answers known"]


def right_by_chance(request: Any, index: int) -> Any:
    """The more moves, the harder; nothing but the sample's seed decides."""
    state, moves = request.messages[-1].content.split("\n")
    exercise = Exercise(state[7:].replace(" ", ""), tuple(moves[7:].split(", ")))
    luck = np.random.default_rng(request.seed + index - request.first_index)
    right = luck.random() < {1: 0.95, 2: 0.5, 3: 0.1}[len(exercise.moves)]
    answer = exercise.answer if right else " ".join(luck.permutation(list("abcd")))
    return reply(request, index, f"#### {answer}")


def test_no_answers_on_the_screen_and_the_same_when_played_again(run: Any, scripted: Any) -> None:
    scripted(right_by_chance)
    words = ("demo", "--no-answers", "--engine", "transformers", "--folder", "try")
    ended = run(*words, COLUMNS="80")
    assert ended.exit_code == 0, ended.output
    typed = [line.split()[2] for line in ended.stdout.splitlines() if line.startswith("$ ")]
    assert typed == "probe rank shortlist ingest shortlist ingest status export probe".split()
    _, _, end = ended.stdout.partition("How good was the ranking?")
    assert max(len(line) for line in end.splitlines()) <= 80
    assert [name for name in ROWS if f" {name} " in end] == ROWS
    said = " ".join(end.split())
    for beginning in (
        "Without labels: picks",
        "After the labels",
        "items still without an answer",
        "The audit slice (",
    ):
        assert beginning in said
    assert ended.stdout.splitlines()[-1].startswith("Next: budgetplan probe")
    Path("try/truth.duckdb.wal").write_bytes(b"left by a run that was killed")
    assert run(*words, COLUMNS="80").stdout.partition("How good was the ranking?")[2] == end


def test_two_acts_with_and_without_answers(run: Any, scripted: Any) -> None:
    scripted(right_by_chance)
    shown = run("demo", "--validation", "none", "--engine", "transformers", "--folder", "try")
    assert shown.exit_code == 0, shown.output
    typed = [line.split()[2] for line in shown.stdout.splitlines() if line.startswith("$ ")]
    assert typed == "probe shortlist probe shortlist ingest status export".split()
    assert "--budget 20% --batch 100% --format label-studio" in shown.stdout
    assert "Policy hard, budget 20% of 400 items: 80 items." in shown.stdout
    document = json.loads(
        run("demo", "--validation", "none", "--engine", "transformers", "--folder", "try", "--json").stdout
    )
    assert document["n_items"] == 100
    assert set(document["unanswered"]) == {"shortlist", "ingest", "status", "export"}
    assert document["unanswered"]["shortlist"]["n_items"] == 80


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_it_ends_with_a_validation_of_its_own_model(run: Any) -> None:
    ended = run("demo", "--engine", "transformers", "--folder", "try", "--json")
    assert ended.exit_code == 0, ended.output
    validation = json.loads(ended.stdout)["validation"]
    assert [arm["arm"] for arm in validation["arms"]] == ["hard", "random"]
    assert 30 < validation["base"]["percent"] < 60
    assert all(
        len(arm["gain_by_seed"]) == 2 and arm["learnable"]["n_groups"] == 2 * 40 * 16 for arm in validation["arms"]
    )
    assert validation["verdict"]["claim"] in ("better", "worse", "no evidence", "refused")
    assert {Path(picture).suffix for picture in validation["pictures"]} == {".png", ".svg"}
    assert "NaN" not in ended.stdout


def test_a_folder_that_cannot_be_written_is_named(run: Any, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    failed = run("demo", "--no-answers", "--folder", "taken")
    assert failed.exit_code == 1
    assert "--folder taken cannot be written" in failed.stderr
