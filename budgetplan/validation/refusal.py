"""When a validation is too small for a verdict, and what size would suffice.

Invariant: every reason comes with a way on, and that way is larger than what there was.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from budgetplan.validation.effects import Effect
from budgetplan.validation.power import items_that_suffice, seeds_that_suffice, shown_by, spread_between
from budgetplan.validation.scores import Scores

MOST_POINTS_UNSEEN = 10.0
FEWEST_ARM_ITEMS = 10
FEWEST_TEST_ITEMS = 30
FEWEST_SEEDS = 2
_SEEDS_TO_ADVISE = 3
_DOUBLINGS = 10


@dataclass(frozen=True, slots=True)
class Lack:
    """Why a verdict is refused, and what would suffice."""

    reason: str
    would_suffice: str


def too_small(scores: Scores, arm: str, control: str, arm_items: int) -> Iterator[Lack]:
    """Name what is too small to say anything, whatever came out."""
    seeds = {name: scores.n_seeds(name) for name in (arm, control)}
    if unfinished := [name for name, count in seeds.items() if count == 0]:
        yield Lack(f"no training on {' or '.join(unfinished)} finished", f"{_SEEDS_TO_ADVISE} seeds per arm")
    else:
        yield from _too_few_seeds(min(seeds.values()))
    if unfinished:
        yield from _too_few_items(arm_items, FEWEST_TEST_ITEMS)
    else:
        yield from _too_few_items(arm_items, scores.n_measured(arm, control))


def too_small_beforehand(n_seeds: int, arm_items: int, n_test_items: int) -> Iterator[Lack]:
    """Name what will refuse any verdict, before anything is trained."""
    yield from _too_few_seeds(n_seeds)
    yield from _too_few_items(arm_items, n_test_items)


def _too_few_seeds(n_seeds: int) -> Iterator[Lack]:
    if n_seeds < FEWEST_SEEDS:
        yield Lack("one seed says nothing of luck", f"{_SEEDS_TO_ADVISE} seeds per arm")


def _too_few_items(arm_items: int, n_test_items: int) -> Iterator[Lack]:
    if arm_items < FEWEST_ARM_ITEMS:
        yield Lack(f"too few items to train on ({arm_items})", f"{FEWEST_ARM_ITEMS} items in every arm")
    if n_test_items < FEWEST_TEST_ITEMS:
        yield Lack(f"too few test items ({n_test_items})", f"at least {FEWEST_TEST_ITEMS} test items")


def too_weak(scores: Scores, arm: str, control: str, effect: Effect) -> Iterator[Lack]:
    """Say so where only a difference of more than 10 points would likely have been found."""
    shown = shown_by(effect.standard_error, effect.degrees)
    if shown > MOST_POINTS_UNSEEN:
        yield Lack(f"only a difference of {shown:.1f} points would likely have shown", _size(scores, arm, control))


def _size(scores: Scores, arm: str, control: str) -> str:
    """Name the items or the seeds, or both together, that would likely show a difference of 10 points."""
    spread, n_samples = spread_between(scores, arm, control), scores.n_samples
    n_seeds, n_items = min(scores.n_seeds(arm), scores.n_seeds(control)), scores.n_measured(arm, control)
    items = items_that_suffice(MOST_POINTS_UNSEEN, n_seeds, n_samples, spread)
    seeds = seeds_that_suffice(MOST_POINTS_UNSEEN, n_items, n_samples, spread)
    options = [f"{items:,} test items"] if items else []
    options += [f"{seeds} seeds per arm"] if seeds else []
    if options:
        return " or ".join(options)
    for n in (n_items * 2**doubling for doubling in range(1, _DOUBLINGS + 1)):
        if seeds := seeds_that_suffice(MOST_POINTS_UNSEEN, n, n_samples, spread):
            return f"{seeds} seeds per arm and {n:,} test items together"
    return "no number of seeds that could be paid: find out why results differ so much between them"
