r"""Plain numbers as people and models write them: "$1,234.50", "18 dollars", "5\%", "-\frac{3}{4}", "45 1/3".

The arithmetic is exact (fractions); what is not plainly a number is None, never a guess.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Number:
    """A number and, where its unit allows two readings (5 % is 5 or 0.05), the second one; `decimal`: has a point."""

    value: Fraction
    other: Fraction
    decimal: bool


_INTEGER = re.compile(r"[+-]?\d{1,400}")
_CURRENCY = "$€£¥₹₩₽"
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,3}(?:\ \d{3})+(?!\d)|\d{1,400})"
_NUMBER = rf"""
    (?P<sign>[-+]?)\ ?[{_CURRENCY}]?\ ?(?P<sign_after>-?)
    (?: \\frac\{{(?P<top>[-+]?\d{{1,60}})\}}\{{(?P<bottom>\d{{1,60}})\}}
      | (?P<whole>\d{{1,60}})\s*\\frac\{{(?P<part_top>\d{{1,60}})\}}\{{(?P<part_bottom>\d{{1,60}})\}}
      | (?:(?P<mixed>\d{{1,60}})\s+)?(?P<over>\d{{1,60}})\s?/\s?(?P<under>\d{{1,60}})(?![\d/])
      | (?P<integer>{_DIGITS})?(?P<point>\.\d{{1,400}})?(?<=\d)\.?
        (?: \s*(?:\\times|\\cdot|[x×*·])\s*10\s*\^\s*\{{?(?P<ten>-?\d{{1,2}})\}}?(?!\d)
          | [eE](?P<exponent>[-+]?\d{{1,2}})(?!\d)
          | \^\s*(?:\{{(?P<power>-?\d{{1,2}})\}}|(?P<bare_power>\d{{1,2}}))(?!\d) )?
    )"""
_PLAIN = re.compile(rf"{_NUMBER}(?P<unit>.*)", re.VERBOSE | re.DOTALL)
_IN_TEXT = re.compile(
    rf"(?<![\w.\\/{{{{])(?![-+]\s){_NUMBER}(?!\d|st\b|nd\b|rd\b|th\b)(?:\s*(?:\\?%|percent\b))?", re.VERBOSE
)

_LATEX_WORDS = re.compile(
    r"\\(?:text(?:bf|it|rm|normal|sf)?|mathrm|mathbf|mathit|mathsf|mbox|operatorname)\s*\{([^{}]*)\}"
)
_LATEX_SPACE = re.compile(r"\\[,;:!]|\\(?=\s)|\\q?quad\b|~|\\displaystyle|\\left\b|\\right\b|\u2009|\u202f|\u00a0")
_BRACED_COMMA = re.compile(r"(?<=\d)\{,\}(?=\d{3})")
_SPACED_THOUSANDS = re.compile(r"(?<=\d),?\\[,!;:]\s*(?=\d{3}(?!\d))")
_FRACTION_NAME = re.compile(r"\\[dtc]frac")
_SHORT_FRACTION = re.compile(r"\\frac\s*(\d|\{[^{}]*\})\s*(\d|\{[^{}]*\})")
_ASSIGNED = re.compile(r"(?:\\?[a-zA-Z](?:_\{?\w\}?)?(?:\([a-z]\))?)\s*(?:=|\\approx|≈)\s*")
_ABOUT = re.compile(
    r"(?:approximately|about|around|roughly|exactly|only|nearly|\\approx|\\sim|≈|=|~)\s*", re.IGNORECASE
)
_MULTIPLES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_WORDS = dict(
    zip(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"], range(10), strict=True)
)
_MULTIPLE = re.compile(r"\s*(thousand|million|billion|trillion)\b", re.IGNORECASE)
_PERCENT = re.compile(r"\s*(?:\\?%|percent(?:age)?\b|pct\b)", re.IGNORECASE)

# After a digit without a space only these are units: "5x" and "2ab" are products.
_GLUED_UNIT = (
    r"(?:[cmkd]?m|ft|in|yd|mi|kg|mg|g|lbs?|oz|ml|mL|L|[kKMGT]B|GB|mph|km/h|hrs?|mins?|secs?|s|h|ms|am|pm|AM|PM"
    r"|°[CFK]?|\^\{?\\?(?:circ|degree)\}?\s*[CFK]?|['\"”′″]|[¢$€£]"
    r"|st|nd|rd|th)(?![a-zA-Z])"
)
_SQUARED = r"(?:\^\{?[23]\}?|[²³23])?"
# Words that make an expression of what stands around them, not a unit.
_NO_UNIT = r"(?!(?:pi|and|or|to|sin|cos|tan|log|ln|sqrt|exp|mod|times|plus|minus|over|choose|by|is|if|than)\b)"
_UNIT_WORD = rf"{_NO_UNIT}(?:[^\W\d_](?:[^\W\d_]|&(?=[A-Za-z]))+|[msghlLtd](?![a-zA-Z])|[a-zA-Z](?=/)){_SQUARED}"
_UNIT = re.compile(
    rf"""(?:{_GLUED_UNIT}{_SQUARED})?
    (?: [\s(-]+ (?:{_UNIT_WORD}) | \s*‹[^›\d]*›{_SQUARED} | \s*°[CFK]? | \s*\^\{{?\\(?:circ|degree)\}}?\s*[CFK]?
      | \s*[/]\s*{_UNIT_WORD} | \s*[$€£¢]
      | (?<=[^\W\d])(?:['’.,]s?|\sa(?=\s)) | \s*\) )*
    [\s.,!]*""",
    re.VERBOSE,
)


@lru_cache(maxsize=65536)
def read(text: str) -> Number | None:
    """Read a text that is one number, with its sign, currency, percent sign or unit, and nothing more."""
    if _INTEGER.fullmatch(text):
        value = Fraction(int(text))
        return Number(value, value, decimal=False)
    if (word := text.strip(" .").casefold()) in _WORDS:
        value = Fraction(_WORDS[word])
        return Number(value, value, decimal=False)
    if len(text) > 200 or not any(char.isdigit() for char in text):
        return None
    match = _PLAIN.fullmatch(tidy(text))
    return _number(match) if match else None


def same(left: Number, right: Number) -> bool:
    """Say whether two numbers are equal; one written with a point is compared to six places, as math-verify does."""
    pairs = [(a, b) for a in {left.value, left.other} for b in {right.value, right.other}]
    if left.decimal or right.decimal:
        return any(abs(a - b) < 1 and round(a, 6) == round(b, 6) for a, b in pairs)
    return any(a == b for a, b in pairs)


def spelled(number: Number) -> str:
    """Write the value in one way: "18", "0.5", "1/3"."""
    top, bottom = number.value.numerator, number.value.denominator
    if bottom == 1:
        return str(top)
    rest = bottom
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return f"{top}/{bottom}"
    places = max(_multiplicity(bottom, 2), _multiplicity(bottom, 5))
    digits = str(abs(top) * 10**places // bottom).rjust(places + 1, "0")
    return f"{'-' if top < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def numbers_in(text: str) -> list[str]:
    """Return the numbers that stand in a sentence, in order, as written."""
    return [match.group().strip().rstrip(".") for match in _IN_TEXT.finditer(text)]


def tidy(text: str) -> str:
    r"""Take LaTeX spacing, dollar signs and a leading "x =" off an answer; `\text{cm}` becomes `‹cm›`."""
    text = text.strip()
    if "\\" in text:
        text = _LATEX_WORDS.sub(
            r" ‹\1›", _SPACED_THOUSANDS.sub(",", text).replace("\\$", "$").replace("\\(", "").replace("\\)", "")
        )
        text = _SHORT_FRACTION.sub(_braced_fraction, _FRACTION_NAME.sub(r"\\frac", _LATEX_SPACE.sub(" ", text)))
    if len(text) > 2 and text[0] == text[-1] == "$":
        text = text[1:-1]
    text = _BRACED_COMMA.sub(",", text.replace("−", "-").replace("–", "-")).strip()
    if text.startswith("‹") and text.endswith("›") and text.count("‹") == 1:
        text = text[1:-1].strip()
    if text.count("=") <= 1 and (assigned := _ASSIGNED.match(text)):
        text = text[assigned.end() :]
    while about := _ABOUT.match(text):
        text = text[about.end() :]
    return text.strip()


def _braced_fraction(match: re.Match[str]) -> str:
    top, bottom = (part.strip("{} ") for part in match.groups())
    return f"\\frac{{{top}}}{{{bottom}}}"


def _number(match: re.Match[str]) -> Number | None:
    unit = match["unit"]
    value = _value(match)
    if value is None:
        return None
    other = value
    if percent := _PERCENT.match(unit.replace("‹", " ")):
        unit, other = unit[percent.end() :].lstrip("›"), value / 100
    elif multiple := _MULTIPLE.match(unit.replace("‹", " ")):
        unit, other = unit[multiple.end() :].lstrip("›"), value
        value *= _MULTIPLES[multiple.group(1).lower()]
    if not _UNIT.fullmatch(unit):
        return None
    return Number(value, other, decimal=bool(match["point"]))


def _value(match: re.Match[str]) -> Fraction | None:
    numerator, denominator = _quotient(match)
    if denominator == 0:
        return None
    value = Fraction(numerator) / denominator
    value += int(match["whole"] or match["mixed"] or 0)
    if match["ten"] or match["exponent"]:
        value *= Fraction(10) ** int(match["ten"] or match["exponent"])
    elif power := match["power"] or match["bare_power"]:
        if value == 0 or abs(value) > 1000:
            return None
        value **= int(power)
    return -value if (match["sign"] == "-") != (match["sign_after"] == "-") else value


def _quotient(match: re.Match[str]) -> tuple[Fraction, int]:
    for top, bottom in (("top", "bottom"), ("part_top", "part_bottom"), ("over", "under")):
        if match[bottom]:
            return Fraction(int(match[top])), int(match[bottom])
    return Fraction((match["integer"] or "0").replace(",", "").replace(" ", "") + (match["point"] or "")), 1


def _multiplicity(number: int, prime: int) -> int:
    count = 0
    while number % prime == 0:
        number, count = number // prime, count + 1
    return count
