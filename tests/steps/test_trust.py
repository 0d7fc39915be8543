from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_pools import MadePool, bought, fill_in, imported, make_pool, prompt, said

from budgetplan import Project
from budgetplan.difficulty.trust import Trust, assess
from budgetplan.records import Silent
from budgetplan.steps.estimates import PoolEstimates, estimates_to_rank
from budgetplan.steps.signals import run_to_rank
from budgetplan.steps.trust import WithoutAnswers

N = 80


@pytest.fixture
def pool() -> MadePool:
    return make_pool(N)


@pytest.fixture
def project(pool: MadePool, tmp_path: Path) -> Project:
    return imported(tmp_path, pool.rows)


def estimates_of(project: Project) -> PoolEstimates:
    with run_to_rank(project.store, None, Silent()) as run:
        return estimates_to_rank(project.store, run)


def blind(project: Project) -> dict[str, float]:
    """Predictions that never saw the item's own label, by the user's id."""
    estimates = estimates_of(project)
    assert estimates.unanswered is not None
    assert estimates.unanswered.blind is not None
    return dict(zip(estimates.table["id"].to_pylist(), estimates.unanswered.blind.tolist(), strict=True))


def without_answers(project: Project) -> WithoutAnswers:
    found = project.rank().standing.without_answers
    assert found is not None
    return found


def sent_out(project: Project, tmp_path: Path, budget: str, **choices: Any) -> tuple[Path, set[str], set[str]]:
    """The annotators' sheet of a shortlist, the prompts of its audit items, and those of the picks beside them."""
    table = project.shortlist(budget, out=tmp_path / "sl.csv", force=True, **choices).table
    prompts = {True: set[str](), False: set[str]()}
    for row in table.to_pylist():
        prompts[row["audit"]].add(row["prompt"])
    return tmp_path / "sl.annotators.csv", prompts[True], prompts[False]


def only(answer_of: dict[str, str], prompts: set[str]) -> dict[str, str]:
    return {asked: answer_of[asked] for asked in prompts}


def test_only_audit_items_count_and_never_picks(project: Project, pool: MadePool, tmp_path: Path) -> None:
    sheet, audit, picks = sent_out(project, tmp_path, "50%", audit="20", batch="100%")
    project.ingest([fill_in(sheet, only(pool.answer_of, picks))])
    found = without_answers(project)
    assert found.calibration is not None
    assert found.calibration.n_items == len(picks) >= 20
    assert found.trust.n_items == 0
    project.ingest([fill_in(sheet, only(pool.answer_of, audit), "bo")])
    assert without_answers(project).trust.n_items == len(audit) == 20


def test_the_numbers_are_those_of_blind_predictions_for_audit_items(
    project: Project, pool: MadePool, tmp_path: Path
) -> None:
    sheet, audit, _ = sent_out(project, tmp_path, "50%", audit="20", batch="100%")
    project.ingest([fill_in(sheet, pool.answer_of)])
    estimates, predicted = estimates_of(project), np.array(list(blind(project).values()))
    table = estimates.table
    assert estimates.unanswered is not None
    ids = table["item_id"].to_pylist()
    rows = np.array(sorted((row for row in range(N) if prompt(row) in audit), key=lambda row: ids[row]))
    expected = assess(
        place=estimates.unanswered.place[rows],  # which knows no label: calibration has only rescaled it
        p_mean=predicted[rows],
        n_correct=table["n_correct"].to_numpy()[rows],
        k=table["k"].to_numpy()[rows],
        weight=np.full(20, N / 20),
        pool_p_mean=predicted,
        n_pool=N,
    )
    assert without_answers(project).trust == expected
    assert expected.auroc is not None
    assert expected.auroc.value > 0.7


def test_no_audit_item_is_predicted_by_its_own_label(project: Project, pool: MadePool, tmp_path: Path) -> None:
    sheet, audit, _ = sent_out(project, tmp_path, "50%", audit="20", batch="100%")
    project.ingest([fill_in(sheet, pool.answer_of)])
    before, trust = blind(project), without_answers(project).trust
    changed = next(row["id"] for row in pool.rows if row["prompt"] in audit and pool.hidden_p([row["id"]]) > 0.8)
    asked = prompt(int(changed.removeprefix("q")))
    project.ingest([fill_in(sheet, {asked: "5555"})])
    after = blind(project)
    assert after[changed] == before[changed]
    assert after != before
    assert without_answers(project).trust.n_hard == trust.n_hard + 1


def test_trust_is_the_same_in_every_report(project: Project, pool: MadePool, tmp_path: Path) -> None:
    report = bought(project, tmp_path, pool.answer_of, "50%")
    assert report.recalibrated is not None
    trust = report.recalibrated.now.trust
    assert trust == without_answers(project).trust
    standing = project.shortlist(out=tmp_path / "rest.csv").standing
    assert standing.without_answers is not None
    assert standing.without_answers.trust == trust


def test_without_any_label_nothing_is_said_of_trust(project: Project) -> None:
    project.rank()
    trust = without_answers(project).trust
    assert (trust.n_items, trust.auroc, trust.pool_mean) == (0, None, None)


@pytest.mark.parametrize(
    ("completions", "sentence"),
    [
        ([[said(7)] * 4] * 9, "the signals are the same for all 9 items"),
        ([[said(7)]] * 9, "the signals are the same for all 9 items"),
        ([[said(10 * n)] * 4 for n in (1, 10, 100, 1000)], "only wording, log-probabilities and the lengths"),
        ([[said(7), said(8)]], "only one item has samples"),
        ([[said(7), said(8)], [said(7), said(7)]], None),
        ([[said(7)], ["I do not know"]], None),
    ],
)
def test_what_the_signals_cannot_tell_is_said(
    tmp_path: Path, completions: list[list[str]], sentence: str | None
) -> None:
    rows = [{"prompt": f"{n:03}?", "completions": samples} for n, samples in enumerate(completions)]
    found = without_answers(imported(tmp_path, rows)).cannot_tell
    assert [sentence in text for text in found] == [True] if sentence else found == ()


def test_trust_says_what_it_cannot_tell(tmp_path: Path, project: Project, pool: MadePool) -> None:
    sheet, audit, _ = sent_out(project, tmp_path, "50%", audit="20", batch="100%")
    first = sorted(audit)[:1]
    project.ingest([fill_in(sheet, only(pool.answer_of, set(first)))])
    trust: Trust = without_answers(project).trust
    assert trust.n_items == 1
    assert "only 1 audit item is labelled" in trust.cannot_tell[0]


def test_where_items_were_kept_out_of_the_draw_predictions_of_these_do_not_count(
    pool: MadePool, tmp_path: Path
) -> None:
    rows = [row | {"split": "easy" if pool.p[item] > 0.5 else "hard"} for item, row in enumerate(pool.rows)]
    project = imported(tmp_path, rows)
    sheet, audit, _ = sent_out(project, tmp_path, "60%", audit="15", batch="100%", exclude=("split=easy",))
    project.ingest([fill_in(sheet, pool.answer_of)])
    trust = without_answers(project).trust
    assert trust.n_items == len(audit) == 15
    assert trust.pool_mean == trust.classical_pool_mean
    assert trust.pool_mean is not None
    assert trust.pool_mean.high < 0.5  # of the hard half alone, although every item has a prediction
