"""`validate` on scripted trainings: what is trained, measured, stored and said; real training is tested elsewhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted import Answer, ScriptedEngine, scripted, write_pool
from scripted_training import Academy, academy, answering

from budgetplan import Interrupted, NothingToDo, PoolError, Project, VerifierError
from budgetplan.steps.validated import ValidationReport
from budgetplan.store.connection import scalar

__all__ = ["academy", "scripted", "write_pool"]

N_ITEMS = 400
SHORT = {"steps": 2, "evaluate_every": 2, "prompts_per_update": 2}
TWICE_MEASURED = {"steps": 4, "evaluate_every": 2, "prompts_per_update": 2}


def rows_named(first: int, n: int, noun: str = "Question") -> list[dict[str, Any]]:
    words = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()
    return [
        {"prompt": f"{noun} {words[i % 10]} {words[i // 10 % 10]} about {i}", "answer": f"{i}"}
        for i in range(first, first + n)
    ]


@pytest.fixture
def probed(
    tmp_path: Path,
    write_pool: Callable[..., Path],
    scripted: Callable[[Answer], ScriptedEngine],
    monkeypatch: pytest.MonkeyPatch,
) -> Project:
    """A pool with answers, each asked four times of a model that is right half of the time."""
    monkeypatch.chdir(tmp_path)
    project = Project(
        db=tmp_path / "store.duckdb", model="tiny", engine="transformers", template="none", k=4, verifier="exact"
    )
    scripted(answering(0.5, "rev-tiny"))
    project.probe(write_pool(rows_named(0, N_ITEMS)))
    return project


def validated(project: Project, **changes: Any) -> ValidationReport:
    return project.validate(**{"changes": SHORT, **changes})


def n_rows(project: Project, query: str) -> int:
    with project.store.reading() as connection:
        return int(scalar(connection, query))


def trained_on(project: Project) -> set[str]:
    with project.store.reading() as connection:
        rows = connection.execute(
            "SELECT prompt FROM validation_item JOIN item USING (item_id) WHERE role = 'hard'"
        ).fetchall()
    return {prompt for (prompt,) in rows}


def test_the_better_arm_is_found_and_everything_it_rests_on_is_stored(probed: Project, academy: Academy) -> None:
    report = validated(probed, n_seeds=2, changes=TWICE_MEASURED)
    assert [arm.arm for arm in report.arms] == ["hard", "easy", "middle", "random"]
    assert {arm.n_items for arm in report.arms} == {32}  # a tenth of the 320 that are not held out
    assert len(academy.trained) == len(set(academy.trained)) == 8
    assert report.verdict is not None
    assert (report.verdict.claim, report.verdict.control) == ("better", "random")
    hard = report.arms[0]
    assert hard.learnable is not None
    assert hard.learnable.groups == 50.0
    assert [point.step for point in hard.curve] == [2, 4]
    assert abs(hard.gain.points - (hard.percent - report.base.percent)) < 1e-9
    assert n_rows(probed, "SELECT count(DISTINCT training_id) FROM validation_run") == 8
    assert n_rows(probed, "SELECT count(*) FROM validation_group") == 8 * 4 * 2
    assert n_rows(probed, "SELECT count(*) FROM ledger WHERE kind = 'training'") == 8
    assert all(path.exists() for path in report.pictures)
    assert academy.opened.count("rev-tiny") == 1  # the samples that chose the items do not measure them


def test_the_same_command_again_trains_and_samples_nothing(probed: Project, academy: Academy) -> None:
    first = validated(probed, n_seeds=2, arms=("hard", "random"))
    opened = len(academy.opened)
    again = validated(probed, n_seeds=2, arms=("hard", "random"))
    assert len(academy.trained) == 4
    assert len(academy.opened) == opened
    assert again == first


def test_more_seeds_and_more_samples_add_to_what_is_there(probed: Project, academy: Academy) -> None:
    validated(probed, n_seeds=2, arms=("hard", "random"))
    report = validated(probed, n_seeds=3, arms=("hard", "random"), n_samples=6)
    assert len(academy.trained) == 6
    assert (report.seeds, report.n_samples) == ((0, 1, 2), 6)


def test_stopped_while_training_it_goes_on_with_what_is_left(probed: Project, academy: Academy) -> None:
    def stop_at_the_third(spec: Any) -> None:
        if len(academy.trained) == 2:
            raise KeyboardInterrupt

    academy.before = stop_at_the_third
    with pytest.raises(Interrupted, match="everything finished are kept"):
        validated(probed, n_seeds=2, arms=("hard", "random"))
    academy.before = lambda spec: None
    validated(probed, n_seeds=2, arms=("hard", "random"))
    assert sorted(academy.trained) == [("hard", 0), ("hard", 1), ("random", 0), ("random", 1)]


def test_only_the_last_checkpoint_stays_on_disk(probed: Project, academy: Academy) -> None:
    validated(probed, n_seeds=1, arms=("hard",), changes=TWICE_MEASURED)
    left = {path.name for path in probed.store.validation_folder.glob("*/checkpoints/*")}
    assert left == {"checkpoint-4"}


def test_what_measures_is_nothing_to_rank_by(probed: Project, academy: Academy) -> None:
    before = probed.rank().table
    validated(probed, n_seeds=1, arms=("hard", "random"))
    assert probed.rank().table.equals(before)
    assert [run.run.model for run in probed.status().runs] == ["tiny"]


def test_one_seed_gets_no_verdict_but_all_figures(probed: Project, academy: Academy) -> None:
    report = validated(probed, n_seeds=1, arms=("hard", "random"))
    assert report.verdict is not None
    assert report.verdict.claim == "refused"
    assert report.arms[0].gain.points > 0


def test_a_test_file_is_measured_and_prompts_that_are_trained_on_are_refused(
    probed: Project, academy: Academy, write_pool: Callable[..., Path]
) -> None:
    other = write_pool(rows_named(1000, 50, "Riddle"), "test.jsonl")
    report = validated(probed, n_seeds=1, arms=("hard",), test=str(other))
    assert report.n_test == 50
    assert report.arms[0].n_items == 40  # nothing of the pool is held out
    known = min(trained_on(probed))
    rows = [*rows_named(1000, 50, "Riddle"), {"prompt": f"  {known.upper()} ", "answer": "1"}]
    leaking = str(write_pool(rows, "leaking.jsonl"))
    with pytest.raises(PoolError, match=r"--test: 1 of its 51 prompts are trained on"):
        validated(probed, n_seeds=1, arms=("hard",), test=leaking)
    dropped = validated(probed, n_seeds=1, arms=("hard",), test=leaking, drop_leaks=True)
    assert dropped.n_test == 50
    assert any("left out of --test" in said and "1 item" in said for said in dropped.said)
    with pytest.raises(PoolError, match="--ood: 1 of its 51"):
        validated(probed, n_seeds=1, arms=("hard",), test=str(other), ood=leaking)


def test_prompts_of_another_kind_are_measured_by_pass_at_k(
    probed: Project, academy: Academy, write_pool: Callable[..., Path]
) -> None:
    far = write_pool(rows_named(5000, 15, "Olympiad"), "far.jsonl")
    report = validated(probed, n_seeds=2, arms=("hard", "random"), ood=str(far), k_of_pass=4)
    assert report.base.pass_at_k is not None
    assert report.arms[0].pass_at_k is not None
    assert 80 < report.base.pass_at_k <= 100  # 1 - 0.5 ** 4 of the prompts, about
    assert report.arms[0].pass_at_k >= report.base.pass_at_k - 10


def test_greedy_asks_once_beside_what_was_sampled(probed: Project, academy: Academy) -> None:
    sampled = validated(probed, n_seeds=1, arms=("hard", "random"))
    report = validated(probed, n_seeds=1, arms=("hard", "random"), greedy=True)
    assert (report.greedy, report.n_samples) == (True, 1)
    assert report.validation_id != sampled.validation_id
    assert len(academy.trained) == 2
    assert validated(probed, n_seeds=1, arms=("hard", "random")) == sampled


def test_an_arm_without_gold_is_named_and_the_rest_run(
    tmp_path: Path,
    write_pool: Callable[..., Path],
    scripted: Callable[[Answer], ScriptedEngine],
    academy: Academy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    project = Project(
        db=tmp_path / "store.duckdb", model="tiny", engine="transformers", template="none", k=4, verifier="exact"
    )
    scripted(answering(0.5, "rev-tiny"))
    rows = [row if i % 4 else {"prompt": row["prompt"]} for i, row in enumerate(rows_named(0, 200))]
    project.probe(write_pool(rows))
    test = str(write_pool(rows_named(1000, 40, "Riddle"), "test.jsonl"))
    report = validated(project, n_seeds=1, arms=("hard", "all", "audit"), test=test)
    assert [arm.name for arm in report.impossible] == ["hard", "audit"]
    assert report.said[0] == "all is the only arm, so there is nothing to compare it with"
    assert "all" in {arm.arm for arm in report.arms}


def test_without_any_answer_there_is_nothing_to_validate(
    tmp_path: Path, write_pool: Callable[..., Path], scripted: Callable[[Answer], ScriptedEngine], academy: Academy
) -> None:
    project = Project(db=tmp_path / "store.duckdb", model="tiny", engine="transformers", template="none", k=2)
    scripted(answering(0.5, "rev-tiny"))
    project.probe(write_pool([{"prompt": row["prompt"]} for row in rows_named(0, 20)]))
    with pytest.raises(NothingToDo, match="no item has an answer"):
        validated(project)


def test_a_model_that_was_not_probed_is_named_with_those_that_were(probed: Project, academy: Academy) -> None:
    other = Project(db=probed.settings.db, model="phi-4")
    with pytest.raises(NothingToDo, match=r"no samples of phi-4.*tiny"):
        validated(other)


def test_a_verifier_that_fails_on_every_known_answer_is_refused_before_training(
    probed: Project, academy: Academy, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("def judge(completions, answer, **columns):\n    raise KeyError('no such field')\n")
    Project(db=probed.settings.db, verifier=f"{broken}:judge").verify()
    with pytest.raises(VerifierError, match=r"fails on each of .* known answers .*no such field"):
        validated(probed)
    assert not academy.trained


def test_a_dry_run_trains_nothing_that_stays(probed: Project, academy: Academy) -> None:
    plan = probed.plan_validation(changes=SHORT, gpu_price="3.60usd")
    assert [arm.arm for arm in plan.arms] == ["hard", "easy", "middle", "random"]
    assert plan.seconds_per_update == 2.0
    assert plan.training_hours == pytest.approx(12 * 2 * 2.0 / 3600)
    assert plan.money is not None
    assert plan.money.endswith("usd")
    assert n_rows(probed, "SELECT count(*) FROM validation_run") == 0
    assert not list(probed.store.validation_folder.glob("*"))


def test_an_arm_that_stopped_early_is_marked_with_the_reason(probed: Project, academy: Academy) -> None:
    academy.stopped = "no group of the first 200 had mixed rewards: all right"
    report = validated(probed, n_seeds=1, arms=("hard", "random"))
    assert [arm.stopped for arm in report.arms] == [{0: academy.stopped}] * 2


def test_a_corrected_answer_judges_and_trains_again(
    probed: Project, academy: Academy, write_pool: Callable[..., Path]
) -> None:
    test = str(write_pool(rows_named(1000, 40, "Riddle"), "test.jsonl"))
    before = validated(probed, n_seeds=1, arms=("hard", "all"), test=test)
    corrected = [{**row, "answer": "none"} for row in rows_named(1000, 40, "Riddle")]
    after = validated(probed, n_seeds=1, arms=("hard", "all"), test=str(write_pool(corrected, "test.jsonl")))
    assert len(academy.trained) == 2
    assert after.n_test == 40
    assert [arm.percent for arm in after.arms] == pytest.approx([100 - arm.percent for arm in before.arms])
    assert after.base.percent == pytest.approx(100 - before.base.percent)
    changed = [{**row, "answer": "something else"} if i == 7 else row for i, row in enumerate(rows_named(0, N_ITEMS))]
    probed.probe(write_pool(changed))
    validated(probed, n_seeds=1, arms=("hard", "all"), test=test)
    assert ("all", 0) in academy.trained[2:]


def test_bought_items_are_not_measured_by_the_samples_that_chose_them(
    tmp_path: Path,
    write_pool: Callable[..., Path],
    scripted: Callable[[Answer], ScriptedEngine],
    academy: Academy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every item has p = .5 for every model, so that nothing is gained; the hardest of 4 samples look harder."""
    monkeypatch.chdir(tmp_path)
    academy.p = dict.fromkeys(academy.p, 0.5)
    project = Project(
        db=tmp_path / "store.duckdb", model="tiny", engine="transformers", template="none", k=4, verifier="exact"
    )
    scripted(answering(0.5, "rev-tiny"))
    rows = rows_named(0, 400)
    project.probe(write_pool(rows))
    hardest = set(project.rank().table["item_id"].to_pylist()[:120])
    with project.store.writing() as connection:  # as if only these had been bought
        connection.execute("DELETE FROM gold WHERE NOT list_contains(?, item_id)", [sorted(hardest)])
    report = validated(project, n_seeds=2, arms=("base-wrong",), budget="20 items", holdout="50%")
    assert 40 < report.base.percent < 60
    assert report.arms[0].gain.low < 0 < report.arms[0].gain.high


def test_only_what_was_measured_and_chosen_is_stored(
    probed: Project, academy: Academy, write_pool: Callable[..., Path]
) -> None:
    far = str(write_pool(rows_named(5000, 15, "Olympiad"), "far.jsonl"))
    validated(probed, n_seeds=1, arms=("hard",), ood=far, greedy=True, changes=TWICE_MEASURED, confirm=lambda _: True)
    # The base on both tests, the checkpoint in the middle on the first, the last one on both.
    assert n_rows(probed, "SELECT count(*) FROM probe_run WHERE role = 'evaluation'") == 2 + 1 + 2
    assert n_rows(probed, "SELECT count(*) FROM validation WHERE settings LIKE '%function%'") == 0
