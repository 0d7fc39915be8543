"""What status shows: runs, shortlists, labels and their annotators, and the ledger."""

from typing import TYPE_CHECKING

from budgetplan.cli.documents import plain, print_json
from budgetplan.cli.shortlisted import cost_model_line
from budgetplan.cli.terminal import add_row, say, say_next, stdout_console
from budgetplan.errors import counted

if TYPE_CHECKING:
    from budgetplan.steps.status import LabelsStatus, Status
    from budgetplan.store.ledger import Balance
    from budgetplan.store.shortlists import ShortlistRow


def show_status(report: "Status", *, as_json: bool) -> None:
    """Show what the store holds."""
    next_command = _next(report)
    if as_json:
        print_json({**plain(report), "next": next_command})
        return
    _show_runs(report)
    for made in report.shortlists:
        say(_shortlist_line(made))
    _show_labels(report.labels)
    _show_ledger(report.ledger, report.left)
    say_next(next_command)


def _next(report: "Status") -> str:
    if all(row.run.role == "reference" for row in report.runs):
        return "budgetplan probe POOL"
    if not report.shortlists:
        return "budgetplan shortlist --budget 10%"
    if report.labels.n_missing:
        return "budgetplan ingest FILE"
    return "budgetplan status --disagreements" if report.labels.n_disagreements else "budgetplan export --for trl"


def _show_runs(report: "Status") -> None:
    from rich.table import Table

    runs = Table("run", "model", "engine", "pool", "items", "K", "samples", "correct of judged", "verifier", box=None)
    for row in report.runs:
        run = row.run
        add_row(
            runs,
            run.run_id,
            run.model + (" (reference)" if run.role == "reference" else ""),
            run.engine,
            row.pool.source,
            f"{row.pool.n_items:,}",
            str(run.k),
            f"{row.n_samples:,}",
            "-" if row.correct_share is None else f"{row.correct_share:.1%}",
            run.verdicts_by,
        )
    stdout_console().print(runs)


def _shortlist_line(made: "ShortlistRow") -> str:
    since = [
        f"{count:,} {what}" for count, what in ((made.n_labelled, "labelled"), (made.n_recalled, "recalled")) if count
    ]
    line = f"{made.shortlist_id}: {counted(made.n_items, 'item')}, {made.policy}, {made.budget}, from {made.run_id}"
    return f"{line}; {', '.join(since)}" if since else line


def _show_labels(labels: "LabelsStatus") -> None:
    if not labels.annotators:
        return
    from rich.table import Table

    states = ", ".join(f"{state} {count:,}" for state, count in labels.states.items())
    out = f"; still out without a label: {labels.n_missing:,}" if labels.n_missing else ""
    say(f"Labelled items: {states}{out}.")
    table = Table("annotator", "labels", "skipped", "median time", "agrees with the decision", box=None)
    for row in labels.annotators:
        add_row(
            table,
            row.annotator,
            f"{row.n_labels:,}",
            f"{row.n_skipped:,}",
            "-" if row.median_seconds is None else f"{row.median_seconds:,.0f} s",
            "-" if row.agreement is None else f"{row.agreement:.0%}",
        )
    stdout_console().print(table)
    if labels.cost_model:
        say(cost_model_line(labels.cost_model))
    if labels.alpha is not None:
        say(f"Krippendorff's alpha (nominal) over items of two or more annotators: {labels.alpha:.2f}.")


def _show_ledger(ledger: "list[Balance]", left: dict[str, float]) -> None:
    from rich.table import Table

    if not ledger:
        return
    table = Table("ledger", "", "items", "hours", "tokens", "money", box=None)
    for row in ledger:
        money = ", ".join(f"{amount:,.2f} {unit}" for unit, amount in row.money.items())
        add_row(
            table,
            row.kind,
            row.state,
            f"{row.items:,}" if row.items else "-",
            f"{row.hours:,.2f}" if row.hours else "-",
            f"{row.tokens:,}" if row.tokens else "-",
            money or "-",
        )
    stdout_console().print(table)
    if any(left.values()):
        say(f"Left of the budgets given: {', '.join(f'{amount:,.6g} {unit}' for unit, amount in left.items())}.")
