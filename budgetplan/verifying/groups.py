r"""Sets, tuples and intervals of plain numbers: `\{1, 2\}`, `(3, 4)`, `[0, \infty)`, compared without algebra.

Parsing one of these by grammar takes some ten milliseconds. What holds more than numbers and infinities is None.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from budgetplan.verifying import numerals
from budgetplan.verifying.numerals import Number

_GROUP = re.compile(r"(\\\{|[(\[])(.*)(\\\}|[)\]])", re.DOTALL)
_NESTED = re.compile(r"[()\[\]]|\\[{}]|(?<!\d)\d{1,3},\d{3}(?!\d)")
_INFINITY = {"\\infty": "∞", "+\\infty": "∞", "-\\infty": "-∞", "∞": "∞", "+∞": "∞", "-∞": "-∞"}


@dataclass(frozen=True, slots=True)
class Group:
    """Several numbers between brackets; a member that is a text is an infinity."""

    opening: str
    closing: str
    members: tuple[Number | str, ...]


@lru_cache(maxsize=65536)
def read(text: str) -> Group | None:
    """Read a text that is one bracketed list of plain numbers and nothing more."""
    match = _GROUP.fullmatch(numerals.tidy(text)) if len(text) <= 200 else None
    if match is None or _NESTED.search(match[2]):
        return None
    members = [_member(part.strip()) for part in match[2].split(",")]
    if any(member is None for member in members):
        return None
    return Group(match[1], match[3], tuple(member for member in members if member is not None))


def same(left: Group, right: Group) -> bool | None:
    """Say whether two lists are equal; None for lists of different kinds, which algebra may still find equal."""
    if (left.opening == "\\{") != (right.opening == "\\{"):
        return None
    if left.opening == "\\{":
        return _same_set(left, right)
    if len(left.members) != len(right.members):
        return False
    if (left.opening, left.closing) != (right.opening, right.closing):
        # The ends of an interval belong to it or do not; a vector is written either way.
        return False if len(left.members) == 2 else None
    return all(map(_same_member, left.members, right.members))


def _same_set(left: Group, right: Group) -> bool | None:
    members = [*left.members, *right.members]
    if any(isinstance(member, str) or member.decimal or member.value != member.other for member in members):
        return None
    first, second = (
        {member.value for member in group.members if not isinstance(member, str)} for group in (left, right)
    )
    return first == second


def _same_member(left: Number | str, right: Number | str) -> bool:
    if isinstance(left, str) or isinstance(right, str):
        return left == right
    return numerals.same(left, right)


def _member(text: str) -> Number | str | None:
    return _INFINITY.get(text.replace(" ", "")) or numerals.read(text)
