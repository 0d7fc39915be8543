"""What validate shows: the verdict first and last, between them the paper's tables for one's own arms, and the plan.

Invariant: what is marked by bold or underline is marked in letters too.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from budgetplan.cli.cells import (
    NONE,
    add_cells,
    by_seed,
    duration,
    interval,
    make_table,
    number,
    percent,
    points,
    predicted_percent,
    print_table,
    probability,
    sentence,
    styled,
)
from budgetplan.cli.documents import plain, print_json
from budgetplan.cli.terminal import say, say_next, show_warnings
from budgetplan.errors import counted

if TYPE_CHECKING:
    from budgetplan.steps.validated import ArmResult, ValidationPlan, ValidationReport
    from budgetplan.validation.arms import NoArm

_PLACES = {1: ("bold", "1st"), 2: ("underline", "2nd")}


def show_validation(report: "ValidationReport", *, as_json: bool) -> None:
    """Show what a validation found."""
    if as_json:
        print_json(validation_document(report))
        return
    _show_verdict(report)
    seeds = f"seed{'' if len(report.seeds) == 1 else 's'} {', '.join(map(str, report.seeds))}"
    steps = counted(report.steps, "step")
    say(f"\nValidation {report.validation_id}: {report.model}, recipe {report.recipe}, {steps}, {seeds}.")
    say(_test_line(report))
    _show_facts(report.said, report.impossible)
    if report.arms:
        _show_gains(report.arms)
        _show_comparisons(report)
        _show_learnable(report)
        _show_answers(report)
    say("")
    _show_stopped(report.arms)
    for picture in report.pictures:
        say(f"Picture: {picture}")
    show_warnings(list(report.verdict.warnings) if report.verdict else [])
    say("")
    _show_verdict(report)
    say_next(_next(report))


def validation_document(report: "ValidationReport") -> dict[str, Any]:
    """A validation as one JSON document; numbers that do not exist are null."""
    return {**plain(report), "next": _next(report)}


def show_plan(plan: "ValidationPlan", *, as_json: bool) -> None:
    """Show what a validation would train, take and be able to show."""
    next_command = "the same command without --dry-run"
    if as_json:
        print_json({**plain(plan), "next": next_command})
        return
    trainings = counted(len(plan.arms) * len(plan.seeds), "training")
    arms = f"{counted(len(plan.arms), 'arm')} × {counted(len(plan.seeds), 'seed')}"
    say(f"Plan: {plan.model}, recipe {plan.recipe}, on {plan.device}: {arms} = {trainings}.")
    _show_facts(plan.said, plan.impossible)
    table = make_table("arm", "items", "learnable % at the start", "over the training", numbers=("items",))
    for arm in plan.arms:
        predicted = map(predicted_percent, (arm.predicted_start, arm.predicted_horizon))
        add_cells(table, arm.arm, f"{arm.n_items:,}", *predicted)
    print_table("Learnable %, predicted, with 90 % interval", table)
    _show_costs(plan)
    smallest = f"{plan.smallest_detectable:.1f} points" if math.isfinite(plan.smallest_detectable) else NONE
    say(f"Smallest difference between two arms that this test would probably show, if seeds differ by 2: {smallest}.")
    say("Dry run: nothing was trained.")
    say(f"Next: {next_command}")


def _show_costs(plan: "ValidationPlan") -> None:
    """Say what is finished and what is left; hours and money are of what is left."""
    left = plan.left
    update, evaluation = (duration(each / 3600) for each in (plan.seconds_per_update, plan.seconds_per_evaluation))
    updates = f"{counted(left.n_updates, 'update')} at {update}"
    prompts = f"{counted(plan.n_test, 'held-out prompt')}, {evaluation} each time"
    _show_work("Training", left.n_trainings_done, left.n_trainings, updates, plan.training_hours)
    _show_work("Evaluation", left.n_evaluations_done, left.n_evaluations, prompts, plan.evaluation_hours)
    money = f", {plan.money}" if plan.money else ""
    hours = f"about {duration(plan.training_hours + plan.evaluation_hours)}{money}"
    say(f"Together:   {hours if left.n_samples else 'nothing is left'}.")


def _show_work(name: str, n_done: int, n_left: int, how: str, hours: float) -> None:
    rest = f", {how}: about {duration(hours)}" if n_left else ""
    say(f"{name + ':':11} {n_done:,} finished, {n_left:,} left{rest}.")


def _show_verdict(report: "ValidationReport") -> None:
    verdict = report.verdict
    if verdict is None:
        say("No verdict: no two arms could be compared.")
        return
    said = sentence(verdict.sentence)
    say(f"{said[0].upper()}{said[1:]}" if verdict.claim == "refused" else f"Verdict: {said}")
    if verdict.would_suffice:
        say(f"What would suffice: {sentence(verdict.would_suffice)}")


def _next(report: "ValidationReport") -> str:
    """After a choice that lost, the policy that did best, where it is one that shortlist knows."""
    from budgetplan.selection.policy import Policy

    if report.verdict and report.verdict.claim == "worse":
        ranked = sorted(report.arms, key=lambda arm: arm.gain.points, reverse=True)
        best = next((arm.arm for arm in ranked if arm.arm in list(Policy)), None)
        if best and best != report.verdict.arm:
            return f"budgetplan shortlist --policy {best}"
    return "budgetplan export --for trl"


def _test_line(report: "ValidationReport") -> str:
    how = "one greedy answer each" if report.greedy else f"{counted(report.n_samples, 'sample')} each"
    base = percent(report.base.percent)
    return f"Test: {counted(report.n_test, 'held-out prompt')}, {how}; of the base model's {base} are correct."


def _show_facts(said: Sequence[str], impossible: "Sequence[NoArm]") -> None:
    for text in said:
        say(sentence(text))
    for missing in impossible:
        say(f"No arm {missing.name}: {missing.reason}")  # it may end with a command


def _show_gains(arms: "Sequence[ArmResult]") -> None:
    """The paper's Table 1, an arm per row."""
    names = ("arm", "items", "correct", "gain", "", "90 % interval", "by seed", "seeds*")
    table = make_table(*names, numbers=("items", "correct", "gain", "seeds*"))
    for arm, (style, mark) in zip(arms, _marks([arm.gain.points for arm in arms]), strict=True):
        add_cells(
            table,
            arm.arm,
            f"{arm.n_items:,}",
            percent(arm.percent),
            styled(points(arm.gain.points), style),
            mark,
            interval(arm.gain.low, arm.gain.high),
            by_seed(arm.gain_by_seed),
            number(arm.gain.seed_deviation),
        )
    print_table("Gain over the base, in percentage points (* what seeds add to the noise of sampling)", table)


def _show_comparisons(report: "ValidationReport") -> None:
    if not report.comparisons:
        return
    table = make_table(
        "arm", "control", "difference", "90 % interval", "P(better)", numbers=("difference", "P(better)")
    )
    for row in report.comparisons:
        effect = row.effect
        within, likely = interval(effect.low, effect.high), probability(effect.p_better)
        add_cells(table, row.arm, row.control, points(effect.points), within, likely)
    print_table("Difference to the control, in percentage points, and the probability of being better", table)


def _show_learnable(report: "ValidationReport") -> None:
    """The paper's Table 2, an arm per row, with what was predicted beside what was observed."""
    names = ("arm", "predicted at the start", "over the training", "by group", "", "by update", "groups")
    table = make_table(*names, numbers=("by group", "by update", "groups"))
    observed = [arm.learnable.groups if arm.learnable else math.nan for arm in report.arms]
    for arm, (style, mark) in zip(report.arms, _marks(observed), strict=True):
        seen = arm.learnable
        add_cells(
            table,
            arm.arm,
            predicted_percent(arm.predicted_start),
            predicted_percent(arm.predicted_horizon),
            styled(number(seen.groups if seen else math.nan), style),
            mark,
            number(seen.updates if seen else math.nan),
            f"{seen.n_groups:,}" if seen else NONE,
        )
    print_table("Learnable %: predicted (90 % interval), and observed by group and by update", table)
    if report.fit:
        r_squared, n = report.fit.r_squared, counted(report.fit.n_trainings, "training")
        shown = f"{r_squared:.2f}" if math.isfinite(r_squared) else NONE
        falls = "" if report.fit.rises else " (gain falls as learnable % rises)"
        say(f"R² of learnable % against gain, {n} in this store: {shown}{falls}.")


def _show_answers(report: "ValidationReport") -> None:
    """The answers' form, which can explain a gain, and pass@k on the other test where one was given."""
    rows = {"base": report.base} | {arm.arm: arm for arm in report.arms}
    hours = [NONE, *(number(arm.training_hours, 2) for arm in report.arms)]
    with_pass = any(row.pass_at_k is not None for row in rows.values())
    pass_at_k = [f"pass@{report.k_of_pass}"] if with_pass else []
    numbers = ["truncated", "tokens", *pass_at_k, "hours"]
    table = make_table("model", *numbers, numbers=numbers)
    for (name, row), spent in zip(rows.items(), hours, strict=True):
        cells = [name, percent(100 * row.truncated_share), number(row.mean_tokens, 0)]
        passed = [percent(math.nan if row.pass_at_k is None else row.pass_at_k)] if with_pass else []
        add_cells(table, *cells, *passed, spent)
    other = f"; {pass_at_k[0]} on the prompts of --ood" if with_pass else ""
    print_table(f"Answers to the test: share cut off, mean length{other}; hours of training", table)


def _show_stopped(arms: "Sequence[ArmResult]") -> None:
    for arm in arms:
        for seed, reason in sorted(arm.stopped.items()):
            say(f"Stopped early: {arm.arm}, seed {seed}: {sentence(reason)}")


def _marks(values: Sequence[float]) -> list[tuple[str, str]]:
    """How each number is styled and marked: the best and the second best as printed, ties alike; nothing for one."""
    from budgetplan.validation.places import places

    several = sum(map(math.isfinite, values)) > 1
    return [_PLACES.get(place if several else 0, ("", "")) for place in places(values)]
