"""From the verdicts of real samples to the shortlist: the paper's shuffled objects, 125 items, K = 10."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from budgetplan.difficulty.posterior import estimate, fit_prior
from budgetplan.selection.budget import parse_budget
from budgetplan.selection.candidates import Candidates
from budgetplan.selection.choose import choose
from budgetplan.selection.compare import compare
from budgetplan.selection.costs import unpriced
from budgetplan.selection.policy import Policy

ROLLOUTS = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "rollouts"
FILE = ROLLOUTS / "ref_shuffleobj_qwen3_4b_train_k10.jsonl"
pytestmark = pytest.mark.skipif(not FILE.is_file(), reason="needs ../shared/data/rollouts")


@pytest.fixture(scope="module")
def pool():
    rows = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    correct = np.array([row["correct"] for row in rows])
    n_correct, k = correct.sum(axis=1), np.full(len(rows), 10)
    estimates = estimate(n_correct, k, fit_prior(n_correct, k))
    return Candidates(
        item_id=pa.array([row["id"] for row in rows]),
        p_hat=estimates.p_hat,
        p_mean=estimates.p_mean,
        learnable=estimates.learnable,
        learnable_horizon=estimates.learnable_horizon,
        k=k,
        first_correct=correct[:, 0].astype(np.int8),
        place=np.full(len(rows), np.nan),
        source=np.full(len(rows), "verified"),
        eligible=np.ones(len(rows), np.bool_),
        available=np.ones(len(rows), np.bool_),
    )


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_hard_takes_12_of_the_16_items_at_zero(pool, seed):
    choice = choose(pool, Policy.HARD, unpriced(125), parse_budget("10%"), seed=seed)
    assert len(choice.order) == 12
    assert pool.p_hat[choice.order].tolist() == [0.0] * 12
    assert (choice.n_tied_at_cut, choice.n_tied_picked) == (16, 12)


def test_what_the_policies_would_buy(pool):
    chosen = choose(pool, Policy.HARD, unpriced(125), parse_budget("10%"))
    rows = {row.policy: row for row in compare(pool, unpriced(125), chosen)}
    assert {row.items for row in rows.values()} == {12}
    assert rows[Policy.EASY].mean_p_hat == 1.0
    assert rows[Policy.MIDDLE].mean_p_hat == pytest.approx(float(np.median(pool.p_hat)), abs=0.05)
    assert rows[Policy.HARD].mean_learnable < 0.35 < 0.9 < rows[Policy.LEARNABLE].mean_learnable
    assert pool.first_correct[choose(pool, Policy.BASE_WRONG, unpriced(125), parse_budget("10%")).order].max() == 0
