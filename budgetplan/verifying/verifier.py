"""What a verifier is, which ones ship, and which suits a set of known answers."""

import re
from collections.abc import Callable
from collections.abc import Sequence as Answers
from typing import Protocol

from budgetplan.errors import VerifierError
from budgetplan.verifying import find
from budgetplan.verifying.choice import Choice
from budgetplan.verifying.exact import Exact
from budgetplan.verifying.find import Found
from budgetplan.verifying.function import RewardFunction
from budgetplan.verifying.mathematics import Mathematics, is_expression
from budgetplan.verifying.sequence import Sequence, is_sequence, names_positions

_OPTION = re.compile(r"\([A-Za-z]\)(?:\s.*)?|[A-Ja-j][.)]?|[A-J][.):]\s.*", re.DOTALL)


class Verifier(Protocol):
    """Finds the answer in a completion and compares it with a known one.

    Two answers with one `key` are the same answer in other words; it serves to count agreement between samples.
    """

    name: str

    @property
    def version(self) -> str:
        """Return what changes whenever a verdict may."""

    def extract(self, text: str) -> Found | None:
        """Find the final answer of a completion."""

    def key(self, extracted: str) -> str:
        """Write an answer in one way."""

    def decide(self, extracted: str, gold: str) -> bool | None:
        """Compare quickly and safely; None where that takes `equal`."""

    def load(self) -> None:
        """Import what `equal` needs."""

    def equal(self, extracted: str, gold: str) -> bool:
        """Compare; may hang or crash."""


BUILT_IN: dict[str, type[Mathematics | Choice | Exact | Sequence]] = {
    "math": Mathematics,
    "choice": Choice,
    "exact": Exact,
    "sequence": Sequence,
}


def load_verifier(name: str) -> Verifier | RewardFunction:
    """Return a shipped verifier by name, or the user's own function of `path.py:name` (its file is executed)."""
    if name in BUILT_IN:
        return BUILT_IN[name]()
    if ":" in name:
        return RewardFunction(name)
    raise VerifierError(
        f"There is no verifier {name!r}.", hint=f"Choose one of {', '.join(BUILT_IN)}, auto, or path.py:function."
    )


def auto_verifier(golds: Answers[str]) -> str:
    """Choose the verifier that suits the known answers.

    `choice` if 95 % are option letters; `sequence` if 95 % name their positions or are JSON lists; `math` if half are
    numbers or expressions; `sequence` if 95 % are lists; else `exact`, which covers dates, yes and no, names, words.
    """
    answers = [find.known_answer(gold) for gold in golds]

    def share(kind: Callable[[str], object]) -> float:
        return sum(bool(kind(answer)) for answer in answers) / max(len(answers), 1)

    if share(_OPTION.fullmatch) >= 0.95:
        return "choice"
    if share(names_positions) >= 0.95:
        return "sequence"
    if share(is_expression) >= 0.5:
        return "math"
    return "sequence" if share(is_sequence) >= 0.95 else "exact"
