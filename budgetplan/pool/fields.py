"""Which columns of a file hold what. Names are matched without regard to case; a name the user gave always wins."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields

from budgetplan.errors import PoolError

PROMPT_NAMES = ("prompt", "question", "problem", "input", "instruction", "messages")
"""In order of precedence: a file with `prompt` and `messages` is read by its `prompt`."""

ANSWER_NAMES = ("answer", "solution", "target", "gold", "ground_truth", "reward_model")
"""In order of precedence; an object such as verl's `reward_model` counts by its `ground_truth`."""

COMPLETIONS_NAMES = ("completions", "samples", "responses", "generations", "outputs")

SINGLE_NAMES = ("completion", "response", "output", "prediction", "answer")
"""Where a file of another model's answers may have its one text, if it has no list of completions."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The names of the columns in use. As an argument: None detects a name, an empty string switches the field off."""

    prompt: str | None = None
    answer: str | None = None
    id: str | None = None
    completions: str | None = None

    def names(self) -> list[str]:
        """Every name in use."""
        return [name for field in fields(self) if (name := getattr(self, field.name))]


DETECTED = Fields()
"""Every name found by itself."""


@dataclass(frozen=True, slots=True)
class Request:
    """How the user wants files read; `command` is what a hint repeats.

    With `samples` rows bring a list of completions, with `singles` that or one text; then none has a known answer.
    """

    given: Fields
    command: str
    samples: bool
    singles: bool = False


def detect_fields(names: Sequence[str], request: Request, source: str) -> Fields:
    """Choose the columns among `names`; raise PoolError where a needed one is missing."""
    given, samples = request.given, request.samples
    usage = f"{request.command} {shlex.quote(source)}"
    texts = (*COMPLETIONS_NAMES, *SINGLE_NAMES) if request.singles else COMPLETIONS_NAMES
    found = Fields(
        prompt=_pick(names, given.prompt, PROMPT_NAMES),
        answer=_pick(names, given.answer, ANSWER_NAMES),
        id=_pick(names, given.id, ("id",)),
        completions=_pick(names, given.completions, texts) if samples else None,
    )
    for field in ("prompt", "answer", "id", "completions")[: 4 if samples else 3]:
        wanted = getattr(given, field)
        if wanted and not getattr(found, field):
            raise PoolError(
                f"{source}: there is no field '{wanted}'; found: {_listed(names)}.", hint=_flag(usage, field)
            )
    if not found.prompt:
        raise PoolError(f"{source}: no prompt field; found: {_listed(names)}.", hint=_flag(usage, "prompt"))
    if samples and not found.completions:
        raise PoolError(f"{source}: no completions field; found: {_listed(names)}.", hint=_flag(usage, "completions"))
    if not given.prompt and found.prompt.lower() == "input" and _match(names, "instruction"):
        raise PoolError(
            f"{source}: both 'instruction' and 'input' are there, and the prompt may need both.",
            hint=f"Join them into one field 'prompt', or choose: {usage} --prompt-field instruction",
        )
    return found


def holds_prompts(names: Sequence[str], given: Fields) -> bool:
    """Say whether an object with these keys is a row of a pool."""
    return _pick(names, given.prompt, PROMPT_NAMES) is not None


def _pick(names: Sequence[str], given: str | None, candidates: Sequence[str]) -> str | None:
    if given is not None:
        return _match(names, given) if given else None
    return next((name for candidate in candidates if (name := _match(names, candidate))), None)


def _match(names: Sequence[str], wanted: str) -> str | None:
    """Find the name as it is spelled in the file; an exact match comes before one in another case."""
    if wanted in names:
        return wanted
    return min((name for name in names if name.lower() == wanted.lower()), default=None)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(sorted(names)[:20])
    return (shown or "no fields at all") + (", …" if len(names) > 20 else "")


def _flag(usage: str, field: str) -> str:
    return f"Name it: {usage} --{field}-field NAME"
