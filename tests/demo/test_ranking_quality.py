from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import roc_auc_score

from budgetplan.demo.ranking_quality import SELF_AGREEMENT, SIGNALS, Change, Changes, judge_rankings, quality
from budgetplan.demo.rankings import PoolRanking
from budgetplan.difficulty.interval import Interval
from budgetplan.difficulty.trust import Trust

N = 200
TRUTH = np.random.default_rng(0).permutation(np.linspace(0, 1, N))
NOBODY = np.full(N, np.nan)


def ranking(place, p_mean=NOBODY, n_answered=0, agreement=NOBODY):
    """A ranking that knows the answers of the first items."""
    answered = np.arange(N) < n_answered
    ids = pa.chunked_array([[f"bp-{n}" for n in range(N)]])
    return PoolRanking(ids, place, p_mean, NOBODY, place, agreement, answered)


def noisy(spread, seed=1):
    return TRUTH + np.random.default_rng(seed).normal(0, spread, N)


def trust(low, high):
    return Trust(12, 4, Interval(0.8, low, high), None, None, None, ())


COLD, CEILING = ranking(noisy(0.5), agreement=noisy(0.9, 2)), ranking(TRUTH, TRUTH, N)


def test_every_row_is_measured_from_its_own_places():
    after = ranking(noisy(0.1), np.clip(noisy(0.1), 0, 1), 50)
    judged = judge_rankings([COLD, after], CEILING, TRUTH, None)
    places = [np.zeros(N), COLD.agreement, COLD.place, after.place, TRUTH]
    assert [row.n_labels for row in judged.rows] == [0, 0, 0, 50, N]
    for row, place in zip(judged.rows, places, strict=True):
        assert row.all_items.auroc == pytest.approx(roc_auc_score(TRUTH <= 0.2, -place))
        assert row.unanswered.auroc == pytest.approx(roc_auc_score(TRUTH[50:] <= 0.2, -place[50:]))
        picked = TRUTH[np.argsort(place)[: N // 10]].mean()
        expected = (0.5 - picked) / (0.5 - np.sort(TRUTH)[: N // 10].mean()) if place.any() else 0
        assert row.all_items.pick_quality == pytest.approx(expected, abs=1e-12)
    assert [row.all_items.calibration_error is None for row in judged.rows] == [True, True, True, False, False]
    assert judged.row(SELF_AGREEMENT) is judged.rows[1]
    assert judged.row(SIGNALS) is judged.rows[2]
    assert (judged.n_items, judged.n_unanswered, judged.n_hard) == (N, 150, int((TRUTH <= 0.2).sum()))


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [(0.8, 0.01, "better"), (0.01, 0.8, "worse")],
)
def test_the_change_says_better_or_worse_by_its_interval(before, after, verdict):
    judged = judge_rankings([ranking(noisy(before)), ranking(noisy(after, 3), n_answered=20)], CEILING, TRUTH, None)
    both = (judged.all_items_changes, judged.unanswered_changes)
    for change in (change for changes in both for change in (changes.auroc, changes.pick_quality)):
        assert change is not None
        assert change.low <= change.value <= change.high
        assert change.verdict == verdict
    assert not judged.same_order


def test_a_rescaled_ranking_is_the_same_order_and_no_different():
    after = ranking(1 / (1 + np.exp(-COLD.place)), n_answered=20)
    judged = judge_rankings([COLD, after], CEILING, TRUTH, None)
    assert judged.same_order
    assert judged.all_items_changes == judged.unanswered_changes == Changes(Change(0, 0, 0), Change(0, 0, 0))
    assert Change(0, 0, 0).verdict == "no different"


def test_the_audit_slice_is_held_against_the_ranking_that_saw_no_own_label():
    blind = noisy(0.3, 4)
    after = replace(ranking(TRUTH, n_answered=20), blind=blind)
    true = roc_auc_score(TRUTH <= 0.2, -blind)
    right = judge_rankings([COLD, after], CEILING, TRUTH, trust(0.5, 1.0)).audit
    assert right.true == pytest.approx(true)
    assert right.holds is True
    assert judge_rankings([COLD, after], CEILING, TRUTH, trust(0.0, 0.1)).audit.holds is False
    assert judge_rankings([COLD, after], CEILING, TRUTH, None).audit.holds is None


@pytest.mark.parametrize("truth", [np.zeros(N), np.ones(N)])
def test_a_pool_all_as_hard_has_no_quality_and_no_nan(truth):
    judged = judge_rankings([COLD, ranking(noisy(0.1), n_answered=N)], CEILING, truth, None)
    assert all(row.all_items.auroc is None and row.all_items.pick_quality is None for row in judged.rows)
    assert judged.all_items_changes == judged.unanswered_changes == Changes(None, None)
    assert judged.audit.true is None
    assert judged.n_unanswered == 0


def test_items_without_a_place_come_last_and_no_error_is_claimed_without_every_p():
    place = np.where(TRUTH <= 0.2, np.nan, TRUTH)
    assert quality(place, place, TRUTH).auroc == 0
    assert quality(place, place, TRUTH).calibration_error is None


def test_the_tie_at_the_cut_is_counted():
    tied = ranking(np.where(TRUTH < 0.4, 0.0, TRUTH), TRUTH, N)
    assert judge_rankings([COLD, COLD], tied, TRUTH, None).n_tied_at_ceiling == (TRUTH < 0.4).sum()
    assert judge_rankings([COLD, COLD], CEILING, TRUTH, None).n_tied_at_ceiling == 0
