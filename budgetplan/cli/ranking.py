"""What rank and shortlist show: what the estimates rest on, the p̂ histogram, the policies side by side."""

import math
from typing import TYPE_CHECKING

from budgetplan.cli.documents import plain, print_json
from budgetplan.cli.terminal import add_row, say, say_next, show_warnings, stdout_console
from budgetplan.errors import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from budgetplan.selection.choose import Choice
    from budgetplan.selection.compare import PolicyRow
    from budgetplan.selection.cost_model import CostModel
    from budgetplan.steps.rank import Ranking, Standing
    from budgetplan.steps.shortlist import Shortlisted

BAR_WIDTH = 40
EXACT_GAP = 1e-6
SIGNALS_WORTH = (
    "{n:,} items have no known answer and are ranked by agreement between their samples. On 25 public sets of samples "
    "that found hard items (p ≤ .2) with an AUROC of about .75, where chance is .5 and known answers reach about .9; "
    "it cannot see items that the model gets wrong the same way every time."
)


def show_ranking(ranking: "Ranking", *, top: int, as_json: bool) -> None:
    """Show where the pool stands and its first items."""
    next_command = "budgetplan shortlist --budget 10%"
    if as_json:
        document = {**plain(ranking.standing), "items": plain(ranking.table), "out": plain(ranking.out)}
        print_json({**document, "next": next_command})
        return
    _show_standing(ranking.standing)
    _show_items(ranking.table.slice(0, top))
    if ranking.out:
        say(f"Wrote {ranking.table.num_rows:,} items to {ranking.out}.")
    say_next(next_command)


def show_shortlist(shortlisted: "Shortlisted", *, as_json: bool) -> None:
    """Show what was chosen, what it costs, and how other policies compare."""
    choice, files = shortlisted.choice, shortlisted.files
    if as_json:
        print_json(shortlist_document(shortlisted))
        return
    _show_standing(shortlisted.standing)
    say(_choice_line(shortlisted))
    if shortlisted.cost_model:
        say(cost_model_line(shortlisted.cost_model))
    _show_audit(shortlisted)
    say(_tie_line(shortlisted))
    _show_known(shortlisted)
    _show_solver(choice)
    _show_comparison(shortlisted.comparison, choice)
    shows_answer = "model_answer" in shortlisted.table.column_names
    if files is None:
        say("Dry run: nothing was written.")
        say("Next: the same command without --dry-run")
        return
    say(f"For you:            {files.table} (rank, p̂, interval, cost)")
    seen = "shuffled; the model's answer is shown, which biases labels" if shows_answer else "blind, shuffled"
    say(f"For the annotators: {', '.join(map(str, files.annotators))} ({seen}). {files.how_to_open}")
    say(f"Settings:           {files.manifest}")
    say_next("budgetplan ingest FILE")


def shortlist_document(shortlisted: "Shortlisted") -> dict[str, object]:
    """A shortlist as one JSON document."""
    choice = shortlisted.choice
    return {
        **plain(shortlisted.standing),
        "shortlist_id": shortlisted.shortlist_id,
        "budget": choice.budget.text,
        "seed": choice.seed,
        "n_pool": choice.n_pool,
        "n_excluded": shortlisted.n_excluded,
        "n_taken": shortlisted.n_taken,
        "n_candidates": choice.n_candidates,
        "n_items": shortlisted.table.num_rows,
        "spent": shortlisted.spent,
        "unit": choice.unit,
        "cost_model": plain(shortlisted.cost_model),
        "left": choice.left,
        "left_unit": choice.left_unit,
        "audit": {
            "n_items": len(shortlisted.audit.slice.index),
            "n_new": len(shortlisted.audit.new),
            "inclusion": shortlisted.audit.slice.inclusion,
            "half_width": shortlisted.audit.slice.half_width,
            "cannot_conclude": shortlisted.audit.cannot_conclude,
        },
        "n_tied_at_cut": choice.n_tied_at_cut,
        "n_tied_picked": choice.n_tied_picked,
        "tie_rule": choice.tie_rule,
        "solver": plain(choice.solver),
        "comparison": plain(shortlisted.comparison),
        "files": plain(shortlisted.files),
        "items": plain(shortlisted.table),
        "next": "budgetplan ingest FILE",
    }


def _show_standing(standing: "Standing") -> None:
    run = standing.run
    say(f"Run {run.run_id}: {run.model}, engine {run.engine}, K = {run.k}, verifier {run.verdicts_by}.")
    n_without = standing.pool.n_items - standing.n_verified - standing.n_signals - standing.n_conflicting
    parts = [f"{standing.pool.source}: {standing.pool.n_items:,} items, {standing.n_verified:,} with p̂"]
    if standing.n_conflicting:
        parts.append(f"{standing.n_conflicting:,} left out for conflicting known answers (--conflicts first|drop)")
    if n_without > 0:
        parts.append(f"{n_without:,} without samples that count")
    say("; ".join(parts) + ".")
    if standing.n_verified:
        prior = standing.prior
        say(
            f"Prior fitted to the pool: Beta({prior.a:.2f}, {prior.b:.2f}), mean p {prior.a / (prior.a + prior.b):.3f}."
        )
        _show_histogram(standing)
    if standing.n_signals:
        show_warnings([SIGNALS_WORTH.format(n=standing.n_signals)])
    show_warnings(standing.warnings)


def _show_histogram(standing: "Standing") -> None:
    largest = max(step.items for step in standing.histogram) or 1
    for step in standing.histogram:
        bar = "█" * round(BAR_WIDTH * step.items / largest)
        say(f"  p̂ {step.label:>7}  {bar or ('▏' if step.items else '')} {step.items:,}")


def _show_items(table: "pa.Table") -> None:
    from rich.table import Table

    shown = Table("rank", "item_id", "id", "judged", "p̂", "90 % interval", "learnable", "score", "source", box=None)
    for row in table.to_pylist():
        interval = f"{row['p_low']:.2f}-{row['p_high']:.2f}" if row["p_low"] is not None else "-"
        add_row(
            shown,
            _or_dash(row["rank"], "d"),
            row["item_id"],
            row["id"] or "-",
            str(row["k"]),
            _or_dash(row["p_hat"], ".2f"),
            interval,
            _or_dash(row["learnable"], ".2f"),
            _or_dash(row["score"], ".3f"),
            row["source"] or "-",
        )
    stdout_console().print(shown)


def _or_dash(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _choice_line(shortlisted: "Shortlisted") -> str:
    choice = shortlisted.choice
    asides = []
    if shortlisted.n_excluded:
        asides.append(f"{shortlisted.n_excluded:,} more are excluded")
    if shortlisted.n_taken:
        asides.append(f"{shortlisted.n_taken:,} of them bought or out already")
    pool = f"{choice.n_pool:,} items" + (f" ({', '.join(asides)})" if asides else "")
    spent = "" if choice.unit == "items" else f", {shortlisted.spent:,.2f} {choice.unit}"
    items = counted(shortlisted.table.num_rows, "item")
    text = f"Policy {choice.policy}, budget {choice.budget.text} of {pool}: {items}{spent}."
    if choice.exhausted:
        text += f" That is every item the policy can rank ({choice.n_candidates:,}); budget is left."
    return text


def cost_model_line(model: "CostModel") -> str:
    """What annotators' times say an item takes, and how far to trust it."""
    base = f"one number for all: {model.baseline_error:.0%}"
    error = f"off by {model.error:.0%} in the median ({base})" if model.kind == "features" else f"off by {base}"
    return f"Costs learned from the measured times of {model.n_timed:,} items; on items left out, {error}."


def _show_audit(shortlisted: "Shortlisted") -> None:
    audit = shortlisted.audit
    if len(audit.slice.index):
        among = shortlisted.table.num_rows - len(shortlisted.choice.order) - shortlisted.table["rank"].null_count
        bought = len(audit.slice.index) - len(audit.new)
        within = math.ceil(100 * audit.slice.half_width) / 100
        asides = [f"{among:,} of them would be picked anyway"] if among else []
        asides += [f"{bought:,} are bought already"] if bought else []
        say(
            f"{len(audit.slice.index):,} items of the pool, drawn at random, are the audit slice"
            + (f" ({', '.join(asides)})" if asides else "")
            + f": once labelled, it tells the pool's success rate within ±{within:.2f}."
        )
    if audit.cannot_conclude:
        show_warnings([f"{audit.cannot_conclude}."])


def _tie_line(shortlisted: "Shortlisted") -> str:
    choice = shortlisted.choice
    if not choice.n_tied_at_cut:
        return "No tie at the cut."
    same_p_hat = choice.policy in ("hard", "easy") and choice.solver.status == "sorted"
    p_hat = shortlisted.table["p_hat"].filter(shortlisted.table["rank"].is_valid())[-1].as_py() if same_p_hat else None
    score = "score" if p_hat is None else f"score (p̂ = {p_hat:.2f})"
    return (
        f"Tied at the cut: {choice.n_tied_at_cut:,} items have the same {score}, {choice.n_tied_picked:,} of them are "
        f"in. Rule: {choice.tie_rule} (seed {choice.seed})."
    )


def _show_known(shortlisted: "Shortlisted") -> None:
    known = shortlisted.table["source"].to_pylist().count("verified")
    if known:
        say(f"{known:,} of them have a known answer already: paying for these buys a check, not a new answer.")


def _show_solver(choice: "Choice") -> None:
    solver = choice.solver
    if solver.gap is not None:
        exact = "optimal" if solver.gap <= EXACT_GAP else f"within {solver.gap:.2%} of the best possible"
        say(f"Solver: {solver.status}, {exact}, {solver.seconds:.1f} s.")


def _cost(row: "PolicyRow") -> str:
    if not row.items:
        return "can rank nothing here"
    return counted(row.items, "item") if row.unit == "items" else f"{row.spent:,.2f} {row.unit}"


def _show_comparison(rows: "list[PolicyRow]", choice: "Choice") -> None:
    from rich.table import Table

    table = Table("policy", "items", "mean p̂", "expected learnable", "cost", "shared", box=None)
    for row in rows:
        mark = "→ " if row.policy == choice.policy else "  "
        add_row(
            table,
            mark + row.policy,
            f"{row.items:,}",
            _or_dash(row.mean_p_hat, ".3f"),
            _or_dash(row.mean_learnable, ".3f"),
            _cost(row),
            f"{row.shared:,}",
        )
    stdout_console().print(table)
