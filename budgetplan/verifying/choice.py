r"""The `choice` verifier: the letter of an option: `(A)`, `A.`, `**(A) foo**`, `\boxed{\text{A}}`, "Option A".

A letter counts only where it is set apart as an option; the article in "A brown ball" does not.
"""

import re

from budgetplan.verifying import find
from budgetplan.verifying.exact import Exact
from budgetplan.verifying.find import Found
from budgetplan.verifying.turn import answer_part

_LATEX = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt)?|mathrm|mathbf|mathit|mbox|boxed|fbox)\s*(?=\{)|\\[()\[\],;! ]|[${}*_`~]"
)
_OPTION = re.compile(
    r"""\s*["'“]?\s*(?:(?i:the|answer|final|correct|option|choice|letter|is|:)\s*){0,6}["'“]?
    (?: [(\[]\s*([A-Za-z])\s*[)\]]                                   # (A)
      | ([A-Z])\s*(?=[).:,;\]"'”]|$|\s*[-–—]\s)                       # A.   A) foo   A: foo   A
      | ([B-HJ-Z])(?=\s+[a-z(\d])                                    # B brown ball (A and I are also words)
      | ([AI])(?=\s+(?:because|since|as|and|is|which|for|with|\()\b)
      | ([a-z])\s*(?=[).]\s|[).]?\s*$)
    )""",
    re.VERBOSE,
)
_SEVERAL = re.compile(
    r"\(?[A-Za-z]\b\)?(?:\s*(?:,|;|&|/|(?i:and|or)\b)\s*(?:(?i:and|or)\s+)?\(?[A-Za-z]\b\)?){1,9}[.\s]*"
)
_ONE_OF_SEVERAL = re.compile(r"\b[A-Z]\b")
_CHOSEN = re.compile(
    r"""\b(?i:option|choice|letter|select|choose|pick)s?\b\s*(?i:is|:)?\s*[*_"'`$]*
    (?:\\boxed\{|\\text\w*\{|\s)*(?:\(([A-Za-z])\)|([A-Z])\b(?!['’]))""",
    re.VERBOSE,
)
_CHOSEN_BY = re.compile(
    r"\b(?i:correct|right|best|final|my|the)\s+(?i:option|choice)\s+(?i:is|would be|:)\s*[*_\"'`]*\(?([A-Z])\b"
)
_ENDS_ON = re.compile(r"(?:\b(?:is|are|be|with|has|:|→|=)\s*[*_\"'`$]*)(?:\(([A-Z])\)|([A-Z]))[*_\"'`$.)]*\s*$")
_NAMED = re.compile(r"[^()]*\(([A-Z])\)\s+\w[^()]{0,60}")
_JUDGED = re.compile(
    r"(?:.*\b(?i:so|therefore|thus|hence),?\s+)?(?:(?i:option|choice)\s+)?"
    r"\(?([A-Z])\)? is (?:the )?(?:correct|right|best)\b.*"
)
_ALONE = re.compile(r"[*_\s\"'`$#>-]*(?:\(([A-Za-z])\)|([A-Z])(?=[).:]|[*_\s\"'`$.]*$)).*")
_TEXT = Exact()


class Choice:
    """One option of several, by its letter."""

    name = "choice"
    version = "1"

    def extract(self, text: str) -> Found | None:
        """Find the last box or stated option; else a last line that is an option or ends on one."""
        part = answer_part(text)
        if part is None:
            return None
        if boxed := find.boxes(part):
            return Found(", ".join(boxed), explicit=True)
        for stated in find.statements(part):
            if _letter(stated) or len(stated.split()) <= 6:
                return Found(stated, explicit=True)
        if chosen := _CHOSEN_BY.findall(part):
            return Found(chosen[-1], explicit=True)
        return _from_last_line(find.last_line(part))

    def key(self, extracted: str) -> str:
        """Write an option as its capital letter, or its words where it has none."""
        return _letter(extracted) or _TEXT.key(extracted)

    def decide(self, extracted: str, gold: str) -> bool | None:
        """Compare letters; never undecided."""
        return self.key(extracted) == self.key(find.known_answer(gold))

    def load(self) -> None:
        """Need nothing more."""

    def equal(self, extracted: str, gold: str) -> bool:
        """Compare letters."""
        return self.key(extracted) == self.key(find.known_answer(gold))


def _letter(text: str) -> str | None:
    text = _LATEX.sub(" ", text).strip()
    if _SEVERAL.fullmatch(text):
        return ",".join(sorted(set(_ONE_OF_SEVERAL.findall(text.upper()))))
    match = _OPTION.match(text)
    return next(group for group in match.groups() if group).upper() if match else None


def _from_last_line(line: str) -> Found | None:
    plain = find.bare(line)
    if chosen := [one or other for one, other in _CHOSEN.findall(plain)]:
        return Found(chosen[-1].upper(), explicit=False)
    if ends := _ENDS_ON.search(plain):
        return Found(ends[1] or ends[2], explicit=False)
    if named := _NAMED.fullmatch(plain) or _JUDGED.fullmatch(plain):
        return Found(named[1], explicit=False)
    if len(plain.split()) <= 8 and (alone := _ALONE.fullmatch(plain)):
        return Found((alone[1] or alone[2]).upper(), explicit=False)
    return None
