"""The sentences under the demo's table are chosen by the numbers."""

from dataclasses import replace
from typing import Any

import pytest

from budgetplan.cli.demo_quality import quality_document, sentences, show_quality
from budgetplan.demo.ranking_quality import AuditJudged, Change, Changes, Quality, QualityRow, RankingsJudged
from budgetplan.difficulty.interval import Interval


def judged(**changes: Any) -> RankingsJudged:
    found = {
        "random picks": (0.5, -1e-17, None),
        "self-agreement alone": (0.7, 0.4, None),
        "signals, no labels": (0.8, 0.7, None),
        "after batch 1": (0.85, 0.75, 0.043),
        "all answers known": (0.95, 0.9, 0.02),
    }
    rows = [QualityRow(name, 0, Quality(*numbers), Quality(*numbers)) for name, numbers in found.items()]
    better, same = Change(0.05, 0.01, 0.09), Change(-0.01, -0.05, 0.03)
    given = RankingsJudged(
        rows=rows,
        n_items=400,
        n_unanswered=330,
        n_hard=175,
        n_tied_at_ceiling=0,
        same_order=False,
        all_items_changes=Changes(better, same),
        unanswered_changes=Changes(Change(-0.04, -0.06, -0.02), None),
        audit=AuditJudged(12, Interval(0.9, 0.6, 1.0), 0.94),
    )
    return replace(given, **changes)


def said(**changes: Any) -> str:
    return " ".join(sentences(judged(**changes)))


def test_better_worse_and_no_difference_follow_the_intervals() -> None:
    text = said()
    assert "signals go 70% of the way from random ones towards the best possible, those by self-agreement" in text
    assert "over all items: AUROC +0.050 (+0.010 to +0.090), better; quality -0.010" in text
    assert "(-0.050 to +0.030), no difference beyond chance" in text
    assert "330 items still without an answer: AUROC -0.040 (-0.060 to -0.020), worse. Their p" in text
    assert "off by 0.04 on average" in text


def test_an_unchanged_order_is_called_so() -> None:
    assert "330 items still without an answer: in the same order as before." in said(same_order=True)


@pytest.mark.parametrize(
    ("audit", "says"),
    [
        (AuditJudged(12, Interval(0.9, 0.6, 1.0), 0.94), "0.90 (0.60 to 1.00); over all items it is 0.94: the 90% "),
        (AuditJudged(12, Interval(0.9, 0.6, 1.0), 0.94), "interval holds the truth"),
        (AuditJudged(12, Interval(0.9, 0.8, 1.0), 0.74), "interval misses the truth"),
        (AuditJudged(3, None, 0.94), "(3 items with an answer) could not tell the AUROC"),
    ],
)
def test_the_audit_slice_is_told_right_or_wrong(audit: AuditJudged, says: str) -> None:
    assert says in said(audit=audit)


def test_what_cannot_be_measured_is_said_and_no_nan_shown(capsys: pytest.CaptureFixture[str]) -> None:
    nothing = Quality(None, None, None)
    rows = [QualityRow(row.ranking, 0, nothing, nothing) for row in judged().rows]
    empty, audit = Changes(None, None), AuditJudged(0, None, None)
    without = judged(rows=rows, all_items_changes=empty, unanswered_changes=empty, audit=audit)
    text = " ".join(sentences(without))
    assert "all items are as hard as each other" in text
    assert "over all items: cannot be told" in text
    show_quality(without, 16)
    assert "nan" not in capsys.readouterr().out.lower()


def test_worse_than_random_is_said_so() -> None:
    rows = [replace(row, all_items=Quality(0.4, -0.2, None)) for row in judged().rows]
    assert "picks by signals go 20% of the way from random ones away from the best possible" in said(rows=rows)


def test_the_table_has_no_minus_zero_and_names_the_tie(capsys: pytest.CaptureFixture[str]) -> None:
    show_quality(judged(n_tied_at_ceiling=125), 16)
    shown = " ".join(capsys.readouterr().out.split())
    assert "random picks 0 0.50 0.00 - 0.50 0.00" in shown
    assert "where 125 items tie at the cut" in shown


def test_the_document_says_the_same() -> None:
    document = quality_document(judged(), 16)
    assert document["truth_k"] == 16
    assert document["audit"]["holds"] is True
    assert document["says"] == sentences(judged())
