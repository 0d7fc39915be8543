r"""Where a text states its final answer: `\boxed{}`, `####`, "the answer is", `A:`; its last line; its first sentence.

Every function returns words of the text, less the marker and the marks around them; what they mean is for a verifier.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Found:
    """An answer in a completion; `explicit` when a marker announced it, otherwise read off the last words."""

    text: str
    explicit: bool


_BOX = re.compile(r"\\(?:f?boxed|fbox)(?![a-zA-Z])\s*")
_BARE_BOX = re.compile(r"[^\s{}$\\]+")
_BETWEEN_BOXES = re.compile(r"[\s$,;.()\\\[\]]*(?:\\text\{)?\s*(?:and|or|,|;)?\s*\}?[\s$()\\\[\]]*")
# A markdown heading of level four starts with a word, or with "1."; an answer with a number, a sign or a formula.
_HASHED = re.compile(r"^####[ \t]*(?=[-+−$€£¥\\(\[{.\d])(?!\d+[.)]\s)([^\n]+)", re.MULTILINE)
_HASHED_AT_END = re.compile(r"^####[ \t]*([^\s#][^\n]*)\s*\Z", re.MULTILINE)
_SPEAKER = re.compile(r"^[^\w\n]{0,8}A[ \t]*[:：](?P<label>)", re.MULTILINE)
_ANSWER = re.compile(
    r"""\b[Aa][Nn][Ss](?:[Ww][Ee][Rr][Ss]?)?\b [*_`"]*
    (?: (?P<heading>[ \t]*\n)
      | (?i: \ ?
        (?:\([^()\n]{0,40}\)[*_`]*\ ?)?
        (?:(?:to|for|of)\ [^.:\n]{0,120}?)?
        (?: (?P<label>[:：=]) | \b(?:is|are|was|would\ be|will\ be|should\ be|must\ be|equals|becomes)\b )
        [*_`]*[ \t]*[:：]?)
    )""",
    re.VERBOSE,
)
_HEADING_START = re.compile(r"[#*_>\s\d.)]*(?:(?:the|my|our)\s+)?(?:final\s+)?", re.IGNORECASE)
# A model stuck in a loop writes a marker ten thousand times; an answer is not ten thousand characters long.
_LAST_MARKS, _LONG_LINE, _NESTED_MARKS = 32, 1000, 20
_CUES = ("nswer", "NSWER", "ns:", "NS:")
_FILLER = re.compile(
    r"(?:[\s:：=]|[*_]+(?=\s)|(?:therefore|thus|then|hence|simply|just|indeed|clearly|equal to|that|given by)\b,?)+",
    re.IGNORECASE,
)
_DISPLAY = re.compile(r"\s*(?:\$\$(.+?)\$\$|\\\[(.+?)\\\])", re.DOTALL)
_SENTENCE_END = re.compile(
    r"""(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bSt)(?<!\bMt)(?<!\bvs)(?<!\b[A-Z])
    [.!?]["'”’)*_$]* \s+ (?=["'“‘(*_$\\]*[A-Z])""",
    re.VERBOSE,
)
_ENCLOSING = (("**", "**"), ("__", "__"), ("`", "`"), ('"', '"'), ("“", "”"), ("'", "'"), ("‘", "’"), ("*", "*"))


def boxes(text: str) -> list[str]:
    r"""Return the contents of the last `\boxed{}` and of those joined to it by "and", "or" or a comma, in order.

    Braces nest; a box never closed (a text cut off) does not count, nor does an empty one.
    """
    found: list[str] = []
    starts = [match.span() for match in _BOX.finditer(text)][-_LAST_MARKS:] if "box" in text else []
    before = len(text)
    for start, opening in reversed(starts):
        content, end = _box_content(text, opening)
        if not content:
            continue
        if found and (before - end > 40 or not _BETWEEN_BOXES.fullmatch(text, end, before)):
            break
        found.insert(0, content)
        before = start
    return found


def hashed(text: str) -> str | None:
    """Return what stands after the last `####` that holds an answer and is no heading."""
    if "####" not in text:
        return None
    found = _HASHED.findall(text) or _HASHED_AT_END.findall(text)
    return bare(found[-1]) if found else None


def statements(text: str) -> Iterator[str]:
    """Yield what each "the answer is", "Answer:" or `A:` announces, last one first.

    "Answer:" before a worked solution is a heading, not a statement, and is left out.
    """
    for match in reversed(_markers(text)[-_LAST_MARKS:]):
        if (stated := _stated(text, match)) is not None:
            yield stated


def statement_ends(text: str) -> list[int]:
    """Return where each announced answer's own text begins, in order."""
    return [match.end() for match in _markers(text)[-_LAST_MARKS:]]


def first_answer_end(text: str) -> int | None:
    """Return a position inside or just after the first explicit answer; None if there is none."""
    ends = [match.end() for match in (_BOX.search(text), _HASHED.search(text)) if match]
    ends += next(([match.end()] for match in _markers(text) if _stated(text, match) is not None), [])
    return min(ends, default=None)


def known_answer(gold: str) -> str:
    r"""Return the answer itself of a known answer that comes with its working (`... #### 72`, `... \boxed{72}`)."""
    if "####" in gold:
        return gold.rsplit("####", 1)[1].strip()
    boxed = boxes(gold)
    return ", ".join(boxed) if boxed else gold.strip()


def last_line(text: str) -> str:
    """Return the last line with a letter or digit in it, or ""."""
    for line in reversed(text.splitlines()):
        if any(char.isalnum() for char in line):
            return line.strip()[-_LONG_LINE:]
    return ""


def first_sentence(line: str) -> str:
    """Return a line up to the end of its first sentence; "3.5" and "Mr. X" do not end one."""
    end = _SENTENCE_END.search(line)
    return line[: end.start() + 1] if end else line


def last_sentence(line: str) -> str:
    """Return a line from the start of its last sentence."""
    ends = list(_SENTENCE_END.finditer(line.rstrip()))
    return line[ends[-1].end() :] if ends else line


def bare(text: str) -> str:
    """Strip white space, closing punctuation, markdown marks and quotes around a text."""
    for _ in range(_NESTED_MARKS):
        before = text
        text = text.strip().rstrip(".,;:!").strip()
        for opening, closing in _ENCLOSING:
            if len(text) > len(opening) + len(closing) and text.startswith(opening) and text.endswith(closing):
                text = text[len(opening) : -len(closing)]
        text = _without_odd_mark(text)
        if text == before:
            break
    return text


def _without_odd_mark(text: str) -> str:
    for mark in ("**", "__"):
        if text.count(mark) == 1 and (text.startswith(mark) or text.endswith(mark)):
            return text.replace(mark, "")
    return text


def _box_content(text: str, opening: int) -> tuple[str, int]:
    """Return the content of the box whose brace stands at `opening` and where it ends; "" for one never closed."""
    if not text.startswith("{", opening):
        word = _BARE_BOX.match(text, opening)
        return (word.group(), word.end()) if word else ("", opening)
    depth = 0
    for brace in re.finditer(r"\\.|[{}]", text[opening:], re.DOTALL):
        depth += {"{": 1, "}": -1}.get(brace.group(), 0)
        if depth == 0 and brace.group() == "}":
            end = opening + brace.end()
            return text[opening + 1 : end - 1].strip(), end
    return "", len(text)


def _markers(text: str) -> list[re.Match[str]]:
    markers = [match for start in _occurrences(text, _CUES) if (match := _ANSWER.match(text, start - 1))]
    markers = [match for match in markers if match["heading"] is None or _heads_its_line(text, match)]
    if "A:" in text or "A：" in text or "A :" in text:
        markers.extend(_SPEAKER.finditer(text))
    return sorted(markers, key=lambda match: match.end())


def _occurrences(text: str, words: tuple[str, ...]) -> Iterator[int]:
    """Yield where any of the words stands: several times faster than a search for a pattern."""
    for word in words:
        start = text.find(word)
        while start > 0:
            yield start
            start = text.find(word, start + 1)


def _heads_its_line(text: str, match: re.Match[str]) -> bool:
    return _HEADING_START.fullmatch(text, text.rfind("\n", 0, match.start()) + 1, match.start()) is not None


def _stated(text: str, match: re.Match[str]) -> str | None:
    if display := _DISPLAY.match(text, match.end()):
        return (display.group(1) or display.group(2)).strip()
    filler = _FILLER.match(text, match.end())
    start = filler.end() if filler else match.end()
    end = text.find("\n", start)
    line = text[start : min(end if end >= 0 else len(text), start + _LONG_LINE)]
    sentence = first_sentence(line)
    announced = match.groupdict("").get("heading") or match["label"] is not None
    if announced and _introduces_working(sentence, line, text[start - 1 : start] == "\n", text[start + len(line) :]):
        return None
    return bare(sentence) or None


def _introduces_working(sentence: str, line: str, on_next_line: bool, rest: str) -> bool:
    goes_on = len(sentence) < len(line.rstrip()) or (on_next_line and rest.count("\n") > 4)
    return goes_on and len(sentence.split()) > 5
