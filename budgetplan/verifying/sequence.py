"""The `sequence` verifier: several positions at once ("Alice: ball, Bob: book", "a, b, c", JSON, numbered lines).

All positions must match: by name where both sides name them, else in order.
"""

import json
import re
from dataclasses import dataclass

from budgetplan.verifying import find
from budgetplan.verifying.exact import Exact
from budgetplan.verifying.find import Found
from budgetplan.verifying.turn import answer_part

_LATEX = re.compile(r"\\(?:text(?:bf|it|rm)?|mathrm|mathbf|mbox|boxed)\s*(?=\{)|\\\\|\\[,;:! ]|[*_`$]")
_ARROW = re.compile(r"\\(?:to|rightarrow|mapsto)\b")
_NUMBERING = re.compile(r"(?:^|(?<=[\s,;]))(?:\(?\d{1,3}[.)]|[-•–])\s+")
_NAMED = re.compile(
    r"(?P<name>[^\W\d_][\w'’ -]{0,40}?)\s*(?::|=|->|→|—|–|\b(?:has|holds|gets|is holding|ends up with|is with|is)\b)\s*"
    r"(?P<value>.*\S)"
)
_ARTICLE = re.compile(r"^(?:the|an?)\s+", re.IGNORECASE)
_AND = re.compile(r"^and\s+", re.IGNORECASE)
_SEPARATORS = (re.compile(r"\n+"), re.compile(r"\s*;\s*"), re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+"))
_WORDS = Exact()
_LONGEST = 5000


@dataclass(frozen=True, slots=True)
class _Position:
    name: str | None
    value: str


class Sequence:
    """Positions of several things, or a list."""

    name = "sequence"
    version = "1"

    def extract(self, text: str) -> Found | None:
        """Find the last box or announced list; else the last lines that make one."""
        part = answer_part(text)
        if part is None:
            return None
        for boxed in reversed(find.boxes(part)):
            return Found(boxed, explicit=True)
        for end in reversed(find.statement_ends(part)):
            if block := _block(part[end:]):
                return Found(block, explicit=True)
        if stated := next(find.statements(part), None):
            return Found(stated, explicit=True)
        guess = _last_block(part)
        return Found(guess, explicit=False) if guess else None

    def key(self, extracted: str) -> str:
        """Write the positions in one way; named ones sorted by name."""
        positions = _positions(extracted)
        if not positions:
            return _WORDS.key(extracted)
        if all(position.name for position in positions):
            return "; ".join(sorted(f"{position.name}: {position.value}" for position in positions))
        return "; ".join(position.value for position in positions)

    def decide(self, extracted: str, gold: str) -> bool | None:
        """Compare position by position; never undecided."""
        return self.equal(extracted, gold)

    def load(self) -> None:
        """Need nothing more."""

    def equal(self, extracted: str, gold: str) -> bool:
        """Compare position by position."""
        left, right = _positions(extracted), _positions(find.known_answer(gold))
        if len(left) != len(right) or not right:
            return False
        if all(position.name for position in (*left, *right)):
            return sorted(map(_pair, left)) == sorted(map(_pair, right))
        return [position.value for position in left] == [position.value for position in right]


def is_sequence(gold: str) -> bool:
    """Say whether a known answer has several positions."""
    return bool(_positions(gold))


def names_positions(gold: str) -> bool:
    """Say whether a known answer is plainly a sequence: a JSON list or object, or every position with its name."""
    return bool(_from_json(gold.strip())) or all(
        position.name for position in _positions(gold) or [_Position(None, "")]
    )


def _pair(position: _Position) -> tuple[str, str]:
    return position.name or "", position.value


def _positions(text: str) -> list[_Position]:
    """Read a list of positions; empty for what is not one."""
    if len(text) > _LONGEST:
        return []
    if "\\" in text:
        text = _LATEX.sub(" ", _ARROW.sub("->", text)).replace("{", "").replace("}", "")
    text = find.bare(text)
    positions = _from_json(text)
    if positions is None:
        positions = [_position(part) for part in _parts(text)]
    return positions if len(positions) >= 2 and all(position.value for position in positions) else []


def _from_json(text: str) -> list[_Position] | None:
    if not text.startswith(("[", "{")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        return [_Position(_plain(str(name)), _plain(_as_text(item))) for name, item in value.items()]
    return [_Position(None, _plain(_as_text(item))) for item in value] if isinstance(value, list) else None


def _as_text(item: object) -> str:
    return item if isinstance(item, str) else json.dumps(item, sort_keys=True)


def _parts(text: str) -> list[str]:
    if text[:1] in "([{" and text[-1:] in ")]}":
        text = text[1:-1]
    numbered = [part.strip(" ,;\n") for part in _NUMBERING.split(text) if part.strip(" ,;\n")]
    if len(numbered) >= 2:
        return numbered
    for separator in _SEPARATORS:
        parts = [part for part in separator.split(text) if part.strip()]
        if len(parts) >= 2:
            return parts
    return [text]


def _position(part: str) -> _Position:
    part = _AND.sub("", _NUMBERING.sub("", part.strip()))
    if named := _NAMED.fullmatch(part):
        return _Position(_plain(named["name"]), _plain(named["value"]))
    return _Position(None, _plain(part))


def _plain(text: str) -> str:
    return _ARTICLE.sub("", _WORDS.key(text))


def _block(text: str) -> str | None:
    """Return the list that starts here: on this line, or on the lines below up to an empty one."""
    first, _, rest = text.lstrip(" \t:*_").partition("\n")
    for line in (find.first_sentence(first), first):
        if _positions(line):
            return find.bare(line)
    lines = rest.strip().split("\n\n")[0] if not find.bare(first) else ""
    return lines if _positions(lines) else None


def _last_block(part: str) -> str | None:
    block = part.strip().split("\n\n")[-1]
    lines = [line for line in block.splitlines() if line.strip()]
    if lines and find.bare(lines[0]) and lines[0].rstrip(" *_").endswith(":"):
        lines = lines[1:]
    listed = [line for line in lines if _NUMBERING.match(line.strip()) or _NAMED.fullmatch(find.bare(line))]
    for text in ("\n".join(listed) if len(listed) == len(lines) else "", lines[-1] if lines else ""):
        if _positions(text):
            return text
    return None
