"""What rank shows, and shortlist too: what the estimates rest on, the p̂ histogram, the first items."""

from typing import TYPE_CHECKING, Any

from budgetplan.cli.documents import plain, print_json
from budgetplan.cli.terminal import add_row, or_dash, say, say_next, show_warnings, stdout_console
from budgetplan.cli.trust import show_without_answers

if TYPE_CHECKING:
    import pyarrow as pa

    from budgetplan.steps.rank import Ranking, Standing

BAR_WIDTH = 40
_WHY_NOT_HARD = (
    "Why not the very hardest: what is never solved rarely gives a mixed group, and only these teach. "
    "To buy it all the same: --policy hard"
)


def show_ranking(ranking: "Ranking", *, top: int, as_json: bool) -> None:
    """Show where the pool stands and its first items."""
    next_command = "budgetplan shortlist" + ("" if ranking.budget_is_left else " --budget 10%")
    if as_json:
        document = {**plain(ranking.standing), "items": plain(ranking.table), "out": plain(ranking.out)}
        print_json({**document, "next": next_command})
        return
    show_standing(ranking.standing)
    show_policy(ranking.standing)
    if ranking.table["rank"].null_count == ranking.table.num_rows:
        show_warnings([f"policy {ranking.standing.policy} can rank none of these items yet."])
    _show_items(ranking.table.slice(0, top))
    if ranking.out:
        say(f"Wrote {ranking.table.num_rows:,} items to {ranking.out}.")
    say_next(next_command)


def show_policy(standing: "Standing") -> None:
    """Say in two lines what the policy ranks by and why, for those that a choice between is worth a thought."""
    from budgetplan.difficulty.horizon import expected_rise
    from budgetplan.selection.policy import Policy

    group = f"a GRPO group of {standing.group_size} has mixed outcomes"
    passes = f"{standing.passes_per_item:g} passes per item (--passes-per-item)"
    rise = f"raise log-odds by {expected_rise(standing.passes_per_item):.1f}"
    lines = {
        Policy.HARD: (
            "the lowest chance of a correct sample first.",
            "What is never solved rarely gives a mixed group, and only these teach: see also --policy horizon.",
        ),
        Policy.LEARNABLE: (f"how likely {group} at the start of training.", _WHY_NOT_HARD),
        Policy.HORIZON: (
            f"how likely {group} over a training of {passes}, taken to {rise}.",
            _WHY_NOT_HARD,
        ),
    }
    if standing.policy in lines:
        ranks_by, why = lines[standing.policy]
        say(f"Policy {standing.policy} ranks by: {ranks_by}")
        say(why)


def show_standing(standing: "Standing") -> None:
    """Show the run, its pool, the spread of p̂, and what is said of items without an answer."""
    run = standing.run
    say(f"Run {run.run_id}: {run.model}, engine {run.engine}, K = {run.k}, verifier {run.verdicts_by}.")
    n_without = standing.pool.n_items - standing.n_verified - standing.n_by_signals - standing.n_conflicting
    parts = [f"{standing.pool.source}: {standing.pool.n_items:,} items, {standing.n_verified:,} with p̂"]
    if standing.n_conflicting:
        parts.append(f"{standing.n_conflicting:,} left out for conflicting known answers (--conflicts first|drop)")
    if n_without > 0:
        parts.append(f"{n_without:,} without samples that count")
    say("; ".join(parts) + ".")
    if standing.n_verified:
        prior = standing.prior
        fitted_to = (
            "the pool" if standing.n_verified == standing.pool.n_items else f"the {standing.n_verified:,} with p̂"
        )
        say(f"Prior fitted to {fitted_to}: Beta({prior.a:.2f}, {prior.b:.2f}), mean p {prior.mean:.3f}.")
        _show_histogram(standing)
    if standing.without_answers:
        show_without_answers(standing.without_answers, standing.n_by_signals, standing.n_verified)
    show_warnings(standing.warnings)


def _show_histogram(standing: "Standing") -> None:
    largest = max(step.items for step in standing.histogram) or 1
    for step in standing.histogram:
        bar = "█" * round(BAR_WIDTH * step.items / largest)
        say(f"  p̂ {step.label:>7}  {bar or ('▏' if step.items else '')} {step.items:,}")


def _show_items(table: "pa.Table") -> None:
    """Show items with what is known of p, or, where nothing is of any, with the signals that rank them."""
    from rich.table import Table

    has_p = table["p_mean"].null_count < table.num_rows
    of_signals = ("agree", "entropy", "answers", "none")
    of_p = ("judged", "p̂ (~p)", "90 % interval", "learnable")
    shown = Table("rank", "item", *(of_p if has_p else of_signals), "score", "source", box=None)
    for row in table.to_pylist():
        add_row(
            shown,
            or_dash(row["rank"], "d"),
            row["id"] or row["item_id"],
            *(_of_p(row) if has_p else _of_signals(row)),
            or_dash(row["score"], ".3f"),
            row["source"] or "-",
        )
    stdout_console().print(shown)


def _of_p(row: dict[str, Any]) -> list[str]:
    interval = f"{row['p_low']:.2f}-{row['p_high']:.2f}" if row["p_low"] is not None else "-"
    p = or_dash(row["p_hat"], ".2f") if row["p_mean"] is None or row["p_hat"] is not None else f"~{row['p_mean']:.2f}"
    return [str(row["k"]), p, interval, or_dash(row["learnable"], ".2f")]


def _of_signals(row: dict[str, Any]) -> list[str]:
    without = None if row["agreement"] is None else row["no_answer_rate"] + row["truncation_rate"]
    return [
        or_dash(row["agreement"], ".2f"),
        or_dash(row["answer_entropy"], ".2f"),
        or_dash(row["n_answers"], "d"),
        or_dash(without, ".0%"),
    ]
