"""What a validation will do, settled before anything is sampled or trained: arms, held-out prompts, recipe, measuring.

Invariant: the same choices on the same store are the same validation, and the same training has the same id in all.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from budgetplan.config import Settings
from budgetplan.errors import ConfigError, ModelError, NothingToDo
from budgetplan.probing.models import ALIASES, ResolvedModel, resolve_model
from budgetplan.records import ModelIdentity, Progress, Sampling
from budgetplan.steps.estimates import PoolEstimates, estimates_to_rank
from budgetplan.steps.evaluate import TestSet
from budgetplan.steps.held_out import (
    HeldOut,
    about_test,
    hold_out,
    prompts_of_file,
    sampling_of,
    test_set,
    without_leaks,
)
from budgetplan.steps.signals import run_to_rank
from budgetplan.steps.validation_arms import default_arms, make_arms, posteriors, training_sets
from budgetplan.steps.validation_choices import ValidateChoices, check_choices
from budgetplan.store.connection import Store
from budgetplan.store.runs import BASE, IMPORTED, ProbeRun, all_runs
from budgetplan.store.shortlists import audit_items
from budgetplan.store.training import labelled_items
from budgetplan.validation.arms import Arms
from budgetplan.validation.recipes import Recipe, recipe

CONTROLS = ("audit", "random")
"""Arms drawn at random, which a choice has to beat."""


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """A validation that can begin.

    Per arm: `items` (and those of "test" and "ood"), `training_sets` (see there), and `posteriors`, a and b of those of
    its items that were sampled.
    """

    validation_id: str
    run: ProbeRun
    model: ResolvedModel
    recipe: Recipe
    sampling: Sampling
    arms: Arms
    items: dict[str, list[str]]
    control: str | None
    test: TestSet
    ood: TestSet | None
    training_sets: dict[str, pa.Table]
    posteriors: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
    seeds: tuple[int, ...]
    said: tuple[str, ...]
    choices: ValidateChoices

    @property
    def tests(self) -> tuple[TestSet, ...]:
        """What base and trained models are measured on in the end."""
        return (self.test, self.ood) if self.ood else (self.test,)


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What the store knows of the pool: its estimates, the items that have an answer, and the audit slice."""

    run: ProbeRun
    estimates: PoolEstimates
    labelled: pa.Table
    audit: list[str]


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    """Who trains on what, and on what all are measured: no prompt is in both; `said` is what that took."""

    arms: Arms
    items: dict[str, list[str]]
    test: HeldOut
    ood: HeldOut | None
    said: tuple[str, ...]


def set_up(store: Store, settings: Settings, choices: ValidateChoices, progress: Progress) -> Setup:
    """Settle everything; raises before anything is sampled or trained."""
    check_choices(choices)
    chosen = recipe(choices.recipe, group_size=settings.group_size, **choices.changes)
    known = _known(store, settings, choices, chosen, progress)
    split, run = _split(store, settings, choices, known), known.run
    test = test_set(run, settings, split.test, choices.n_samples, greedy=choices.greedy)
    roles = {"test": split.test, "ood": split.ood}
    items = split.items | {role: held_out.item_ids for role, held_out in roles.items() if held_out}
    return Setup(
        validation_id=_digest("val-", run.run_id, run.verdicts_by, asdict(chosen), _measured_how(choices), items),
        run=run,
        model=_model_of(run, settings),
        recipe=chosen,
        sampling=sampling_of(run, settings),
        arms=split.arms,
        items=items,
        control=_control(choices, split.arms),
        test=test,
        ood=test_set(run, settings, split.ood, choices.k_of_pass) if split.ood else None,
        training_sets=training_sets(store, run.pool_id, known.labelled, split.items, test),
        posteriors=posteriors(known.estimates, split.arms.arms),
        seeds=tuple(range(choices.n_seeds)),
        said=split.said,
        choices=choices,
    )


def _known(store: Store, settings: Settings, choices: ValidateChoices, chosen: Recipe, progress: Progress) -> _Known:
    """Read the pool of the run that is validated; raises NothingToDo where no item of it has an answer."""
    with run_to_rank(store, _wanted_run(store, settings, choices), progress) as run, store.reading() as connection:
        estimates = estimates_to_rank(store, run, chosen.group_size, settings.passes_per_item)
        labelled = labelled_items(connection, run.pool_id, None, with_known=True)
        audit = audit_items(connection, run.pool_id)["item_id"].to_pylist()
    if not labelled.num_rows:
        raise NothingToDo(
            "no item has an answer yet, so nothing can be trained or measured.",
            hint="Bring labels in: budgetplan ingest FILE",
        )
    return _Known(run, estimates, labelled, audit)


def _split(store: Store, settings: Settings, choices: ValidateChoices, known: _Known) -> _Split:
    """Hold prompts out, make the arms of the rest, and leave out what is in both all the same."""
    estimates, labelled, audit = known.estimates, known.labelled, known.audit
    wanted = choices.arms or default_arms(labelled, audit, estimates)
    test = hold_out(store, settings, choices, known.run, labelled, wanted)
    not_trained = test.item_ids if test.in_pool else []
    arms = make_arms(estimates, labelled, audit, not_trained, wanted, choices.budget, settings.seed)
    items = {arm.name: estimates.table["item_id"].take(pa.array(arm.items)).to_pylist() for arm in arms.arms}
    trained = sorted({item_id for some in items.values() for item_id in some})
    test, left_out = without_leaks(store, test, trained, choices)
    ood = None
    if choices.ood:
        ood = prompts_of_file(store, settings, choices.ood, "--ood")
        ood, also_left_out = without_leaks(store, ood, trained, choices)
        left_out += also_left_out
    about = about_test(test, labelled.num_rows, estimates.table.num_rows)
    return _Split(arms, items, test, ood, (*_about_first(wanted, arms), *arms.said, *left_out, *about))


def trained_identity(setup: Setup, own_id: str, step: int) -> ModelIdentity:
    """What a trained model goes by in the store."""
    return ModelIdentity(f"{setup.run.model}, {own_id}, step {step}", f"{own_id}-{step}")


def training_id(setup: Setup, arm: str, seed: int) -> str:
    """The id a training goes by: of its configuration, its prompts and answers in order, and where it starts from."""
    choices, run, items = setup.choices, setup.run, setup.training_sets[arm]
    settings = (asdict(setup.recipe), asdict(setup.sampling), choices.lora, choices.four_bit)
    start = (setup.model.identity.revision, run.run_id, run.verdicts_by)
    return _digest("trn-", start, arm, items.to_pydict(), seed, settings)


def _measured_how(choices: ValidateChoices) -> dict[str, Any]:
    """What of the choices shapes the figures, beside recipe and items."""
    names = ("n_seeds", "n_samples", "greedy", "k_of_pass", "control", "lora", "four_bit")
    return {name: getattr(choices, name) for name in names}


def _digest(prefix: str, *parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, default=str)
    return prefix + hashlib.sha256(text.encode()).hexdigest()[:10]


def _model_of(run: ProbeRun, settings: Settings) -> ResolvedModel:
    """The model that was probed; raises ModelError where its weights are others by now, or cannot be had."""
    try:
        model = resolve_model(run.model, run.revision or settings.revision)
    except ModelError as error:
        if run.engine != IMPORTED:
            raise
        raise ModelError(
            f"{error.message} The samples of {run.run_id} were imported under this name, and it is what would be "
            "trained.",
            hint="Name the model that made them, by its folder or its name on the Hub: "
            "budgetplan import-samples FILE --model MODEL",
        ) from error
    if run.engine != IMPORTED and model.identity.revision != run.revision:
        raise ModelError(
            f"model {run.model}: its weights have changed since it was probed ({run.run_id}).",
            hint=f"Probe it again: budgetplan probe POOL --model {run.model}",
        )
    return model


def _wanted_run(store: Store, settings: Settings, choices: ValidateChoices) -> str | None:
    """The run asked for, or the last used one of the model asked for."""
    if choices.run or settings.model is None:
        return choices.run
    with store.reading() as connection:
        runs = [run for run in all_runs(connection) if run.role == BASE]
    names = {settings.model, ALIASES.get(settings.model, settings.model)}
    found = next((run for run in runs if run.model in names), None)
    if found is None:
        known = ", ".join(sorted({run.model for run in runs})) or "none"
        raise NothingToDo(
            f"the store holds no samples of {settings.model} (it has: {known}).",
            hint=f"Sample it first: budgetplan probe POOL --model {settings.model}",
        )
    return found.run_id


def _about_first(wanted: Sequence[str], arms: Arms) -> list[str]:
    """Say where another arm is judged than the one asked about, or none can be."""
    first = arms.arms[0].name
    if len(arms.arms) == 1:
        return [f"{first} is the only arm, so there is nothing to compare it with"]
    return [] if wanted[0] == first else [f"{wanted[0]} cannot be made, so the verdict is on {first}"]


def _control(choices: ValidateChoices, arms: Arms) -> str | None:
    """The arm that the first one is compared with: a random one where there is any."""
    made = [arm.name for arm in arms.arms]
    asked = choices.control
    if asked is None:
        return next((name for name in CONTROLS if name in made[1:]), made[-1] if len(made) > 1 else None)
    if asked not in made:
        why = next((arm.reason for arm in arms.impossible if arm.name == asked), "it is not among --arms")
        raise ConfigError(f"--control {asked} is no arm of this validation: {why}.", hint=f"Arms: {', '.join(made)}.")
    if asked == made[0]:
        raise ConfigError(
            f"--control {asked} is the first arm, the one that is judged.",
            hint=f"Name another first: --arms ARM,{asked}",
        )
    return asked
