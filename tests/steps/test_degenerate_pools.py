"""Pools that give signals nothing to work with: every verb works, and no number that is promised is missing."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from made_pools import bought, imported, make_pool, prompt, said

from budgetplan import NothingToDo, Project
from budgetplan.selection.policy import Policy
from budgetplan.steps.rank import Ranking

N = 14
PROMPTS = [prompt(item) for item in range(N)]


def rows(*completions: Sequence[Any], prompts: Sequence[str] = PROMPTS) -> list[dict[str, Any]]:
    """One item per prompt, their completions in turn."""
    return [
        {"prompt": text, "completions": list(completions[item % len(completions)])} for item, text in enumerate(prompts)
    ]


DEGENERATE = {
    "all samples equal": rows([said(7)] * 4),
    "all samples different": [
        {"prompt": text, "completions": [said(7 + 100 * sample) for sample in range(4)]} for text in PROMPTS
    ],
    "one sample": rows([said(7)], [said(8)]),
    "no answer at all": rows([""] * 3, ["I would rather not say"] * 3),
    "some items without samples": rows([], [None] * 3, ["well"] * 3, [said(7), said(8), None]),
    "different numbers of samples": rows([said(7)], [said(7), said(8)], [said(7)] * 5),
    "prompts without words": rows([said(7)] * 4, [said(7), said(8)] * 2, prompts=["?" * n for n in range(1, N)]),
    "prompts of equal length": rows([said(7), said(8)], prompts=[f"{n:03}" for n in range(N)]),
    "one item": rows([said(7), said(8)], prompts=PROMPTS[:1]),
    "two items": rows([said(7), said(8)], prompts=PROMPTS[:2]),
    "three items": rows([said(7)], [said(8), said(7)], prompts=PROMPTS[:3]),
    "infinite log-probabilities": rows([{"text": said(7), "mean_logprob": -math.inf}], [said(8)]),
    "very long and empty texts": rows(["", "word " * 30_000 + said(7)], ["", ""]),
}


def n_with_a_sample(pool: list[dict[str, Any]], n_looked_at: int) -> int:
    return sum(any(sample is not None for sample in row["completions"][:n_looked_at]) for row in pool)


def check(ranking: Ranking, n_sampled: int) -> None:
    """Every item with a source has finite numbers, the others none; and all that is said of them is JSON."""
    table = ranking.table.to_pylist()
    assert sum(row["source"] is not None for row in table) == n_sampled
    for row in table:
        promised = ["p_mean", "p_low", "p_high", "learnable"] if row["source"] in ("calibrated", "verified") else []
        promised += ["score"] if row["rank"] is not None else []
        promised += ["p_hat"] if row["source"] == "verified" else []
        assert all(math.isfinite(row[name]) for name in promised)
        assert row["source"] is not None or row["rank"] is None
    if ranking.standing.without_answers:
        json.dumps(asdict(ranking.standing.without_answers), allow_nan=False)


@pytest.mark.parametrize("name", DEGENERATE)
def test_every_verb_works(tmp_path: Path, name: str) -> None:
    pool = DEGENERATE[name]
    project = imported(tmp_path, pool, verifier="auto")
    n_sampled, n_first = n_with_a_sample(pool, 5), n_with_a_sample(pool, 1)
    check(project.rank(), n_sampled)
    check(project.rank(single_pass=True), n_first)
    bought(project, tmp_path, {row["prompt"]: "7" for row in pool}, f"{len(pool) * 6 // 10 or 1} items")
    check(project.rank(), n_sampled)
    for policy in (Policy.MIDDLE, Policy.LEARNABLE, Policy.BASE_WRONG):
        check(Project(db=project.settings.db, policy=policy).rank(), n_sampled)


@pytest.mark.parametrize("completions", [[], [None] * 4])
def test_a_pool_without_a_sample_that_counts_has_nothing_to_rank(tmp_path: Path, completions: list[None]) -> None:
    project = imported(tmp_path, rows(completions), verifier="auto")
    ranking = project.rank()
    check(ranking, 0)
    assert ranking.table["rank"].null_count == N
    assert ranking.standing.without_answers is None
    with pytest.raises(NothingToDo, match="budgetplan probe POOL"):
        project.shortlist("50%", out=tmp_path / "sl.csv")


@pytest.mark.parametrize("n_labels", [1, 4, 5])
def test_a_few_labels_calibrate_from_five_on(tmp_path: Path, n_labels: int) -> None:
    pool = make_pool(30, 4)
    project = imported(tmp_path, pool.rows)
    bought(project, tmp_path, pool.answer_of, f"{n_labels} items", audit="0")
    standing = project.rank().standing
    assert standing.n_verified == n_labels
    assert (standing.n_signals, standing.n_calibrated) == ((0, 25) if n_labels == 5 else (30 - n_labels, 0))


def test_items_whose_known_answers_conflict_are_left_out_and_teach_nothing(tmp_path: Path) -> None:
    pool = make_pool(20, 4)
    both = [row | {"answer": answer} for row in pool.rows[:3] for answer in ("1", "2")]
    project = imported(tmp_path, both + pool.rows[3:])
    ranking = project.rank()
    check(ranking, 17)
    assert (ranking.standing.n_conflicting, ranking.standing.n_signals) == (3, 17)
    bought(project, tmp_path, pool.answer_of, "50%", batch="100%", audit="5")
    after = project.rank()
    check(after, 20 - after.standing.n_conflicting)
    assert after.standing.without_answers is not None
    assert after.standing.without_answers.calibration is not None
    assert after.standing.without_answers.calibration.n_items == 10 == after.standing.n_verified


def test_items_called_unanswerable_stay_without_an_answer(tmp_path: Path) -> None:
    pool = make_pool(20, 4)
    project = imported(tmp_path, pool.rows)
    table = project.shortlist("50%", batch="100%", audit="0", out=tmp_path / "sl.csv").table
    labels = tmp_path / "back.jsonl"
    lines = [
        {"item_id": item, "annotator": "ana", "verdict": "unanswerable" if place < 4 else "ok", "answer": "1"}
        for place, item in enumerate(table["item_id"].to_pylist())
    ]
    labels.write_text("".join(json.dumps(line) + "\n" for line in lines))
    project.ingest([labels])
    ranking = project.rank()
    check(ranking, 20)
    assert (ranking.standing.n_verified, ranking.standing.n_calibrated) == (6, 14)
