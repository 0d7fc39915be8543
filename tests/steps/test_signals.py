from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from made_pools import MadePool, Notes, bought, bring_reference, imported, make_pool, said

from budgetplan import Project
from budgetplan.difficulty.auroc import auroc
from budgetplan.records import Silent
from budgetplan.selection.policy import Policy
from budgetplan.steps.rank import Ranking
from budgetplan.steps.signals import RunSignals, run_signals, run_to_rank
from budgetplan.store.connection import scalar
from budgetplan.store.migrations import MIGRATIONS


def signals_of(project: Project, *, single_pass: bool = False) -> RunSignals | None:
    with run_to_rank(project.store, None, Silent()) as run, project.store.reading() as connection:
        return run_signals(connection, run, single_pass=single_pass)


def scores(ranking: Ranking) -> dict[str, float]:
    return dict(zip(ranking.table["id"].to_pylist(), ranking.table["score"].to_pylist(), strict=True))


def judged_by(project: Project) -> list[Any]:
    with project.store.reading() as connection:
        return connection.execute("SELECT role, verdicts_by FROM probe_run ORDER BY role").fetchall()


def found_hard(pool: MadePool, ranking: Ranking) -> float:
    """AUROC of the scores for the hidden p <= .2."""
    hidden = pool.hidden_p(ranking.table["id"].to_pylist())
    return auroc(hidden <= 0.2, ranking.table["score"].to_numpy(), np.ones(len(hidden))).value


def test_without_answers_hard_items_come_first_by_signals(tmp_path: Path) -> None:
    pool = make_pool(150)
    ranking = imported(tmp_path, pool.rows).rank()
    assert set(ranking.table["source"].to_pylist()) == {"signals"}
    for name in ("p_hat", "p_mean", "p_low", "p_high", "learnable"):
        assert ranking.table[name].null_count == 150
    assert np.isfinite(ranking.table["score"].to_numpy()).all()
    assert ranking.table["rank"].to_pylist() == list(range(1, 151))
    assert found_hard(pool, ranking) > 0.75
    assert ranking.standing.without_answers is not None
    assert ranking.standing.without_answers.calibration is None
    assert ranking.standing.without_answers.cannot_tell == ()


def test_labels_leave_all_signals_as_they_are(tmp_path: Path) -> None:
    pool = make_pool(40)
    project = imported(tmp_path, pool.rows)
    before = signals_of(project)
    bought(project, tmp_path, pool.answer_of, "50%")
    after = signals_of(project)
    assert before is not None
    assert after is not None
    assert after.table.equals(before.table)
    assert after.features.values.tobytes() == before.features.values.tobytes()


def test_a_reference_changes_the_ranking_and_is_named(tmp_path: Path) -> None:
    pool = make_pool(60)
    project = imported(tmp_path, pool.rows)
    alone = project.rank()
    bring_reference(project, tmp_path, pool.answer_of, verifier="exact")
    beside = project.rank()
    assert beside.standing.without_answers is not None
    assert beside.standing.without_answers.reference == "big"
    assert scores(beside) != scores(alone)
    assert found_hard(pool, beside) > found_hard(pool, alone)


def test_a_reference_that_cannot_be_judged_is_not_named_and_changes_nothing(tmp_path: Path) -> None:
    function = tmp_path / "mine.py"
    function.write_text("def right(completions, answer, **columns):\n    return [0.0] * len(completions)\n")
    pool = make_pool(12, 4)
    project = imported(tmp_path, pool.rows, verifier=f"{function}:right")
    alone = project.rank()
    function.unlink()
    bring_reference(project, tmp_path, pool.answer_of, verifier="exact")
    before, notes = project.settings.db.read_bytes(), Notes()
    beside = Project(db=project.settings.db, progress=notes).rank()
    assert scores(beside) == scores(alone)
    assert beside.standing.without_answers is not None
    assert beside.standing.without_answers.reference is None
    (note,) = notes.said
    assert "could not be judged" in note
    assert project.settings.db.read_bytes() == before


def test_verdicts_of_an_older_version_are_no_work_for_ever(tmp_path: Path) -> None:
    pool = make_pool(12, 4)
    project = imported(tmp_path, pool.rows)
    with project.store.writing() as connection:
        connection.execute("UPDATE probe_run SET verdicts_by = 'exact@0'")
        connection.execute("UPDATE verdict SET verifier = 'exact@0'")
    bring_reference(project, tmp_path, pool.answer_of, verifier="math")
    first = project.rank()
    assert judged_by(project) == [("base", "exact@0"), ("reference", "exact@1")]
    assert first.standing.without_answers is not None
    assert first.standing.without_answers.reference == "big"
    before = project.settings.db.read_bytes()
    assert project.rank().table.equals(first.table)
    assert project.settings.db.read_bytes() == before


def test_nothing_is_written_while_the_signals_are_current(tmp_path: Path) -> None:
    pool = make_pool(12, 4)
    project = imported(tmp_path, pool.rows, verifier="auto")
    bring_reference(project, tmp_path, pool.answer_of)
    first = project.rank()
    before = project.settings.db.read_bytes()
    assert project.rank().table.equals(first.table)
    assert project.settings.db.read_bytes() == before


def test_a_single_pass_looks_at_first_samples_alone(tmp_path: Path) -> None:
    pool = make_pool(30)
    for item, row in enumerate(pool.rows):
        row["completions"][0] = {"text": row["completions"][0], "mean_logprob": -0.01 * (item % 7)}
    firsts = [row | {"completions": row["completions"][:1]} for row in pool.rows]
    one, many = imported(tmp_path / "one", firsts), imported(tmp_path / "many", pool.rows)
    seen = many.rank(single_pass=True)
    assert scores(seen) == scores(one.rank(single_pass=True)) == scores(one.rank())
    assert scores(seen) != scores(many.rank())
    for ranking in (seen, one.rank()):
        assert ranking.standing.without_answers is not None
        assert ranking.standing.without_answers.single_pass


def test_a_single_pass_predicts_which_first_samples_are_wrong(tmp_path: Path) -> None:
    pool = make_pool(60)
    project = imported(tmp_path, pool.rows, policy=Policy.BASE_WRONG)
    place = scores(Project(db=project.settings.db).rank(single_pass=True))
    predicted = project.rank(single_pass=True).table
    chosen = {row["id"] for row in predicted.to_pylist() if row["rank"] is not None}
    assert chosen == {name for name, score in place.items() if score < 0.5}
    assert 0 < len(chosen) < 60


def test_where_every_item_has_an_answer_nothing_is_computed(tmp_path: Path) -> None:
    pool = make_pool(12, 4)
    project = imported(tmp_path, pool.with_answers(12))
    assert project.rank().standing.without_answers is None
    assert signals_of(project) is None
    assert n_rows(project, "text_similarity") == n_rows(project, "prompt_feature") == 0


def test_items_left_out_for_conflicting_answers_alone_take_no_signals(tmp_path: Path) -> None:
    pool = make_pool(12, 4)
    project = imported(tmp_path, [*pool.with_answers(12), pool.rows[0] | {"answer": "7"}])
    ranking = project.rank()
    assert (ranking.standing.n_conflicting, ranking.standing.without_answers) == (1, None)
    assert n_rows(project, "text_similarity") == 0


def n_rows(project: Project, table: str) -> int:
    with project.store.reading() as connection:
        return int(scalar(connection, f"SELECT count(*) FROM {table}"))


def test_a_store_of_the_former_schema_is_ranked(tmp_path: Path) -> None:
    project = imported(tmp_path, make_pool(12, 4).rows)
    before = project.rank()
    assert len(MIGRATIONS) == 5
    with duckdb.connect(project.settings.db) as connection:
        later = "validation validation_item validation_arm validation_run validation_metric validation_group evaluation"
        for table in (
            *("same_answer", "compared_item", "text_similarity", "prompt_feature", "calibration"),
            *later.split(),
            *("sampling_aim", "sample_target"),
        ):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("ALTER TABLE probe_run DROP COLUMN role")
        connection.execute("DELETE FROM schema_migration WHERE version >= 3")
    assert project.rank().table.equals(before.table)


def test_free_text_is_compared_by_its_normalised_text(tmp_path: Path) -> None:
    towns = ("Paris", "paris.", "The town of Rome", "Oslo")
    rows = [{"prompt": f"Which town? {n}", "completions": [said(towns[s % n]) for s in range(4)]} for n in range(1, 5)]
    signals = signals_of(imported(tmp_path, rows, verifier="auto"))
    assert signals is not None
    assert signals.equality == "their normalised text"
    assert signals.table["agreement"].to_pylist() == [1.0, 1.0, 0.75, 0.5]


def test_a_single_pass_keeps_the_reference_and_compares_its_first_sample_alone(tmp_path: Path) -> None:
    pool = make_pool(30)
    project = imported(tmp_path, pool.rows)
    bring_reference(project, tmp_path, pool.answer_of, verifier="exact")
    found = signals_of(project, single_pass=True)
    assert found is not None
    assert found.reference == "big"
    first_right = [row["completions"][0] == said(answer) for row, answer in zip(pool.rows, pool.answers, strict=True)]
    assert found.table["reference_agreement"].to_pylist() == [float(right) for right in first_right]
