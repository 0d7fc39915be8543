"""The `exact` verifier: the same words, apart from case, white space and the marks around them.

Inside an answer every character counts ("Parkinson’s" is not "Parkinson's"), with one exception: a numeric date is
compared by its numbers, so 05/01/2021 and 5-1-2021 are one, and 01/05/2021 is another.
"""

import re
import unicodedata

from budgetplan.verifying import find
from budgetplan.verifying.find import Found
from budgetplan.verifying.turn import answer_part

_DATE = re.compile(r"(?<![\w/.-])(\d{1,4})([/.-])(\d{1,2})\2(\d{1,4})(?![\w/-])")
_WRAPPED = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|normal)?|mathrm|mathbf|mathit|mathsf|mbox|boxed|fbox)\s*\{(.*)\}", re.DOTALL
)
_VERDICT = re.compile(r"[\W_]*(yes|no|true|false)\b(?=[\W_]*(?:$|[,.;:—–-]|\bbecause\b|\bsince\b))", re.IGNORECASE)
_MARKED = re.compile(r"""(?:\*\*(.+?)\*\*|`(.+?)`|"(.+?)"|“(.+?)”|'(.+?)'(?!\w))(?=$|[\s.,;:!?)])""")
_IS = re.compile(r"\b(?:is|are|be|gives|equals|becomes)\b(?: the)?:?\s+|[=:→]\s*", re.IGNORECASE)
_FEW_WORDS = 10
_NESTED = 20


class Exact:
    """Words, names, dates, yes and no."""

    name = "exact"
    version = "1"

    def extract(self, text: str) -> Found | None:
        """Find the last box, stated answer or `####`; else a short last line, or what it says something "is"."""
        part = answer_part(text)
        if part is None:
            return None
        if boxed := find.boxes(part):
            return Found(boxed[-1], explicit=True)
        if stated := next(find.statements(part), None):
            return Found(_heart(stated), explicit=True)
        if (hashed := _after_hashes(part)) is not None:
            return Found(hashed, explicit=True)
        guess = _last_words(part)
        return Found(guess, explicit=False) if guess else None

    def key(self, extracted: str) -> str:
        """Write an answer without case and outer marks; the only numeric date in it stands for all of it."""
        text = unicodedata.normalize("NFC", extracted)
        dates = _DATE.findall(text)
        if len(dates) == 1:
            first, _, second, third = dates[0]
            return f"{int(first)}/{int(second)}/{int(third)}"
        return " ".join(_unwrapped(text).casefold().split())

    def decide(self, extracted: str, gold: str) -> bool | None:
        """Compare keys; never undecided."""
        return self.key(extracted) == self.key(find.known_answer(gold))

    def load(self) -> None:
        """Need nothing more."""

    def equal(self, extracted: str, gold: str) -> bool:
        """Compare keys."""
        return self.key(extracted) == self.key(find.known_answer(gold))


def _heart(stated: str) -> str:
    """Take the marked words of an announced answer ("**yes**, because ..."), or its "yes", or all of it."""
    if marked := _MARKED.match(stated):
        return next(group for group in marked.groups() if group)
    verdict = _VERDICT.match(stated)
    return verdict.group(1) if verdict else stated


def _after_hashes(part: str) -> str | None:
    line = find.last_line(part)
    return find.bare(line.lstrip("# ")) if line.startswith("####") else find.hashed(part)


def _last_words(part: str) -> str | None:
    line = find.bare(find.last_line(part))
    first = find.bare(find.first_sentence(part.strip()[:1000]))
    for text in (line, find.last_sentence(line), first):
        if verdict := _VERDICT.match(text):
            return verdict.group(1)
    if len(line.split()) > 1 and (parts := _IS.split(line)) and 0 < len(parts[-1].split()) <= 5:
        return _heart(find.bare(parts[-1]))
    return line if 0 < len(line.split()) <= _FEW_WORDS else None


def _unwrapped(text: str) -> str:
    r"""Strip quotes, markdown, closing punctuation, dollar signs and `\text{}` around a text."""
    for _ in range(_NESTED):
        before = text
        text = find.bare(text)
        if wrapped := _WRAPPED.fullmatch(text):
            text = wrapped.group(1)
        for opening, closing in (("$", "$"), ("\\(", "\\)")):
            if len(text) > 2 and text.startswith(opening) and text.endswith(closing):
                text = text[len(opening) : -len(closing)]
        if text == before:
            break
    return text
