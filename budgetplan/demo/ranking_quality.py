"""Owns how the demo judges rankings: against success rates of samples that no ranking has seen.

Invariant: every number is measured here, from columns of places and a column of truth; what cannot be is None.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from budgetplan.demo.rankings import PoolRanking
from budgetplan.difficulty.auroc import auroc
from budgetplan.difficulty.calibration_error import expected_calibration_error
from budgetplan.difficulty.interval import Interval
from budgetplan.difficulty.pick_quality import pick_quality
from budgetplan.difficulty.posterior import INTERVAL
from budgetplan.difficulty.trust import HARD, Trust

SHARE = 0.1
"""The picks that are judged: the hardest tenth."""
SELF_AGREEMENT, SIGNALS = "self-agreement alone", "signals, no labels"
_DRAWS = 1_000
_SEED = 0

_Measure = Callable[[NDArray[np.float64], NDArray[np.float64]], float | None]


@dataclass(frozen=True, slots=True)
class Quality:
    """How good a ranking is over some items.

    `auroc` is that for p <= HARD, `pick_quality` that of the hardest tenth; `calibration_error` exists only where the
    ranking claims a p for every item.
    """

    auroc: float | None
    pick_quality: float | None
    calibration_error: float | None


@dataclass(frozen=True, slots=True)
class QualityRow:
    """One ranking: the answers it knew, and its quality over all items and over those that stayed without an answer."""

    ranking: str
    n_labels: int
    all_items: Quality
    unanswered: Quality


@dataclass(frozen=True, slots=True)
class Change:
    """A number of one ranking less that of another over the same items, with a 90 % interval over items."""

    value: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """What the interval allows to say."""
        if self.low > 0:
            return "better"
        return "worse" if self.high < 0 else "no different"


@dataclass(frozen=True, slots=True)
class Changes:
    """What the labels changed over some items; None where it cannot be measured."""

    auroc: Change | None
    pick_quality: Change | None


@dataclass(frozen=True, slots=True)
class AuditJudged:
    """What the audit slice said of the AUROC, and what it was; `holds`: its interval has the true one in it."""

    n_items: int
    estimate: Interval | None
    true: float | None

    @property
    def holds(self) -> bool | None:
        """None where one of them is missing."""
        if self.estimate is None or self.true is None:
            return None
        return self.estimate.low <= self.true <= self.estimate.high


@dataclass(frozen=True, slots=True)
class RankingsJudged:
    """The demo's table, what the labels changed over all items and those still without an answer, the audit's word.

    `same_order`: the labels left these items in the order of the signals; `n_tied_at_ceiling` items share the place at
    the cut where every answer is known.
    """

    rows: list[QualityRow]
    n_items: int
    n_unanswered: int
    n_hard: int
    n_tied_at_ceiling: int
    same_order: bool
    all_items_changes: Changes
    unanswered_changes: Changes
    audit: AuditJudged

    def row(self, ranking: str) -> QualityRow:
        """The row of this name."""
        return next(row for row in self.rows if row.ranking == ranking)

    @property
    def last_row(self) -> QualityRow:
        """The ranking after the last batch."""
        return self.rows[-2]


def judge_rankings(
    rankings: Sequence[PoolRanking], ceiling: PoolRanking, truth: NDArray[np.float64], trust: Trust | None
) -> RankingsJudged:
    """Judge a pool's ranking before any label and after each batch; `truth` is p of every item, in the same order.

    `ceiling` knows every answer and saw the same samples; `trust` is what the audit slice said in the end.
    """
    first, last = rankings[0], rankings[-1]
    left, nobody = ~last.answered, np.full(len(truth), np.nan)
    columns = [
        ("random picks", 0, np.zeros(len(truth)), nobody),
        (SELF_AGREEMENT, 0, first.agreement, nobody),
        (SIGNALS, 0, first.place, first.p_mean),
        *(
            (f"after batch {number}", int(after.answered.sum()), after.place, after.p_mean)
            for number, after in enumerate(rankings[1:], start=1)
        ),
        ("all answers known", int(ceiling.answered.sum()), ceiling.place, ceiling.p_mean),
    ]
    rows = [
        QualityRow(name, n_labels, quality(place, p, truth), quality(place[left], p[left], truth[left]))
        for name, n_labels, place, p in columns
    ]
    return RankingsJudged(
        rows=rows,
        n_items=len(truth),
        n_unanswered=int(left.sum()),
        n_hard=int((truth <= HARD).sum()),
        n_tied_at_ceiling=_n_tied_at_cut(ceiling.place),
        same_order=bool((_levels(first.place[left]) == _levels(last.place[left])).all()),
        all_items_changes=_changes(first.place, last.place, truth),
        unanswered_changes=_changes(first.place[left], last.place[left], truth[left]),
        audit=AuditJudged(trust.n_items if trust else 0, trust.auroc if trust else None, _auroc(last.blind, truth)),
    )


def quality(place: NDArray[np.float64], p_mean: NDArray[np.float64], truth: NDArray[np.float64]) -> Quality:
    """Judge one ranking over some items, one entry each."""
    claimed = len(truth) and np.isfinite(p_mean).all()
    error = expected_calibration_error(p_mean, truth) if claimed else None
    return Quality(_auroc(place, truth), _tenth(place, truth), error)


def _tenth(place: NDArray[np.float64], truth: NDArray[np.float64]) -> float | None:
    return pick_quality(place, truth, _n_picked(len(truth)))


def _n_picked(n_items: int) -> int:
    return max(int(n_items * SHARE), 1)


def _n_tied_at_cut(place: NDArray[np.float64]) -> int:
    """How many items share the last picked place; 0 where it is one item's alone."""
    cut = np.sort(place)[_n_picked(len(place)) - 1]
    n_tied = int((place == cut).sum())
    return n_tied if n_tied > 1 else 0


def _levels(place: NDArray[np.float64]) -> NDArray[np.intp]:
    """Number the distinct places from the lowest."""
    return np.unique(place, return_inverse=True)[1]


def _auroc(place: NDArray[np.float64], truth: NDArray[np.float64]) -> float | None:
    """AUROC for p <= HARD; items without a place come last."""
    hard = truth <= HARD
    if not 0 < hard.sum() < len(hard):
        return None
    return auroc(hard, np.where(np.isnan(place), np.inf, place), np.ones(len(place))).value


def _changes(before: NDArray[np.float64], after: NDArray[np.float64], truth: NDArray[np.float64]) -> Changes:
    return Changes(_change(_auroc, before, after, truth), _change(_tenth, before, after, truth))


def _change(
    measure: _Measure, before: NDArray[np.float64], after: NDArray[np.float64], truth: NDArray[np.float64]
) -> Change | None:
    """Bootstrap the difference over items, both rankings on the same draws; None where it cannot be measured."""
    was, now = measure(before, truth), measure(after, truth)
    if was is None or now is None:
        return None
    rng, found = np.random.default_rng(_SEED), []
    for _ in range(_DRAWS):
        drawn = rng.integers(len(truth), size=len(truth))
        one, other = measure(before[drawn], truth[drawn]), measure(after[drawn], truth[drawn])
        if one is not None and other is not None:
            found.append(other - one)
    if not found:
        return None
    low, high = np.quantile(found, [(1.0 - INTERVAL) / 2.0, (1.0 + INTERVAL) / 2.0])
    return Change(now - was, float(low), float(high))
