"""Which items every arm trains on.

Invariant: no arm holds a held-out item, an item without gold or an item twice; and all arms but `all` are equally
large.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from budgetplan.errors import ConfigError, NothingToDo, counted
from budgetplan.validation.refusal import FEWEST_ARM_ITEMS

_EVERYTHING = "all"
_POLICIES = {
    "hard": "hardest items",
    "easy": "easiest items",
    "middle": "items nearest the middle",
    "random": "items drawn at random",
    "learnable": "most learnable items",
    "horizon": "items most learnable over a training",
}
_BY_FIRST_SAMPLE = {"base-wrong": 0, "base-right": 1}
_SETS = {"shortlist": "shortlist", "audit": "audit slice"}

ARM_NAMES = (*_POLICIES, *_BY_FIRST_SAMPLE, *_SETS, _EVERYTHING)

ENOUGH_GOLD = Fraction(9, 10)
"""A policy's arm is made where this share of its items has gold; with less, it would be another policy's arm."""
_LARGE_OVERLAP = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class ArmPool:
    """One entry per item of the pool.

    `orders`: policy to the rows of the whole pool, best first. `sets`: `shortlist` and `audit`, as far as they are
    stored, to their rows in order. `first_correct`: whether the first sample was right (1), was not (0), or is not
    known (-1). `tie_key`: lowest first is the random order of the arms that draw.
    """

    item_id: pa.StringArray
    has_gold: NDArray[np.bool_]
    held_out: NDArray[np.bool_]
    orders: Mapping[str, NDArray[np.intp]]
    sets: Mapping[str, NDArray[np.intp]]
    first_correct: NDArray[np.int8]
    tie_key: NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Arm:
    """The rows one arm trains on, best first where its order has a best."""

    name: str
    items: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class NoArm:
    """An arm that cannot be made; `reason` names the way on."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Arms:
    """The arms that can be made and those that cannot, both as asked for; `size` is common to all arms but `all`."""

    arms: tuple[Arm, ...]
    impossible: tuple[NoArm, ...]
    size: int
    said: tuple[str, ...]


def choose_arms(pool: ArmPool, wanted: Sequence[str], size: int) -> Arms:
    """Make every wanted arm of `size` items, or of as many as all of them can have.

    Where a stored set or a draw has fewer items, a policy needs gold for its first items up to that number only. What
    is decided on the way is in `said`. Raises ConfigError for an unknown arm or a size below 1, NothingToDo where no
    arm can be made.
    """
    wanted = tuple(dict.fromkeys(wanted))
    _check(wanted, size)
    drawn = {name: _drawn(pool, name) for name in wanted if name not in _POLICIES}
    limit = min([size, *_sizes(drawn.values())])
    made = [drawn.get(name) or _by_policy(pool, name, limit) for name in wanted]
    possible = [each for each in made if isinstance(each, Arm)]
    impossible = tuple(each for each in made if isinstance(each, NoArm))
    if not possible:
        reasons = "; ".join(f"{each.name}: {each.reason}" for each in impossible)
        raise NothingToDo("no arm can be trained.", hint=f"Of the arms asked for, {reasons}.")
    common = min([size, *_sizes(possible)]) if _sizes(possible) else len(possible[0].items)
    arms = tuple(arm if arm.name == _EVERYTHING else replace(arm, items=arm.items[:common]) for arm in possible)
    return Arms(arms, impossible, common, tuple(_said(possible, arms, common, size)))


def _sizes(made: Iterable[Arm | NoArm]) -> list[int]:
    """Of the arms that have to be equally large."""
    return [len(each.items) for each in made if isinstance(each, Arm) and each.name != _EVERYTHING]


def overlap(a: Arm, b: Arm) -> float:
    """Share of the smaller arm's items that the other has as well."""
    return len(np.intersect1d(a.items, b.items, assume_unique=True)) / min(len(a.items), len(b.items))


def _check(wanted: Sequence[str], size: int) -> None:
    unknown = [name for name in wanted if name not in ARM_NAMES]
    if unknown or not wanted:
        told = f"there is no arm '{unknown[0]}'." if unknown else "no arm is named."
        raise ConfigError(told, hint=f"Choose from {', '.join(ARM_NAMES)}.")
    if size < 1:
        raise ConfigError(f"an arm of {counted(size, 'item')} cannot be trained.", hint="Give each 1 item or more.")


def _drawn(pool: ArmPool, name: str) -> Arm | NoArm:
    """Take the whole of a stored set, of a draw by the first sample, or of everything with gold."""
    usable = pool.has_gold & ~pool.held_out
    if name in _SETS:
        return _stored(pool, name, usable)
    if name in _BY_FIRST_SAMPLE:
        usable = usable & (pool.first_correct == _BY_FIRST_SAMPLE[name])
    rows = np.flatnonzero(usable)
    if not rows.size:
        whose = {"base-wrong": " whose first sample was not right", "base-right": " whose first sample was right"}
        return NoArm(name, f"no item{whose.get(name, '')} has an answer; buy some: budgetplan shortlist --budget 10%")
    return Arm(name, rows[np.argsort(pool.tie_key[rows], kind="stable")])


def _stored(pool: ArmPool, name: str, usable: NDArray[np.bool_]) -> Arm | NoArm:
    called = _SETS[name]
    if name not in pool.sets:
        return NoArm(name, f"no {called} is stored; make one: budgetplan shortlist --budget 10%")
    rows = pool.sets[name]
    with_gold = int(pool.has_gold[rows].sum())
    if not with_gold:
        return NoArm(name, f"none of the {called}'s {counted(len(rows), 'item')} has an answer; "
                           "bring the answers: budgetplan ingest FILE")  # fmt: skip
    if not usable[rows].any():
        return NoArm(name, f"all of the {called}'s {counted(with_gold, 'item')} with an answer are held out as test; "
                           "test on others: budgetplan validate --test FILE")  # fmt: skip
    return Arm(name, rows[usable[rows]])


def _by_policy(pool: ArmPool, name: str, limit: int) -> Arm | NoArm:
    """Take a policy's first `limit` items that are not held out, as far as they have gold."""
    order = pool.orders.get(name, np.zeros(0, np.intp))
    first = order[~pool.held_out[order]][:limit]
    labelled = first[pool.has_gold[first]]
    if not first.size:
        return NoArm(name, "no item is ranked; sample the model first: budgetplan probe POOL")
    if len(labelled) < ENOUGH_GOLD * len(first):
        have = "has" if len(labelled) == 1 else "have"
        return NoArm(name, f"only {len(labelled):,} of the {len(first):,} {_POLICIES[name]} {have} an answer; "
                           f"buy them: budgetplan shortlist --policy {name}")  # fmt: skip
    return Arm(name, labelled)


def _said(possible: Sequence[Arm], arms: Sequence[Arm], common: int, size: int) -> Iterator[str]:
    """Say what the user would not expect; `possible` are the arms before they are cut to the common size."""
    if common < size:
        short = min(possible, key=lambda arm: len(arm.items))
        yield f"{counted(common, 'item')} each: the {_SETS.get(short.name, f'arm {short.name}')} has no more"
    if common < FEWEST_ARM_ITEMS:
        yield f"with fewer than {FEWEST_ARM_ITEMS} items each, no verdict can be given"
    for arm in arms:
        if len(arm.items) > common:
            yield f"{arm.name} trains on {len(arm.items):,} items, the others on {common:,}; steps are the same"
        elif arm is not arms[0] and arms[0].name != _EVERYTHING and overlap(arms[0], arm) >= _LARGE_OVERLAP:
            yield f"{arm.name} shares {100 * overlap(arms[0], arm):.0f} % of its items with {arms[0].name}"
