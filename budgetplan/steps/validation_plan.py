"""`validate --dry-run`: what would be trained and measured, and for how long, from a short timing on this machine.

Invariant: nothing of it is kept but the prompts of --test and --ood; the timing's own training is thrown away.
"""

import math
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import pyarrow.compute as pc

from budgetplan.config import Settings
from budgetplan.errors import BudgetError
from budgetplan.probing.models import has_cuda
from budgetplan.probing.opening import open_engine
from budgetplan.records import Progress, SampleRequest
from budgetplan.selection.amounts import CURRENCIES, Amount, parse_amount
from budgetplan.steps.evaluate import some_requests
from budgetplan.steps.train_arm import train_arm
from budgetplan.steps.validate import training_spec
from budgetplan.steps.validated import Left, PlannedArm, ValidationPlan
from budgetplan.steps.validation_choices import ValidateChoices
from budgetplan.steps.validation_left import left_of
from budgetplan.steps.validation_results import HORIZON_LOG_ODDS, predicted_learnable
from budgetplan.steps.validation_setup import Setup, set_up
from budgetplan.store.connection import Store
from budgetplan.validation.power import smallest_detectable
from budgetplan.validation.records_of_training import metrics

TIMED_UPDATES = 2
TIMED_PROMPTS = 32


@dataclass(frozen=True, slots=True)
class _Pace:
    """How fast this machine trains and samples; nan where it was not timed, since nothing of that is left."""

    seconds_per_update: float
    seconds_per_sample: float


def plan_validation(
    store: Store, settings: Settings, choices: ValidateChoices, gpu_price: str | None, progress: Progress
) -> ValidationPlan:
    """Settle a validation, time two updates and a few samples, and say what the rest of it would take."""
    price = _price(gpu_price)
    setup = set_up(store, settings, choices, progress)
    left = left_of(store, setup)
    pace = _pace(store, setup, left, progress)
    training_hours = _hours(left.n_updates, pace.seconds_per_update)
    evaluation_hours = _hours(left.n_samples, pace.seconds_per_sample)
    n_test, n_samples = len(setup.test.item_ids), setup.test.n_samples
    return ValidationPlan(
        model=setup.run.model,
        recipe=setup.recipe.name,
        device="GPU" if has_cuda() else "CPU",
        arms=tuple(_planned_arm(setup, arm.name) for arm in setup.arms.arms),
        impossible=setup.arms.impossible,
        seeds=setup.seeds,
        steps=setup.recipe.steps,
        n_test=n_test,
        left=left,
        seconds_per_update=pace.seconds_per_update,
        seconds_per_evaluation=pace.seconds_per_sample * n_samples * n_test,
        training_hours=training_hours,
        evaluation_hours=evaluation_hours,
        money=_money(price, training_hours + evaluation_hours),
        smallest_detectable=smallest_detectable(n_items=n_test, n_seeds=len(setup.seeds), n_samples=n_samples),
        said=setup.said,
    )


def _planned_arm(setup: Setup, arm: str) -> PlannedArm:
    start, horizon = (predicted_learnable(setup, arm, log_odds) for log_odds in (0.0, HORIZON_LOG_ODDS))
    return PlannedArm(arm, len(setup.items[arm]), start, horizon)


def _hours(count: int, seconds_each: float) -> float:
    return count * seconds_each / 3600 if count else 0.0


def _pace(store: Store, setup: Setup, left: Left, progress: Progress) -> _Pace:
    """Time what is left to be done: two updates, the first of which warms up, and a sample each of some prompts."""
    timed = ["two updates"] * (left.n_updates > 0) + ["a few samples"] * (left.n_samples > 0)
    if timed:
        progress.note(f"timing {' and '.join(timed)}; nothing of it is kept")
    return _Pace(
        _seconds_per_update(setup, progress) if left.n_updates else math.nan,
        _seconds_per_sample(some_requests(store, setup.test, TIMED_PROMPTS), setup) if left.n_samples else math.nan,
    )


def _seconds_per_update(setup: Setup, progress: Progress) -> float:
    first = setup.arms.arms[0].name
    spec = training_spec(setup, first, 0)
    short = replace(spec, recipe=replace(setup.recipe, steps=TIMED_UPDATES, evaluate_every=TIMED_UPDATES))
    with tempfile.TemporaryDirectory(prefix="budgetplan-timing-") as folder:
        trained = train_arm(
            short, setup.training_sets[first], Path(folder) / "timing", progress, setup.choices.accelerate_config
        )
        table = metrics(trained.folder)
    seconds = table.filter(pc.equal(table["name"], "seconds")).sort_by("step")["value"].to_pylist()
    return float(seconds[-1])


def _seconds_per_sample(requests: list[SampleRequest], setup: Setup) -> float:
    test = setup.test
    with closing(
        open_engine(test.engine, setup.model, test.sampling, trust_remote_code=test.trust_remote_code)
    ) as engine:
        started = time.monotonic()
        n = sum(len(completions) for completions in engine.sample(requests))
    return (time.monotonic() - started) / max(n, 1)


def _price(text: str | None) -> Amount | None:
    if text is None:
        return None
    hint = "Write the price of one GPU hour: --gpu-price 2.50usd"
    price = parse_amount(text, "--gpu-price", hint)
    if price.unit not in CURRENCIES:
        raise BudgetError(f'--gpu-price: "{text}" is no money.', hint=hint)
    return price


def _money(price: Amount | None, hours: float) -> str | None:
    if price is None:
        return None
    return f"{float(price.number * Fraction(hours)):,.2f} {price.unit}"
