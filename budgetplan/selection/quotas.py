"""Quotas: how many of the picks, or which share of them, have a value in a column of the user's own.

Invariant: a bound is exact (a fraction or a whole number), and a share is one of the picks of this shortlist, whose
number is known only in the end: `in >= low * picks` is a condition on both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from budgetplan.errors import BudgetError, counted
from budgetplan.selection.amounts import ITEMS, SHARE, parse_amount
from budgetplan.selection.rows import Rows

OPTION = "--quota"
_HINT = "For example: --quota topic=algebra:20%..40%, or with numbers of items --quota topic=geometry:5.."


@dataclass(frozen=True, slots=True)
class Bound:
    """A share of the picks (`is_share`, at most 1) or a number of items."""

    amount: Fraction
    is_share: bool

    def __str__(self) -> str:
        return f"{float(100 * self.amount):g}%" if self.is_share else str(self.amount)

    def least(self, picks: int) -> int:
        """The smallest number of items that is not below it."""
        return -int(-self.amount * picks // 1) if self.is_share else int(self.amount)

    def most(self, picks: int) -> int:
        """The largest number of items that is not above it."""
        return int(self.amount * picks // 1) if self.is_share else int(self.amount)


@dataclass(frozen=True, slots=True)
class Quota:
    """At least `low` and at most `high` of the picks have this value, compared as text, in this column."""

    column: str
    value: str
    low: Bound | None
    high: Bound | None

    @property
    def place(self) -> str:
        """What it is about: `topic=algebra`."""
        return f"{self.column}={self.value}"

    @property
    def asked(self) -> str:
        """Its bounds: `20%..40%`."""
        return f"{self.low or ''}..{self.high or ''}"

    def __str__(self) -> str:
        return f"{OPTION} {self.place}:{self.asked}"


@dataclass(frozen=True, slots=True, eq=False)
class Quotas:
    """Quotas, and for each which rows of the pool have its value: `member[q, row]`."""

    asked: tuple[Quota, ...]
    member: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class QuotaKept:
    """How a quota came out: items of its value among the picks."""

    quota: Quota
    items: int
    picks: int

    @property
    def share(self) -> float:
        """Of the picks; 0 where there are none."""
        return self.items / self.picks if self.picks else 0.0


def parse_quota(text: str) -> Quota:
    """Read `COLUMN=VALUE:LOW..HIGH`; a bound is a share of the picks (`20%`) or a number of items, either may lack."""
    named, colon, bounds = text.rpartition(":")
    column, equals, value = named.partition("=")
    low, dots, high = bounds.partition("..")
    if not (colon and equals and dots and column.strip()):
        raise BudgetError(f"{OPTION} {text!r} is not COLUMN=VALUE:LOW..HIGH.", hint=_HINT)
    quota = Quota(column.strip(), value.strip(), _bound(low, text), _bound(high, text))
    if quota.low is None and quota.high is None:
        raise BudgetError(f"{OPTION} {text!r} has neither a LOW nor a HIGH.", hint=_HINT)
    if quota.low and quota.high and quota.low.is_share == quota.high.is_share and quota.low.amount > quota.high.amount:
        turned = Quota(quota.column, quota.value, quota.high, quota.low)
        raise BudgetError(f"{OPTION} {text!r}: {quota.low} is above {quota.high}.", hint=f"Turn them round: {turned}")
    return quota


def parse_quotas(texts: Sequence[str]) -> tuple[Quota, ...]:
    """Read them all; raises BudgetError for two on one value, and for floors of one column above 100 %."""
    quotas = tuple(parse_quota(text) for text in texts)
    for place, quota in enumerate(quotas):
        for other in quotas[:place]:
            if quota.place == other.place:
                both = Quota(quota.column, quota.value, other.low or quota.low, other.high or quota.high)
                raise BudgetError(f"{OPTION}: two quotas on {quota.place}.", hint=f"Give one: {both}")
    return quotas


def check_floors(quotas: Quotas) -> None:
    """Raise BudgetError where floors that no item can serve twice add up to more than all picks."""
    floor = [quota.low.amount if quota.low and quota.low.is_share else Fraction(0) for quota in quotas.asked]
    for column in dict.fromkeys(quota.column for quota in quotas.asked):
        own = [n for n, quota in enumerate(quotas.asked) if quota.column == column and floor[n]]
        total = sum((floor[n] for n in own), Fraction(0))
        if total > 1 and not (quotas.member[own].sum(axis=0) > 1).any():
            listed = ", ".join(f"{quotas.asked[n].value} {quotas.asked[n].low}" for n in own)
            last = quotas.asked[own[-1]]
            left = Bound(max(1 - total + floor[own[-1]], Fraction(0)), is_share=True)
            raise BudgetError(
                f"{OPTION}: the floors of column {column} add up to {float(100 * total):g}% ({listed}).",
                hint=f"Lower one: {Quota(last.column, last.value, left, last.high)}",
            )


def rows_of(quotas: Quotas, index: NDArray[np.intp], must: NDArray[np.intp]) -> Rows:
    """Turn quotas into conditions on the items at `index`, beside the `must` rows, which are picked anyway.

    Items alike in all quotas are one group.
    """
    alike, group = np.unique(quotas.member[:, index].T, axis=0, return_inverse=True)
    member = alike.T.astype(np.int64)
    of_must, n_must = quotas.member[:, must].sum(axis=1), len(must)
    coefficient, limit, place = [], [], []
    for n, quota in enumerate(quotas.asked):
        for bound, sign in ((quota.low, -1), (quota.high, 1)):
            if bound is None:
                continue
            per, share = (bound.amount.denominator, bound.amount.numerator) if bound.is_share else (1, 0)
            coefficient.append(sign * (per * member[n] - share))
            held = sign * (per * int(of_must[n]) - share * n_must)
            limit.append((0 if bound.is_share else sign * int(bound.amount)) - held)
            place.append(n)
    return Rows(
        group=group.reshape(-1).astype(np.intp),
        coefficient=np.array(coefficient, dtype=np.int64).reshape(len(place), member.shape[1]),
        limit=np.array(limit, dtype=np.int64),
        quota=np.array(place, dtype=np.intp),
        may_be_empty=n_must > 0,
    )


def kept(quotas: Quotas, picks: NDArray[np.intp]) -> tuple[QuotaKept, ...]:
    """Count what the picks hold of every quota."""
    held = quotas.member[:, picks].sum(axis=1)
    return tuple(QuotaKept(quota, int(n), len(picks)) for quota, n in zip(quotas.asked, held, strict=True))


def too_few(quota: Quota, there: int, must: int) -> BudgetError:
    """Say that a floor is above what is left to buy of its value."""
    lower = Quota(quota.column, quota.value, Bound(Fraction(there + must), is_share=False), quota.high)
    beside = f" beside {counted(must, 'must-have item')}" if must else ""
    return BudgetError(
        f"{quota}: only {counted(there, 'item')} with this value can be picked{beside}.", hint=f"Lower it: {lower}"
    )


def _bound(text: str, whole: str) -> Bound | None:
    if not text.strip():
        return None
    if text.strip() in ("0", "0%"):
        return Bound(Fraction(0), text.strip() == "0%")
    amount = parse_amount(text, f"{OPTION} {whole}", _HINT)
    if amount.unit == SHARE and amount.number <= 1:
        return Bound(amount.number, is_share=True)
    if amount.unit in ("", ITEMS) and amount.number.denominator == 1:
        return Bound(amount.number, is_share=False)
    raise BudgetError(
        f'{OPTION} {whole}: "{text}" is neither a share of the picks up to 100% nor a whole number of items.',
        hint=_HINT,
    )
