"""A prompt as its clauses of words, and whether two prompts ask the same question in other clothes.

Invariant: the answer does not depend on which of the two comes first.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from typing import Self

from budgetplan.records import canonical_text

Clause = tuple[str, ...]

LEAST_CLAUSE_WORDS = 3
"""A clause of fewer words says something by its place: `First`, or one entry of a list."""
_LEAST_TYPO_LETTERS = 4
_SLIPS = frozenset(("a", "an", "the", "please"))  # may be missing in one of the two

_MARKUP = re.compile(r"\*\*|__|^\s*(?:[*#>]+|-)\s", re.MULTILINE)
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!,?\d)")
# With one of these, brackets and minus signs are part of what is asked.
_FORMULA = re.compile(r"[+*/^=<>×÷√∑∫\\]|\d\s*[-−]\s*\d|(?<!\w)[-−]\d")
# Thai to Tibetan, Burmese, Khmer, kana, Han are written without blanks: every character counts as a word.
_UNSPACED = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u312f\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = rf"\d+(?:\.\d+)?|[{_UNSPACED}]|[^\W\d_{_UNSPACED}]+"
_STOPS = r".,;:!?\"'`“”‘’«»…—–¿¡。、，；：！？「」"
_BRACKETS = r"()\[\]{}\-−"
_IN_PROSE = re.compile(rf"(?P<stop>[{_STOPS}{_BRACKETS}\n]+)|{_WORD}|[^\w\s$#_~|]")
_IN_FORMULA = re.compile(rf"(?P<stop>[{_STOPS}\n]+)|{_WORD}|[^\w\s$#_~|]")


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of a text, clause by clause: lower case, without punctuation; numbers and symbols are words."""

    clauses: tuple[Clause, ...]

    @classmethod
    def of(cls, text: str) -> Self:
        """Read a text."""
        folded = _APOSTROPHE.sub("", _MARKUP.sub(" ", canonical_text(text).casefold()))
        folded = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), folded)
        pattern = _IN_FORMULA if _FORMULA.search(folded) else _IN_PROSE
        pieces = groupby(pattern.finditer(folded), key=lambda found: found["stop"] is None)
        return cls(tuple(tuple(word[0] for word in words) for is_clause, words in pieces if is_clause))

    def words(self) -> list[str]:
        """All words in order."""
        return [word for clause in self.clauses for word in clause]

    def threes(self) -> list[str]:
        """Every three words in a row."""
        words = self.words()
        return [" ".join(three) for three in zip(words, words[1:], words[2:], strict=False)]

    def unframed(self, opening: Collection[Clause], closing: Collection[Clause]) -> Self:
        """Leave out such clauses at its beginning and its end, as long as others are left."""
        first, last = 0, len(self.clauses)
        while first < last - 1 and self.clauses[first] in opening:
            first += 1
        while first < last - 1 and self.clauses[last - 1] in closing:
            last -= 1
        return type(self)(self.clauses[first:last])

    def without(self, words: Iterable[str]) -> Self:
        """Leave some words out everywhere."""
        return type(self)(tuple(filter(None, (tuple(w for w in clause if w not in words) for clause in self.clauses))))

    def respelt(self, spellings: dict[str, str]) -> Self:
        """Write some words otherwise."""
        return type(self)(tuple(tuple(spellings.get(word, word) for word in clause) for clause in self.clauses))


def spelling(wording: Wording) -> str:
    """Equal for texts that differ in punctuation or spacing only; digits never run together."""
    return re.sub(r"(?<=[^\W\d]) (?=[^\W\d])", "", " ".join(wording.words()))


def same_question(
    one: Wording,
    other: Wording,
    is_seldom: Callable[[str], bool],
    is_rare: Callable[[Clause], bool],
) -> bool:
    """Tell whether two wordings differ in typing errors, moved clauses and added clauses at most.

    A typing error: two spellings one edit apart, one of them in few texts (`is_seldom`); or a missing article.
    Clauses move and are added whole, with LEAST_CLAUSE_WORDS or more. Each part that keeps its order must hold a clause
    that is rare among all texts (`is_rare`), or agreement means nothing.
    """
    words, other_words = Counter(one.words()), Counter(other.words())
    only_one, only_other = words - other_words, other_words - words
    slips = {word for word in _SLIPS if (word in only_one) != (word in only_other)}
    spellings = _typos(only_one.keys() - slips, only_other.keys() - slips, is_seldom)
    left, right = one.without(slips).respelt(spellings), other.without(slips).respelt(spellings)
    typed = set(spellings.values())

    def rare(clause: Clause) -> bool:
        pieces = groupby(clause, key=lambda word: word not in typed)
        return any(is_rare(tuple(piece)) for untouched, piece in pieces if untouched)

    return _made_of(left, right, rare) or _made_of(right, left, rare)


def _typos(one: Iterable[str], other: Iterable[str], is_seldom: Callable[[str], bool]) -> dict[str, str]:
    """Map each wrong spelling, on either side, to the right one on the other; few texts have the wrong one."""
    spellings: dict[str, str] = {}
    for pair in sorted(product(one, other), key=sorted):
        wrong, right = sorted(pair, key=lambda word: (not is_seldom(word), word))
        if is_seldom(wrong) and not spellings.keys() & {wrong, right} and _one_edit(wrong, right):
            spellings[wrong] = right
    return spellings


def _one_edit(a: str, b: str) -> bool:
    """Whether one letter more, less, other, or two letters swapped make the one word the other."""
    if min(len(a), len(b)) < _LEAST_TYPO_LETTERS or abs(len(a) - len(b)) > 1 or not (a + b).isalpha():
        return False
    start = next((place for place, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    a, b = a[start:], b[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


def _made_of(pieces: Wording, whole: Wording, rare: Callable[[Clause], bool]) -> bool:
    """Whether `whole` is made of clauses of `pieces`, with no short one moved or left out by itself."""
    used = _segmented(whole.words(), pieces.clauses)
    if not used:
        return False
    kept = {clause: rank for rank, clause in enumerate(sorted(used))}
    runs = _runs([kept[clause] for clause in used])
    unused = sorted(set(range(len(pieces.clauses))) - set(used))
    moved = [[pieces.clauses[sorted(used)[rank]] for rank in run] for run in runs]
    added = [[pieces.clauses[place] for place in run] for run in _runs(unused)]
    if len(moved) > 1 or added:
        long = all(max(map(len, run)) >= LEAST_CLAUSE_WORDS for run in [*moved, *added])
        return long and all(any(map(rare, run)) for run in moved)
    return any(map(rare, moved[0]))


def _segmented(words: list[str], clauses: Sequence[Clause]) -> list[int]:
    """Write the words as a row of clauses, each used once, by their places; empty where that cannot be done."""
    free = dict(enumerate(clauses))
    used: list[int] = []
    start = 0
    while start < len(words):
        fits = [place for place, clause in free.items() if tuple(words[start : start + len(clause)]) == clause]
        if not fits:
            return []
        following = used[-1] + 1 if used else 0
        used.append(max(fits, key=lambda place: (len(clauses[place]), place == following, -place)))
        start += len(free.pop(used[-1]))
    return used


def _runs(places: Sequence[int]) -> list[list[int]]:
    """Cut a row of places wherever the next one is not one higher."""
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs
