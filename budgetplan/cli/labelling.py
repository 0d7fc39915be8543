"""What the commands around labels show: ingest, recall, forget, export, and the shortlist of disagreements."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from budgetplan.cli.documents import plain, print_json
from budgetplan.cli.terminal import add_row, say, say_next, show_warnings, stdout_console
from budgetplan.cli.trust import show_recalibrated
from budgetplan.errors import counted

if TYPE_CHECKING:
    from budgetplan.steps.another_look import LookedAgain
    from budgetplan.steps.export import Exported
    from budgetplan.steps.ingest import FileReport, IngestReport
    from budgetplan.steps.people import Forgotten
    from budgetplan.store.adjudications import Decided, Disagreement
    from budgetplan.store.shortlists import Recalled

CHANGES = ("new", "changed", "unchanged", "skipped", "rejected")
SHOWN_CHARACTERS = 200
"""How much of an answer the screen shows; `--json` has all."""


def show_ingest(report: "IngestReport", *, as_json: bool) -> None:
    """Show what came in and what follows from it."""
    next_command = "budgetplan status --disagreements" if report.disagreements else "budgetplan rank"
    if as_json:
        labels = {change: _of(report, change) for change in CHANGES}
        document = {name: value for name, value in plain(report).items() if name != "changes"}
        print_json({**document, "labels": labels, "next": next_command})
        return
    for file in report.files:
        say(_file_line(file))
        show_warnings(file.warnings)
        show_warnings([f"{file.name}:{bad.place} left out: {bad.reason}" for bad in file.bad])
    counts = [f"{report.n(change):,} {change}" for change in CHANGES]
    say(f"Labels: {', '.join(counts)}; unknown item {len(report.unknown):,}; still missing {len(report.missing):,}.")
    _show_amiss(report)
    say(_decided_line(report.rescored.decided, report.rescored.n_runs))
    before, after = report.answered_before, report.answered
    say(f"Items with an answer, and so with p̂: {before.n:,} → {after.n:,} of {after.of:,}.")
    if report.recalibrated:
        show_recalibrated(report.recalibrated)
    if report.disagreements:
        contradicting = sum(item.known is not None for item in report.disagreements)
        known = f", {contradicting:,} of them with an answer known beforehand" if contradicting else ""
        say(f"Annotators differ on {counted(len(report.disagreements), 'item')}{known}.")
    say_next(next_command)


def _of(report: "IngestReport", change: str) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = report.changes.to_pylist()
    return [{name: row[name] for name in ("item_id", "annotator")} for row in rows if row["change"] == change]


def _file_line(file: "FileReport") -> str:
    parts = [counted(file.n_labels, "label")]
    if file.n_blank:
        parts.append(f"{file.n_blank:,} not labelled yet")
    if file.bad:
        parts.append(f"{len(file.bad):,} bad")
    return f"{file.name}: {file.tool}, {', '.join(parts)}."


def _show_amiss(report: "IngestReport") -> None:
    if report.unknown:
        first = report.unknown[0]
        where = f"the first: {first.file}:{first.place}, {first.item}"
        left_out = counted(len(report.unknown), "label")
        show_warnings([f"{left_out} for items of no pool here were left out ({where})."])
    if report.unasked:
        named = ", ".join(report.unasked[:3])
        show_warnings([f"{len(report.unasked):,} labelled items were on no shortlist ({named} …); they were taken."])
    if report.n_removed:
        say(f"{report.n_removed:,} labels of people whose records were removed stayed out.")


def _decided_line(decided: "Decided", n_runs: int) -> str:
    lost = f", gone for {decided.n_gold_lost:,}" if decided.n_gold_lost else ""
    again = f"; the stored samples of {counted(n_runs, 'run')} were judged by them" if n_runs else ""
    items = counted(decided.n_items, "item")
    return f"Decided {items}: answers new or changed for {decided.n_gold_changed:,}{lost}{again}."


def show_disagreements(items: "Sequence[Disagreement]", *, as_json: bool) -> None:
    """Show the items on which annotators differ."""
    next_command = "budgetplan shortlist --disagreements" if items else "budgetplan status"
    if as_json:
        print_json({"disagreements": plain(list(items)), "next": next_command})
        return
    from rich.table import Table

    if not items:
        say("Annotators disagree on nothing.")
    else:
        table = Table("item_id", "id", "state", "known", "said", box=None)
        for item in items:
            said = "; ".join(f"{annotator}: {_beginning(answer)}" for annotator, answer in item.said.items())
            known = _beginning(item.known or "-")
            add_row(table, item.item_id, ", ".join(item.ids) or "-", item.state, known, said)
        stdout_console().print(table)
    say_next(next_command)


def _beginning(answer: str) -> str:
    return answer if len(answer) <= SHOWN_CHARACTERS else f"{answer[:SHOWN_CHARACTERS]}… ({len(answer):,} characters)"


def show_looked_again(made: "LookedAgain", *, as_json: bool) -> None:
    """Show where the disagreements were written."""
    if as_json:
        print_json({**plain(made), "next": "budgetplan ingest FILE"})
        return
    say(
        f"{made.shortlist_id}: {counted(made.n_items, 'item')} for another look; "
        "the labels that come back for it decide alone."
    )
    say(f"For you:            {made.files.table}")
    say(f"For the annotators: {', '.join(map(str, made.files.annotators))}. {made.files.how_to_open}")
    say_next("budgetplan ingest FILE")


def show_recalled(recalled: "Recalled", *, as_json: bool) -> None:
    """Show what was taken back."""
    if as_json:
        print_json({**plain(recalled), "next": "budgetplan shortlist"})
        return
    say(f"{counted(len(recalled.item_ids), 'item')} of {recalled.shortlist_id} taken back, to be chosen again.")
    say_next("budgetplan shortlist")


def show_forgotten(forgotten: "Forgotten", *, as_json: bool) -> None:
    """Show what was removed."""
    if as_json:
        print_json({**plain(forgotten), "next": "budgetplan status"})
        return
    say(f"{counted(forgotten.n_records, 'record')} of {forgotten.annotator} removed.")
    say(_decided_line(forgotten.rescored.decided, forgotten.rescored.n_runs))
    say_next("budgetplan status")


def show_exported(exported: "Exported", *, as_json: bool) -> None:
    """Show what was written."""
    if as_json:
        print_json({**plain(exported), "next": "budgetplan status"})
        return
    left_out = f"; {exported.n_unusable:,} called ambiguous or unanswerable left out" if exported.n_unusable else ""
    say(
        f"Wrote {counted(exported.n_items, 'item')} to {exported.path} for {exported.target}: answers from labels "
        f"{exported.n_from_labels:,}, known beforehand {exported.n_from_pool:,}{left_out}."
    )
    say_next("budgetplan status")
