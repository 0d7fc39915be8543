"""What probe, import-samples, verify and config show when they are done; the next command comes last."""

from typing import TYPE_CHECKING

from budgetplan.cli.documents import plain, print_json
from budgetplan.cli.terminal import add_row, say, say_next, show_warnings, stdout_console

if TYPE_CHECKING:
    from budgetplan.config import Resolved
    from budgetplan.steps.adaptive import Placed
    from budgetplan.steps.health import RunHealth
    from budgetplan.steps.import_samples import ImportReport
    from budgetplan.steps.pools import PoolSummary
    from budgetplan.steps.probe import ProbeReport
    from budgetplan.steps.verify import VerifyReport
    from budgetplan.store.runs import ProbeRun


def show_probe(report: "ProbeReport", *, as_json: bool) -> None:
    """Show what a probe did."""
    next_command = "budgetplan rank"
    if as_json:
        print_json({**plain(report), "next": next_command})
        return
    sampled = report.sampled
    say(_pool_line(report.pool))
    say(_run_line(report.run))
    if sampled.n_samples:
        rate = f"{sampled.n_tokens / max(sampled.seconds, 1e-9):,.0f} tokens/s"
        say(f"Sampled {sampled.n_samples:,} completions in {sampled.seconds:,.1f} s ({rate}).")
    elif report.placed is None:
        say(f"All {report.run.k} samples per item were already there.")
    if report.placed:
        _show_placed(report.placed)
    if report.n_too_long:
        say(f"{report.n_too_long} items were left out: their prompts are longer than the model's context.")
    _show_outcomes(report.health)
    show_warnings(report.health.warnings)
    if report.n_missing:
        show_warnings([f"{report.n_missing:,} samples are still missing; run the same command again."])
    say_next(next_command)


def _show_placed(placed: "Placed") -> None:
    """What adaptive probing took beside K of every item, and what that is expected to cost the picks."""
    aim = placed.aim
    share = placed.n_samples / max(placed.n_uniform, 1)
    say(
        f"Adaptive, for --budget {aim.budget} ({aim.policy}, {placed.n_picks:,} items): {placed.n_samples:,} samples "
        f"instead of {placed.n_uniform:,} ({share:.0%}), {placed.fewest} to {placed.most} an item."
    )
    if placed.expected_loss is None:
        say("Too few answers are known to tell which samples matter, so every item got K.")
        return
    what = _SCORES.get(aim.policy, "mean 1 - p")
    say(f"Expected loss against K of every item: {placed.expected_loss:.4f} in the {what} of the picks.")


_SCORES = {
    "easy": "mean p",
    "middle": "mean distance from the median p",
    "learnable": "share of mixed groups",
    "horizon": "share of mixed groups over a training",
}


def show_import(report: "ImportReport", *, as_json: bool) -> None:
    """Show what an import brought."""
    alone = report.run.role == "reference" and report.covered is None
    next_command = "budgetplan probe POOL" if alone else "budgetplan rank"
    if as_json:
        print_json({**plain(report), "next": next_command})
        return
    say(_pool_line(report.pool))
    known = report.n_samples - report.n_new_samples
    say(f"Imported {report.n_new_samples:,} samples" + (f"; {known:,} were already there." if known else "."))
    say(_run_line(report.run))
    if report.covered and report.covered.n:
        say(f"{report.covered.n:,} of the {report.covered.of:,} items of the base model's pool are in it.")
    elif report.covered:
        show_warnings(["none of its prompts is in the base model's pool, so it changes no ranking."])
    _show_outcomes(report.health)
    show_warnings(report.health.warnings)
    say_next(next_command)


def show_verified(report: "VerifyReport", *, as_json: bool) -> None:
    """Show how the outcomes moved."""
    if as_json:
        print_json({**plain(report), "next": "budgetplan rank"})
        return
    from rich.table import Table

    table = Table("outcome", "before", "now", box=None)
    for name in dict.fromkeys([*report.after, *report.before]):
        add_row(table, name, f"{report.before.get(name, 0):,}", f"{report.after.get(name, 0):,}")
    say(_run_line(report.run))
    stdout_console().print(table)
    say_next("budgetplan rank")


def show_config(resolved: "Resolved", *, as_json: bool) -> None:
    """Show every setting and where it came from."""
    values = resolved.settings.model_dump()
    if as_json:
        print_json({name: {"value": value, "from": resolved.origins[name]} for name, value in values.items()})
        return
    from rich.table import Table

    table = Table("setting", "value", "from", "meaning", box=None)
    for name, value in values.items():
        meaning = type(resolved.settings).model_fields[name].description or ""
        add_row(table, name, "-" if value is None else str(value), resolved.origins[name], meaning)
    stdout_console().print(table)
    say_next("budgetplan probe POOL")


def _pool_line(pool: "PoolSummary") -> str:
    parts = [f"{pool.source}: {pool.n_items:,} items"]
    if pool.n_duplicates:
        parts.append(f"{pool.n_rows:,} rows, {pool.n_duplicates:,} of them exact duplicates")
    parts.append(f"known answers for {pool.n_with_answer:,}")
    if pool.n_conflicts:
        parts.append(
            f"{pool.n_conflicts:,} with different known answers (the first: {pool.first_conflict}), left out of "
            "verified rankings (say which holds: --conflicts first|drop)"
        )
    if pool.n_changed_answers:
        parts.append(f"{pool.n_changed_answers:,} known answers changed since the last import")
    return "; ".join(parts) + "."


def _run_line(run: "ProbeRun") -> str:
    role = " (reference)" if run.role == "reference" else ""
    return f"Run {run.run_id}: {run.model}{role}, engine {run.engine}, K = {run.k}, verifier {run.verdicts_by}."


def _show_outcomes(health: "RunHealth") -> None:
    total = sum(health.outcomes.values())
    shares = ", ".join(f"{name} {count:,} ({count / total:.1%})" for name, count in health.outcomes.items() if count)
    say(f"Outcomes: {shares or 'none'}.")
