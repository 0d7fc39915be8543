"""What `budgetplan demo --no-answers` says in the end: how good the ranking was, beside the truth.

Invariant: every word that judges follows from the numbers beside it.
"""

from typing import TYPE_CHECKING, Any

from budgetplan.errors import counted

if TYPE_CHECKING:
    from budgetplan.demo.ranking_quality import Change, Changes, QualityRow, RankingsJudged

VERDICTS = {"better": "better", "worse": "worse", "no different": "no difference beyond chance"}


def show_quality(judged: "RankingsJudged", truth_k: int) -> None:
    """Show the table and what it says."""
    from rich.table import Table

    from budgetplan.cli.terminal import add_row, say, stdout_console

    console = stdout_console()
    console.print(
        f"\nHow good was the ranking? (truth: {truth_k} other samples of every item, judged by the answers that nobody "
        "gave the ranking)"
    )
    table = Table("ranking", box=None)
    for name in ("labels", "AUROC", "quality", "cal. error", "AUROC*", "quality*"):
        table.add_column(name, justify="right")
    for row in judged.rows:
        add_row(table, *_cells(row))
    console.print(table)
    for text in (_legend(judged), *sentences(judged)):
        console.print(text, markup=False)
    say("Next: budgetplan probe YOUR-POOL.jsonl --model YOUR-MODEL")


def _legend(judged: "RankingsJudged") -> str:
    ties = f", where {judged.n_tied_at_ceiling:,} items tie at the cut" if judged.n_tied_at_ceiling else ""
    return (
        f"AUROC: of finding items with p ≤ .2 ({judged.n_hard:,} of {judged.n_items:,}). Quality: of picking the "
        "hardest tenth, 0 is random, 1 the best possible. Cal. error: how far predicted p lies from the true one, on "
        f"average. All answers known: judged from the same samples as the rankings above{ties}.\n"
        f"* over the {counted(judged.n_unanswered, 'item')} without an answer in the end, the same ones in every row\n"
    )


def quality_document(judged: "RankingsJudged", truth_k: int) -> dict[str, Any]:
    """The same as part of a document."""
    from budgetplan.cli.documents import plain

    document: dict[str, Any] = plain(judged)
    document["audit"]["holds"] = judged.audit.holds
    return {"truth_k": truth_k, **document, "says": sentences(judged)}


def _cells(row: "QualityRow") -> list[str]:
    everywhere, left = row.all_items, row.unanswered
    numbers = (everywhere.auroc, everywhere.pick_quality, everywhere.calibration_error, left.auroc, left.pick_quality)
    return [row.ranking, f"{row.n_labels:,}", *map(_shown, numbers)]


def _shown(number: float | None) -> str:
    return "-" if number is None else f"{round(number, 2) + 0.0:.2f}"  # no -0.00


def sentences(judged: "RankingsJudged") -> list[str]:
    """What the numbers show, in words that they choose."""
    return [_before_labels(judged), _after_labels(judged), _still_unanswered(judged), _audit(judged)]


def _before_labels(judged: "RankingsJudged") -> str:
    from budgetplan.demo.ranking_quality import SELF_AGREEMENT, SIGNALS

    signals, alone = judged.row(SIGNALS).all_items.pick_quality, judged.row(SELF_AGREEMENT).all_items.pick_quality
    if signals is None or alone is None:
        return "Without labels: all items are as hard as each other, so no picks are better than random ones."
    direction = "towards the best possible" if signals > 0 else "away from the best possible"
    return (
        f"Without labels: picks by signals go {abs(signals):.0%} of the way from random ones {direction}, "
        f"those by self-agreement alone {alone:.0%}."
    )


def _after_labels(judged: "RankingsJudged") -> str:
    changed = _told(judged.all_items_changes)
    return f"After the labels, over all items: {changed} (differences to no labels, with 90% intervals)."


def _still_unanswered(judged: "RankingsJudged") -> str:
    error = judged.last_row.unanswered.calibration_error
    predicted = f" Their p is now predicted, off by {error:.2f} on average." if error is not None else ""
    same = "in the same order as before" if judged.same_order else _told(judged.unanswered_changes)
    return f"The {counted(judged.n_unanswered, 'item')} still without an answer: {same}.{predicted}"


def _told(changes: "Changes") -> str:
    found = [("AUROC", changes.auroc), ("quality", changes.pick_quality)]
    return "; ".join(f"{name} {_changed(change)}" for name, change in found if change) or "cannot be told"


def _changed(change: "Change") -> str:
    interval = f"{change.value:+.3f} ({change.low:+.3f} to {change.high:+.3f})"
    return f"{interval}, {VERDICTS[change.verdict]}"


def _audit(judged: "RankingsJudged") -> str:
    audit = judged.audit
    items = counted(audit.n_items, "item")
    if audit.estimate is None or audit.true is None:
        return f"The audit slice ({items} with an answer) could not tell the AUROC."
    found = audit.estimate
    verdict = "holds" if audit.holds else "misses"
    return (
        f"The audit slice ({items} with an answer) put the AUROC at {found.value:.2f} ({found.low:.2f} to "
        f"{found.high:.2f}); over all items it is {audit.true:.2f}: the 90% interval {verdict} the truth."
    )
