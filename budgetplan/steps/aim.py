"""Whether samples are placed for a shortlist, and for which: as asked, else as in the run's last probe."""

from budgetplan.config import Settings
from budgetplan.errors import ConfigError
from budgetplan.records import Progress
from budgetplan.selection.amounts import Amount
from budgetplan.selection.budget import parse_budget
from budgetplan.steps.probe_check import ProbeChoices
from budgetplan.steps.rounds import budget_of, carried_on
from budgetplan.store.connection import Store
from budgetplan.store.runs import BASE, ProbeRun
from budgetplan.store.sample_targets import SamplingAim, drop_sampling_aim, sampling_aim


def check_aim(settings: Settings, choices: ProbeChoices) -> None:
    """Raise ConfigError or BudgetError for choices that contradict each other or cannot be read."""
    if choices.uniform and (choices.adaptive or choices.budget):
        other = "--adaptive" if choices.adaptive else "--budget"
        raise ConfigError(f"--uniform takes K of every item, whatever {other} says.", hint="Leave one of them away.")
    if choices.budget:
        parse_budget(choices.budget)
    asked = choices.adaptive or choices.budget
    if asked and choices.role != BASE:
        raise ConfigError(
            "a reference is sampled evenly: its answers are compared on every item.",
            hint="Leave --budget and --adaptive away.",
        )
    if asked and settings.k == 1:
        raise ConfigError(
            "with one sample per item there is none to place.",
            hint="Take more: --k 8, or leave --budget and --adaptive away.",
        )


def aim_of(
    store: Store, run: ProbeRun, settings: Settings, choices: ProbeChoices, progress: Progress
) -> SamplingAim | None:
    """The picks that samples are placed for, None for K of every item.

    `--adaptive` without a budget means what is left of those given to `shortlist`; raises BudgetError where none is.
    """
    if choices.role != BASE:
        return None
    if choices.budget:
        return SamplingAim(choices.budget, settings.policy)
    if choices.adaptive:
        return _what_is_left(store, run, settings)
    if not store.path.exists():
        return None
    with store.reading() as connection:
        before = sampling_aim(connection, run.run_id, run.pool_id)
    if before and choices.uniform:
        with store.writing() as connection:
            drop_sampling_aim(connection, run.run_id, run.pool_id)
    if before is None or choices.uniform or settings.k == 1:
        return None
    progress.note(
        f"placing samples for --budget {before.budget} ({before.policy}), as before. K of every item: --uniform"
    )
    return before


def _what_is_left(store: Store, run: ProbeRun, settings: Settings) -> SamplingAim:
    """What is left of the budgets given to shortlist, under the policy of the last one unless another is set."""
    if not store.path.exists():
        raise ConfigError(
            "--adaptive needs a budget, and none is known.", hint="Give it: budgetplan probe POOL --budget 10%"
        )
    is_set = settings.policy != type(settings).model_fields["policy"].default
    with store.reading() as connection:
        budget = budget_of(connection, run.pool_id, None)
        policy = carried_on(connection, run.pool_id, settings, {"policy"} if is_set else frozenset()).policy
    return SamplingAim(Amount(budget.amount, budget.unit).as_argument(), policy)
