"""The `math` verifier: plain numbers compared exactly here, every other expression by math-verify.

math-verify is imported only when an answer needs it, and runs without its own timeouts, which rest on signals: whoever
calls `equal` must be able to kill the process it runs in.
"""

import logging
import re
from functools import cached_property, lru_cache
from importlib.metadata import version
from typing import Any

from budgetplan.verifying import find, groups, numerals
from budgetplan.verifying.find import Found
from budgetplan.verifying.turn import answer_part

_SPAN = re.compile(r"\$\$(.+?)\$\$|(?<!\\)\$([^$\n]+?)(?<!\\)\$(?!\d)|\\\((.+?)\\\)|\\\[(.+?)\\\]", re.DOTALL)
_MONEY = re.compile(r"\s*[\d.,]+(?:\s+[a-zA-Z]{2,}|\s*[-+,.]?\s*$)")
_JOINT = re.compile(r"[\s,;]*(?:and|or)?[\s,;]*")
_COMMAND = re.compile(r"\\[a-zA-Z]+")
_FUNCTION = re.compile(r"\b(?:sin|cos|tan|sec|csc|cot|log|ln|sqrt|exp|pi|inf|infinity|arcsin|arccos|arctan)\b")
_WORD = re.compile(r"[^\W\d_]{3,}")
_MATHEMATICAL = re.compile(r"[\d\\^_=+*/<>(\[{]")
_OPERATION = re.compile(r"[\\^_=+*/<>(\[{-]|^\d+[a-z]$")
_VARIABLE = re.compile(r"\s*\$?\s*(\\?[a-zA-Z])\s*=")
_ASSIGNMENTS = re.compile(r"\s*\\?[a-zA-Z]+\s*=[^=,;]+(?:(?:[,;]|\band\b|\bor\b)\s*\\?[a-zA-Z]+\s*=[^=,;]+)+")
_REASON = re.compile(r"(?<=\S),?\s+(?:because|since|where)\b")
_CLOCK = re.compile(r"\s*(\d{1,2})[:.](\d\d)\s*([ap])\.?\s?m\.?\s*", re.IGNORECASE)
_DATE = re.compile(r"\d{1,4}([/.-])\d{1,2}\1\d{1,4}")
_SPELLINGS = (
    (re.compile(r"[‹›\s]|\\(?=[%#&])|\.$"), ""),
    (re.compile(r"\\sqrt(\w)"), r"\\sqrt{\1}"),
    (re.compile(r"\\(le|ge|ne)q?(?![a-z])"), r"\\\1"),
    (re.compile(r"\\[lr](brace|brack|paren)(?![a-z])|\\(?:big|Big|bigg|Bigg)[lr]?(?![a-z])"), r"\1"),
    (re.compile(r"(?<!\\)infinity|(?<!\\)\binfty|∞"), r"\\infty"),
    (re.compile(r"π"), r"\\pi"),
    (re.compile(r"([a-zA-Z])\\in(?![a-z])"), ""),
)


class Mathematics:
    """Numbers and expressions."""

    name = "math"

    @cached_property
    def version(self) -> str:
        """Return the rules' own version and math-verify's."""
        return f"1+math-verify-{version('math-verify')}"

    def extract(self, text: str) -> Found | None:
        """Find the last box, `####`, or stated expression; else the last formula or number."""
        part = answer_part(text)
        if part is None:
            return None
        if boxed := find.boxes(part):
            return Found(", ".join(boxed), explicit=True)
        if (hashed := find.hashed(part)) is not None:
            return Found(hashed, explicit=True)
        last = find.bare(find.last_line(part))
        for stated in find.statements(part):
            if (answer := _expression(stated)) is not None:
                return Found(answer, explicit=True)
            if last.endswith(stated):
                return None  # it ended on an announced answer that is no number: one from the working is not its answer
        guess = _last_expression(part)
        return None if guess is None else Found(guess, explicit=False)

    def key(self, extracted: str) -> str:
        """Write an answer in one way, as far as that is possible without algebra."""
        return _canonical(extracted)

    def decide(self, extracted: str, gold: str) -> bool | None:
        """Compare without math-verify; None where it takes algebra."""
        known = find.known_answer(gold)
        variables = {match.group(1) for match in map(_VARIABLE.match, (extracted, known)) if match}
        if len(variables) > 1:
            return None
        left, right = numerals.read(extracted), numerals.read(known)
        if left and right:
            return numerals.same(left, right)
        if _canonical(extracted) == _canonical(known):
            return True
        one, other = groups.read(extracted), groups.read(known)
        if one and other:
            return groups.same(one, other)
        group = one or other
        if group and (left or right) and len(group.members) > 1:
            return False
        return False if (left or _is_plain(extracted)) and (right or _is_plain(known)) else None

    def load(self) -> None:
        """Import math-verify and SymPy (about half a second)."""
        _math_verify()

    def equal(self, extracted: str, gold: str) -> bool:
        """Compare, with math-verify where needed; may take for ever, since SymPy may.

        Raises ValueError for a known answer that math-verify cannot read, unless it is spelled like the found one.
        """
        decided = self.decide(extracted, gold)
        return _same_expression(extracted, find.known_answer(gold)) if decided is None else decided


def is_expression(gold: str) -> bool:
    """Say whether a known answer is a number or a formula; a date is neither."""
    if numerals.read(gold):
        return True
    return not _DATE.fullmatch(gold.strip()) and _is_formula(gold) and _OPERATION.search(gold) is not None


def _expression(stated: str) -> str | None:
    """Return the number or expression in what was announced; a few plain words stand for themselves."""
    stated = _REASON.split(stated)[0]
    if numerals.read(stated):
        return stated
    if spans := _spans(stated):
        leading = [spans[0]] if not stated[: spans[0].start()].strip() else [spans[-1]]
        for span in spans[1:] if leading[0] is spans[0] else ():
            if not _JOINT.fullmatch(stated, leading[-1].end(), span.start()):
                break
            leading.append(span)
        return ", ".join(_inside(span) for span in leading)
    if "=" in stated and not _ASSIGNMENTS.fullmatch(stated):
        stated = stated.rsplit("=", 1)[1].strip()
    if numerals.read(stated) or _is_formula(stated):
        return stated
    numbers = numerals.numbers_in(stated)
    if numbers:
        return numbers[0] if stated.startswith(numbers[0]) else numbers[-1]
    return stated if 1 <= len(stated.split()) <= 3 else None


def _last_expression(part: str) -> str | None:
    line = find.bare(find.last_line(part))
    spans = _spans(line)
    if spans and not numerals.numbers_in(line[spans[-1].end() :]):
        return _inside(spans[-1]).rsplit("=", 1)[-1].strip()
    answer = line.rsplit("=", 1)[-1].strip()
    if answer and (numerals.read(answer) or (_is_formula(answer) and _MATHEMATICAL.search(answer))):
        return answer
    numbers = numerals.numbers_in(line) or numerals.numbers_in(part[-1000:])
    return numbers[-1] if numbers else None


def _spans(text: str) -> list[re.Match[str]]:
    """Return the LaTeX formulas in a sentence; what stands between the dollar signs of two prices is none."""
    if "$" not in text and "\\" not in text:
        return []
    return [span for span in _SPAN.finditer(text) if not (span[2] and _MONEY.match(span[2]))]


def _inside(span: re.Match[str]) -> str:
    return next(group for group in span.groups() if group is not None).strip().rstrip(".,")


def _is_formula(text: str) -> bool:
    return bool(text) and not _WORD.search(_FUNCTION.sub("", _COMMAND.sub("", numerals.tidy(text))))


def _is_plain(text: str) -> bool:
    return _is_words(text) or _clock(text) is not None


def _clock(text: str) -> re.Match[str] | None:
    return _CLOCK.fullmatch(numerals.tidy(text).replace("‹", "").replace("›", ""))


def _is_words(text: str) -> bool:
    words = numerals.tidy(text).replace("‹", "").replace("›", "").strip(" .")
    return words.casefold() in ("yes", "no") or (
        len(words) >= 4 and all(part.isalpha() for part in re.split(r"[\s'’-]+", words) if part)
    )


@lru_cache(maxsize=65536)
def _canonical(text: str) -> str:
    if number := numerals.read(text):
        return numerals.spelled(number)
    if clock := _clock(text):
        return f"{int(clock[1])}:{clock[2]} {clock[3].lower()}m"
    text = numerals.tidy(text)
    if _is_words(text):
        return " ".join(text.replace("‹", "").replace("›", "").split()).strip(" .").casefold()
    for pattern, replacement in _SPELLINGS:
        text = pattern.sub(replacement, text)
    return _in_order(text)


def _in_order(text: str) -> str:
    """Sort the members of a set or of a bare list: their order says nothing."""
    opening, closing = ("\\{", "\\}") if text.startswith("\\{") and text.endswith("\\}") else ("", "")
    inner = text[len(opening) : len(text) - len(closing)]
    if "," not in inner or any(char in inner for char in "()[]{}=<>"):
        return text
    members = [numerals.spelled(number) if (number := numerals.read(part)) else part for part in inner.split(",")]
    return f"{opening}{','.join(sorted(members))}{closing}"


@lru_cache(maxsize=1)
def _math_verify() -> Any:
    import math_verify

    # Both libraries report what they cannot parse; here that is a verdict, not news.
    for noisy in ("math_verify", "latex2sympy2_extended"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)
    return math_verify


@lru_cache(maxsize=8192)
def _parsed(expression: str) -> Any:
    return _math_verify().parse(rf"\boxed{{{expression}}}", parsing_timeout=None)


def _plainly_different(gold: Any, target: Any) -> bool:
    """Say whether two expressions have different values at some point: far cheaper than simplifying the difference.

    math-verify rounds to six places, lets 9 % equal 9 and reads words as products of letters; what may be such is left
    to it.
    """
    import sympy

    if not all(isinstance(side, sympy.Expr) and not isinstance(side, sympy.Symbol) for side in (gold, target)):
        return False
    if gold.has(sympy.UnevaluatedExpr) or target.has(sympy.UnevaluatedExpr):
        return False
    variables = sorted(gold.free_symbols | target.free_symbols, key=str)
    point = {variable: sympy.Rational(17 + 6 * place, 7) for place, variable in enumerate(variables)}
    try:
        difference = (gold - target).subs(point).evalf(15)
        return bool(difference.is_number and difference.is_finite and abs(difference) > 1e-5)
    except (TypeError, ValueError, ArithmeticError, AttributeError):
        return False


@lru_cache(maxsize=65536)
def _same_expression(extracted: str, known: str) -> bool:
    gold, target = _parsed(known), _parsed(extracted)
    if all(isinstance(side, str) for side in gold):
        raise ValueError(f"math-verify cannot read the known answer {known!r}")
    if target and _plainly_different(gold[0], target[0]):
        return False
    return bool(_math_verify().verify(gold, target, timeout_seconds=None))
