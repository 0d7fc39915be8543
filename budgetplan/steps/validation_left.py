"""What of a validation is left: updates to train and samples to take, beside what is finished.

Invariant: what counts as finished is what `validate` would not do again.
"""

from collections.abc import Sequence
from itertools import product

from budgetplan.records import ModelIdentity
from budgetplan.steps.evaluate import TestSet, n_missing, run_of
from budgetplan.steps.validated import Left
from budgetplan.steps.validation_finished import is_done
from budgetplan.steps.validation_setup import Setup, trained_identity, training_id
from budgetplan.store.connection import Store
from budgetplan.store.validations import measured_steps
from budgetplan.validation.checkpoints import checkpoints
from budgetplan.validation.progress_file import read_stopped
from budgetplan.validation.recipes import Recipe


def left_of(store: Store, setup: Setup) -> Left:
    """Count what is left of a validation; an evaluation is one model on one test."""
    own_ids = [training_id(setup, arm.name, seed) for arm, seed in product(setup.arms.arms, setup.seeds)]
    updates = []
    with store.reading():  # once, for all that is read inside
        samples = _lacking(store, setup.model.identity, setup.tests)
        for own_id in own_ids:
            done = is_done(store, setup, own_id)
            updates.append(0 if done else _updates_left(store, setup, own_id))
            samples += _stored(store, setup, own_id) if done else _to_measure(store, setup, own_id)
    return Left(
        n_trainings=sum(n > 0 for n in updates),
        n_trainings_done=updates.count(0),
        n_updates=sum(updates),
        n_evaluations=sum(n > 0 for n in samples),
        n_evaluations_done=samples.count(0),
        n_samples=sum(samples),
    )


def _updates_left(store: Store, setup: Setup, own_id: str) -> int:
    """Updates from the last whole checkpoint on; none where a training has ended, however early."""
    folder = store.validation_folder / own_id
    if read_stopped(folder) is not None:
        return 0
    whole = checkpoints(folder)
    return setup.recipe.steps - (whole[-1].step if whole else 0)


def _to_measure(store: Store, setup: Setup, own_id: str) -> list[int]:
    """The samples that each evaluation of a training lacks; of one that has ended, of the checkpoints it has left."""
    there = {checkpoint.step for checkpoint in checkpoints(store.validation_folder / own_id)}
    to_come = _planned(setup.recipe) if _updates_left(store, setup, own_id) else []
    return _lacking_by_step(store, setup, own_id, sorted(there.union(to_come)))


def _stored(store: Store, setup: Setup, own_id: str) -> list[int]:
    """A 0 for each evaluation of a finished training; what a checkpoint that is gone may lack is not asked again."""
    with store.reading() as connection:
        steps = measured_steps(connection, own_id)
    return [lacks for lacks in _lacking_by_step(store, setup, own_id, steps) if not lacks]


def _lacking_by_step(store: Store, setup: Setup, own_id: str, steps: Sequence[int]) -> list[int]:
    """The samples that each evaluation lacks; after its last step alone, a training is measured on every test."""
    lacking = []
    for step in steps:
        tests = setup.tests if step == steps[-1] else (setup.test,)
        lacking += _lacking(store, trained_identity(setup, own_id, step), tests)
    return lacking


def _lacking(store: Store, identity: ModelIdentity, tests: Sequence[TestSet]) -> list[int]:
    return [n_missing(store, run_of(store, identity, test), test) for test in tests]


def _planned(recipe: Recipe) -> list[int]:
    """The steps after which a training is measured."""
    return [*range(recipe.evaluate_every, recipe.steps, recipe.evaluate_every), recipe.steps]
