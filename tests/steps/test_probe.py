import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted import number_in, reply, right_below

from budgetplan import Interrupted, NothingToDo, PoolError, Project, StoreLocked
from budgetplan.records import Completion, SampleRequest
from budgetplan.store.chunks import sole_sampler
from budgetplan.store.connection import scalar


def stored(project: Project) -> list[tuple[str, int, str]]:
    with project.store.reading() as connection:
        return connection.execute(
            """SELECT prompt, sample_index, text FROM completion JOIN item USING (item_id)
               WHERE finish_reason <> 'error' ORDER BY ALL"""
        ).fetchall()


def test_a_probe_stores_k_samples_of_every_item_and_verifies_them(project: Project, sums: Path, scripted: Any) -> None:
    engine = scripted(right_below(4))
    report = project.probe(sums)
    assert len(stored(project)) == 40
    assert report.health.outcomes["correct"] == 4 + 3 + 2 + 1
    assert report.health.outcomes["wrong"] == 30
    assert (report.pool.n_items, report.pool.n_with_answer, report.n_missing) == (10, 10, 0)
    assert report.run.verdicts_by.startswith("math@")
    assert engine.closed
    assert not project.store.samples_folder.exists()


def test_the_same_probe_again_asks_for_nothing(project: Project, sums: Path, scripted: Any) -> None:
    scripted(right_below(4))
    project.probe(sums)
    engine = scripted(right_below(0))
    report = project.probe(sums)
    assert engine.asked == []
    assert report.sampled.n_samples == 0
    assert report.health.outcomes["correct"] == 10


def test_a_larger_k_adds_samples_with_new_seeds(project: Project, sums: Path, scripted: Any) -> None:
    first = scripted(right_below(4))
    project.probe(sums)
    more = Project(**{**project.settings.model_dump(), "k": 6})
    second = scripted(right_below(4))
    report = more.probe(sums)
    assert {(request.first_index, request.count) for request in second.asked} == {(4, 2)}
    seeds = [
        request.seed + place for engine in (first, second) for request in engine.asked for place in range(request.count)
    ]
    assert len(set(seeds)) == 60
    assert report.run.k == 6
    assert len(stored(project)) == 60


def test_the_row_order_changes_neither_pool_nor_samples(project: Project, sums: Path, scripted: Any) -> None:
    scripted(right_below(4))
    before = project.probe(sums)
    sums.write_text("".join(reversed(sums.read_text().splitlines(keepends=True))))
    engine = scripted(right_below(4))
    assert project.probe(sums).pool.pool_id == before.pool.pool_id
    assert engine.asked == []


def test_an_interruption_keeps_what_is_finished_and_goes_on_with_the_same_seeds(
    project: Project, sums: Path, scripted: Any
) -> None:
    whole = scripted(right_below(4))
    Project(**{**project.settings.model_dump(), "db": project.settings.db.with_name("whole.duckdb")}).probe(sums)

    def stopping(request: SampleRequest, index: int) -> Completion:
        if number_in(request.messages) == 6:
            raise KeyboardInterrupt
        return right_below(4)(request, index)

    first = scripted(stopping)
    with pytest.raises(Interrupted, match="run the same command again"):
        project.probe(sums)
    assert len(stored(project)) == 24
    assert first.closed
    with project.store.reading() as connection:
        assert scalar(connection, "SELECT sum(tokens) FROM ledger") == 72
    second = scripted(right_below(4))
    project.probe(sums)
    assert len(stored(project)) == 40
    asked = {(request.item_id, request.seed) for request in [*first.asked[:6], *second.asked]}
    assert asked == {(request.item_id, request.seed) for request in whole.asked}


def test_a_failed_sample_is_no_wrong_answer_and_is_tried_again(project: Project, sums: Path, scripted: Any) -> None:
    def failing(request: SampleRequest, index: int) -> Completion:
        if index == 2:
            return reply(request, index, "", finish_reason="error", error="out of memory", mean_logprob=None)
        return right_below(10)(request, index)

    scripted(failing)
    report = project.probe(sums)
    assert report.n_missing == 10
    assert report.health.outcomes["engine_error"] == 10
    assert any("failed in the engine" in warning for warning in report.health.warnings)
    assert project.rank().table["k"].to_pylist() == [3] * 10
    scripted(right_below(10))
    report = project.probe(sums)
    assert (report.n_missing, report.health.outcomes["engine_error"]) == (0, 0)
    assert project.rank().table["k"].to_pylist() == [4] * 10


def test_truncation_is_said_at_once_and_at_the_end(project: Project, sums: Path, scripted: Any) -> None:
    notes: list[str] = []
    project.progress.note = notes.append  # type: ignore[method-assign]
    scripted(lambda request, index: reply(request, index, "Let me think about", finish_reason="length"))
    report = project.probe(sums)
    assert sum("cut off at --max-tokens" in note for note in notes) == 1
    assert report.health.outcomes["truncated"] == 40
    assert any("--max-tokens 2048" in warning for warning in report.health.warnings)
    assert report.health.n_items_unanswered == 10


def test_a_prompt_longer_than_the_context_stops_the_probe_before_anything_is_stored(
    project: Project, write_pool: Callable[..., Path], scripted: Any
) -> None:
    pool = write_pool([{"prompt": "1+1=?"}, {"prompt": "2+2=? " + "x" * 60}])
    scripted(right_below(4))
    with pytest.raises(PoolError, match=r"pool.jsonl:2: the prompt has 51 tokens.*--skip-too-long"):
        project.probe(pool)
    assert not project.store.path.exists()
    report = project.probe(pool, skip_too_long=True)
    assert (report.n_too_long, report.n_missing) == (1, 0)
    assert len(stored(project)) == 4


def test_without_a_gpu_a_long_probe_is_asked_about(
    project: Project, sums: Path, scripted: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr("budgetplan.steps.probe.longest_seconds", lambda *_: 9 * 3600.0)
    scripted(right_below(4))
    questions: list[str] = []

    def refuse(question: str) -> bool:
        questions.append(question)
        return False

    with pytest.raises(NothingToDo, match="up to 9 h"):
        project.probe(sums, confirm=refuse)
    assert "40 samples" in questions[0]
    assert not project.store.path.exists()
    project.probe(sums, confirm=lambda _: True)
    assert len(stored(project)) == 40


def test_other_settings_are_another_run_and_both_stay(project: Project, sums: Path, scripted: Any) -> None:
    scripted(right_below(4))
    first = project.probe(sums)
    warmer = Project(**{**project.settings.model_dump(), "temperature": 0.5, "k": 2})
    scripted(right_below(9))
    second = warmer.probe(sums)
    assert any("temperature: 1.0 → 0.5" in note for note in second.notes)
    assert first.run.run_id != second.run.run_id
    assert project.rank(run=first.run.run_id).table["k"].to_pylist() == [4] * 10
    assert project.rank().standing.run.run_id == second.run.run_id
    assert project.rank().table["k"].to_pylist() == [2] * 10


def test_another_model_is_warned_about_and_kept_apart(project: Project, sums: Path, scripted: Any) -> None:
    scripted(right_below(4))
    project.probe(sums)
    other = Project(**{**project.settings.model_dump(), "model": "other"})
    scripted(right_below(9))
    assert any("Difficulty belongs to one model" in note for note in other.probe(sums).notes)


def test_the_store_remembers_its_model(project: Project, sums: Path, scripted: Any) -> None:
    scripted(right_below(4))
    project.probe(sums)
    unnamed = Project(**{**project.settings.model_dump(), "model": None})
    assert unnamed.probe(sums).run.model == "tiny"


def test_chunks_that_a_killed_probe_left_are_taken_in_by_the_next_command(
    project: Project, sums: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(right_below(4))
    monkeypatch.setattr("budgetplan.steps.sampling.merge_finished", lambda _: 0)
    project.probe(sums)
    assert project.store.samples_folder.exists()
    assert project.rank().table["k"].to_pylist() == [4] * 10
    assert not list(project.store.samples_folder.glob("run-*/*.parquet"))


def test_two_probes_at_once_are_refused(project: Project, sums: Path, scripted: Any) -> None:
    scripted(right_below(4))
    with sole_sampler(project.store.samples_folder), pytest.raises(StoreLocked, match="another process is sampling"):
        project.probe(sums)


def test_what_sampling_took_is_in_the_ledger(project: Project, sums: Path, scripted: Any) -> None:
    scripted(right_below(4))
    project.probe(sums)
    with project.store.reading() as connection:
        assert scalar(connection, "SELECT sum(tokens) FROM ledger") == 120


def test_conflicting_answers_are_left_out_until_told_which_holds(
    project: Project, write_pool: Callable[..., Path], scripted: Any
) -> None:
    rows = [
        {"question": "1+1=?", "answer": "2"},
        {"question": "1+1=?", "answer": "3"},
        {"question": "2+2=?", "answer": "4"},
    ]
    pool = write_pool(rows)
    scripted(right_below(9))
    report = project.probe(pool)
    assert (report.pool.n_conflicts, report.pool.n_duplicates) == (1, 1)
    ranking = project.rank()
    assert ranking.table["rank"].to_pylist() == [1, None]
    assert ranking.standing.n_conflicting == 1
    project.probe(pool, conflicts="first")
    assert project.rank().standing.n_verified == 2
    assert project.probe(pool, conflicts="drop").pool.n_items == 1
    assert project.rank().table.num_rows == 1


def test_a_corrected_answer_judges_the_stored_samples_again(project: Project, sums: Path, scripted: Any) -> None:
    scripted(right_below(14))
    project.probe(sums)
    rows = [json.loads(line) for line in sums.read_text().splitlines()]
    rows[9]["answer"] = "19"
    sums.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = project.probe(sums)
    assert report.pool.n_changed_answers == 1
    assert report.sampled.n_samples == 0
    assert report.health.outcomes == {**report.health.outcomes, "correct": 36, "wrong": 4}
