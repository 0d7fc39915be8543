"""A reference from the command that brings it to the share of samples that agree with it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted import Answer, ScriptedEngine, number_in, reply

from budgetplan import ConfigError, Project
from budgetplan.records import Completion, SampleRequest, Silent
from budgetplan.steps.references import ready_reference
from budgetplan.steps.same_answers import find_same_answers
from budgetplan.store.references import find_reference, reference_agreement
from budgetplan.store.runs import ProbeRun, find_run


def saying(*texts: str) -> Answer:
    """Answer `question N` by the texts in turn, N in place of #."""

    def answer(request: SampleRequest, index: int) -> Completion:
        return reply(request, index, texts[index % len(texts)].replace("#", str(number_in(request.messages))))

    return answer


def base_run(project: Project) -> ProbeRun:
    with project.store.reading() as connection:
        return find_run(connection, None)


def stored_items(project: Project) -> list[Any]:
    """The items of the base run's pool as they are stored."""
    with project.store.reading() as connection:
        return connection.execute(
            "SELECT source, pool_item.* FROM pool_item JOIN pool USING (pool_id) WHERE pool_id = ? ORDER BY ALL",
            [find_run(connection, None).pool_id],
        ).fetchall()


def agreement(project: Project) -> list[float | None]:
    """Of each item of the base run's pool, the share of samples that agree with the reference."""
    run = base_run(project)
    ready_reference(project.store, run, Silent())
    find_same_answers(project.store, run, Silent())
    with project.store.reading() as connection:
        reference = find_reference(connection, run)
        assert reference is not None
        assert reference.verdicts_by == run.verdicts_by
        values: list[float | None] = reference_agreement(connection, run, reference).to_pylist()
    return values


def gold(project: Project) -> list[tuple[str, str]]:
    with project.store.reading() as connection:
        return connection.execute("SELECT answer, source FROM gold ORDER BY ALL").fetchall()


@pytest.fixture
def base(probe_sums: Callable[..., Project]) -> Project:
    """Three sums without answers, judged as mathematics; half of the base model's samples say N+x."""
    project = probe_sums(3, answer=saying("The answer is $#+x$.", "The answer is $7-#$."), topic="sums")
    Project(db=project.settings.db, verifier="math").verify()
    return project


def test_a_probed_reference_agrees_by_algebra(
    base: Project, tmp_path: Path, scripted: Callable[[Answer], ScriptedEngine]
) -> None:
    before = base_run(base)
    scripted(saying("The answer is $x+#$.", "The answer is $x+#$.", "The answer is $7-#$."))
    big = Project(db=base.settings.db, model="big", engine="transformers", template="none", k=4)
    report = big.probe(tmp_path / "pool.jsonl", role="reference")
    assert (report.run.role, report.run.verdicts_by) == ("reference", before.verdicts_by)
    assert agreement(base) == [0.5, 0.5, 0.5]
    assert base_run(base) == before
    assert gold(base) == []


@pytest.mark.parametrize(
    "row",
    [
        {"answer": "$x+1$"},
        {"answer": r"So 1+x it is. \boxed{1+x}"},
        {"prediction": "The answer is $x+1$.", "answer": "5"},
        {"completions": ["The answer is $x+1$."], "answer": "5"},
        {"output": {"text": "x+1", "n_tokens": 3}},
    ],
)
def test_a_file_of_answers_is_a_reference_and_no_gold(
    base: Project, write_pool: Callable[..., Path], row: dict[str, Any]
) -> None:
    before = stored_items(base)
    answers = write_pool([{"prompt": "1+1=?"} | row, {"prompt": "unheard of"} | row], "answers.jsonl")
    report = Project(db=base.settings.db, model="").import_samples([answers], role="reference")
    assert (report.run.model, report.run.role, report.run.k) == ("answers", "reference", 1)
    assert report.run.pool_id == base_run(base).pool_id
    assert (report.pool.n_new_items, report.pool.n_with_answer) == (1, 0)
    assert agreement(base) == [None, 0.5, None]
    assert gold(base) == []
    assert stored_items(base) == before


def test_numbers_nulls_and_words_are_answers_as_they_stand(
    probe_sums: Callable[..., Project], write_pool: Callable[..., Path]
) -> None:
    project = probe_sums(4, answer=saying("The answer is #.", "The answer is Ann."))
    Project(db=project.settings.db, verifier="math").verify()
    rows = [{"prompt": f"{n}+{n}=?", "answer": text} for n, text in enumerate((0, "1.0", "Ann", None))]
    report = Project(db=project.settings.db, model="big").import_samples(
        [write_pool(rows, "a.jsonl")], role="reference"
    )
    assert report.n_samples == 3
    assert agreement(project) == [0.5, 0.5, 0.5, None]


def test_a_reference_file_leaves_the_pool_as_it_is(base: Project, write_pool: Callable[..., Path]) -> None:
    """The same prompts make the same pool, but its ids, columns and order are the user's."""
    rows = [{"id": f"other{n}", "prompt": f"{n}+{n}=?", "topic": "none", "answer": "1"} for n in (2, 1, 0)]
    before = stored_items(base)
    Project(db=base.settings.db, model="big").import_samples([write_pool(rows, "answers.jsonl")], role="reference")
    assert stored_items(base) == before


def test_a_reference_may_come_first(
    probe_sums: Callable[..., Project], tmp_path: Path, write_pool: Callable[..., Path]
) -> None:
    rows = [{"prompt": f"{n}+{n}=?", "answer": f"$x+{n}$"} for n in range(3)]
    first = Project(db=tmp_path / "store.duckdb", model="big", verifier="exact")
    assert first.import_samples([write_pool(rows, "answers.jsonl")], role="reference").run.verdicts_by == "exact@1"
    project = probe_sums(3, answer=saying("The answer is $#+x$."))
    assert sorted(row[4] for row in stored_items(project)) == [["q0"], ["q1"], ["q2"]]
    Project(db=project.settings.db, verifier="math").verify()
    assert agreement(project) == [1.0, 1.0, 1.0]


def test_another_verifier_of_the_base_run_judges_the_reference_too(
    base: Project, write_pool: Callable[..., Path]
) -> None:
    rows = [{"prompt": "1+1=?", "answer": "x+1"}]
    Project(db=base.settings.db, model="big").import_samples([write_pool(rows, "a.jsonl")], role="reference")
    assert agreement(base)[1] == 0.5
    Project(db=base.settings.db, verifier="exact").verify()
    assert agreement(base)[1] == 0.0
    Project(db=base.settings.db, verifier="math").verify()
    assert agreement(base)[1] == 0.5


def test_labels_leave_the_last_used_reference_in_its_place(
    base: Project, write_pool: Callable[..., Path], tmp_path: Path
) -> None:
    for name, answer in (("old", "9"), ("new", "x+1")):
        rows = [{"prompt": "1+1=?", "answer": answer}]
        Project(db=base.settings.db, model=name).import_samples([write_pool(rows, f"{name}.jsonl")], role="reference")
    with base.store.reading() as connection:
        rows = connection.execute("SELECT item_id FROM pool_item WHERE list_contains(ids, 'q1')").fetchall()
    labels = write_pool([{"item_id": rows[0][0], "annotator": "ana", "answer": "x+1"}], "labels.jsonl")
    base.ingest([labels])
    assert agreement(base)[1] == 0.5


def test_the_same_run_in_another_role_says_so(base: Project, tmp_path: Path) -> None:
    notes: list[str] = []
    base.progress.note = notes.append  # type: ignore[method-assign]
    run = base.probe(tmp_path / "pool.jsonl", role="reference").run
    assert run.role == "reference"
    assert f"{run.run_id} (tiny) was used as base so far." in notes
    assert any("is a reference" in note for note in notes)
    assert base.probe(tmp_path / "pool.jsonl").run.role == "base"


def test_a_probed_reference_needs_a_name(base: Project, tmp_path: Path) -> None:
    unnamed = Project(db=base.settings.db)
    with pytest.raises(ConfigError, match="--role reference --model"):
        unnamed.probe(tmp_path / "pool.jsonl", role="reference")
