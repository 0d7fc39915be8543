"""What shortlist shows: the picks, the audit slice, the batch, ties, and what other policies would buy."""

import math
from typing import TYPE_CHECKING

from budgetplan.cli.documents import plain, print_json
from budgetplan.cli.ranking import show_policy, show_standing
from budgetplan.cli.terminal import add_row, or_dash, say, say_next, show_warnings, stdout_console
from budgetplan.errors import counted

if TYPE_CHECKING:
    from budgetplan.selection.choose import Choice
    from budgetplan.selection.compare import PolicyRow
    from budgetplan.selection.cost_model import CostModel
    from budgetplan.steps.shortlist import Shortlisted

EXACT_GAP = 1e-6


def show_shortlist(shortlisted: "Shortlisted", *, as_json: bool) -> None:
    """Show what was chosen, what it costs, and how other policies compare."""
    choice, files = shortlisted.choice, shortlisted.files
    if as_json:
        print_json(shortlist_document(shortlisted))
        return
    show_standing(shortlisted.standing)
    show_policy(shortlisted.standing)
    say(_choice_line(shortlisted))
    if shortlisted.cost_model:
        say(cost_model_line(shortlisted.cost_model))
    _show_audit(shortlisted)
    _show_batch(shortlisted)
    say(_tie_line(shortlisted))
    _show_known(shortlisted)
    _show_lists(shortlisted)
    _show_quotas(choice)
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
        "batch": float(shortlisted.batch),
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
        "quotas": [
            {"quota": f"{one.quota.place}:{one.quota.asked}", "n_items": one.items, "share": one.share}
            for one in choice.quotas
        ],
        "n_must": choice.n_must,
        "n_must_bought": shortlisted.n_must_bought,
        "n_never": len(shortlisted.wishes.never),
        "n_tied_at_cut": choice.n_tied_at_cut,
        "n_tied_picked": choice.n_tied_picked,
        "tie_rule": choice.tie_rule,
        "solver": plain(choice.solver),
        "comparison": plain(shortlisted.comparison),
        "files": plain(shortlisted.files),
        "items": plain(shortlisted.table),
        "next": "budgetplan ingest FILE",
    }


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
    base = f"{model.baseline_error:.0%} with one number for all"
    error = f"off by {model.error:.0%} in the median ({base})" if model.kind == "features" else f"off by {base}"
    return f"Costs learned from the measured times of {model.n_timed:,} items; on items left out, {error}."


def _show_audit(shortlisted: "Shortlisted") -> None:
    audit = shortlisted.audit
    n_slice, n_new = len(audit.slice.index), len(audit.new)
    if n_slice and not n_new:
        say(f"The audit slice, {counted(n_slice, 'item')} drawn at random, is bought or out already.")
        return
    if n_slice:
        among = shortlisted.table.num_rows - len(shortlisted.choice.order) - shortlisted.table["rank"].null_count
        within = math.ceil(100 * audit.slice.half_width) / 100
        asides = [f"{among:,} of them would be picked anyway"] if among else []
        asides += [f"{n_slice - n_new:,} are bought already"] if n_slice > n_new else []
        say(
            f"{n_slice:,} items of the pool, drawn at random, are the audit slice"
            + (f" ({', '.join(asides)})" if asides else "")
            + f": once labelled, it tells the pool's success rate within ±{within:.2f}{_of_trust(shortlisted)}. Price: "
            f"{_price_of_audit(shortlisted)}; it buys trust and a fair control arm, not better picks."
        )
    if audit.cannot_conclude:
        show_warnings([f"{audit.cannot_conclude}."])


def _of_trust(shortlisted: "Shortlisted") -> str:
    from budgetplan.difficulty.trust import FEWEST_ITEMS

    enough = len(shortlisted.audit.slice.index) >= FEWEST_ITEMS
    return " and how far the ranking can be trusted" if enough and shortlisted.standing.without_answers else ""


def _price_of_audit(shortlisted: "Shortlisted") -> str:
    """What the new audit items cost that would not have been picked anyway."""
    extra = shortlisted.table.filter(shortlisted.table["rank"].is_null())
    if shortlisted.choice.unit == "items":
        return counted(extra.num_rows, "item")
    return f"{sum(extra['cost'].to_pylist()):,.2f} {shortlisted.choice.unit}"


def _show_batch(shortlisted: "Shortlisted") -> None:
    from budgetplan.difficulty.calibration import FEWEST_TO_CHOOSE

    if shortlisted.batch == 1:
        return
    choice = shortlisted.choice
    left = counted(round(choice.left), "item") if choice.left_unit == "items" else f"{choice.left:,.2f} {choice.unit}"
    picks, share = counted(len(choice.order), "pick"), f"{float(shortlisted.batch):.0%}"
    say(f"A batch of {picks}: {share} of what the budget grants beside the audit slice; {left} left.")
    if shortlisted.standing.without_answers:
        say(
            "Why not all at once (--batch 100%): these labels tell which p to expect of the others and how far the "
            "ranking can be trusted, while most of the budget can still be spent under another policy; from "
            f"{FEWEST_TO_CHOOSE} labels on they may also change the order. After ingest: budgetplan shortlist"
        )


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


def _show_lists(shortlisted: "Shortlisted") -> None:
    n_must, n_bought = shortlisted.choice.n_must, shortlisted.n_must_bought
    n_never = len(shortlisted.wishes.never)
    if n_must or n_bought:
        asides = [f"{n_bought:,} more are bought or out already"] if n_bought else []
        say(f"Must-have (--must): {counted(n_must, 'item')} of these" + "".join(f"; {text}" for text in asides) + ".")
    if n_never:
        say(f"Never (--never): {counted(n_never, 'item')} kept out.")


def _show_quotas(choice: "Choice") -> None:
    from rich.table import Table

    if not choice.quotas:
        return
    table = Table("quota", "asked", "got", "share of picks", box=None)
    for one in choice.quotas:
        add_row(table, one.quota.place, one.quota.asked, f"{one.items:,} of {one.picks:,}", f"{one.share:.1%}")
    stdout_console().print(table)
    left = counted(round(choice.left), "item") if choice.left_unit == "items" else f"{choice.left:,.2f} {choice.unit}"
    if choice.left > 0:
        say(f"{left} of the budget left.")


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

    calibrated = any(row.estimated > row.verified for row in rows)
    table = Table(
        "policy", "items", "expected p" if calibrated else "mean p̂", "expected learnable", "cost", "shared", box=None
    )
    for row in rows:
        mark = "→ " if row.policy == choice.policy else "  "
        add_row(
            table,
            mark + row.policy,
            f"{row.items:,}",
            or_dash(row.mean_p if calibrated else row.mean_p_hat, ".3f"),
            or_dash(row.mean_learnable, ".3f"),
            _cost(row),
            f"{row.shared:,}",
        )
    stdout_console().print(table)
