"""Which part of a completion answers its own prompt: thinking set aside, invented further turns cut off.

What is returned is always a substring of the completion (apart from dropped thinking blocks); nothing is rewritten.
"""

import re

from budgetplan.verifying.find import first_answer_end

_THINKING_MARK = re.compile(r"<(/?)think(?:ing)?>")
_TEMPLATE_TOKEN = re.compile(r"<\|[a-z_]{2,20}\|>|</s>|<(?:start|end)_of_turn>|\[/?INST\]")
_NEXT_QUESTION = re.compile(
    r"""^[^\w\n]{0,8}(?:\d{1,3}[.)]\s*)?                    # list marks before it: "## ", "● ", "3. "
    (?: Q\s*\d{0,3}\s*[:.]
      | (?:Question|Problem|Exercise)\s*\#?\d{0,3}\s*\**\s*:
      | (?:Question|Problem|Exercise)\s*\#?\d{1,3}\b
      | (?:User|Human|Instruction)\s*\**\s*:
    )""",
    re.MULTILINE | re.VERBOSE,
)
_CUES = ("Q", "uestion", "roblem", "xercise", "User", "Human", "nstruction")


def answer_part(text: str) -> str | None:
    """Return the part of a completion that may hold its answer; None while it is still thinking."""
    visible = _without_thinking(text)
    return None if visible is None else _first_turn(visible)


def complete_words(text: str) -> str:
    """Drop the last word of a text cut off by the token limit: "the answer is 1" may have been going to be 18."""
    if not text or text[-1] in "}.!?)]*$\n":
        return text
    words = text.rsplit(None, 1)
    return words[0] if len(words) == 2 else ""


def _without_thinking(text: str) -> str | None:
    if "<think" not in text and "</think" not in text:
        return text
    visible: list[str] = []
    start: int | None = 0
    for mark in _THINKING_MARK.finditer(text):
        if not mark[1] and start is not None:
            visible.append(text[start : mark.start()])
            start = None
        elif mark[1]:
            # Some templates open the block in the prompt, so that the completion holds only its end.
            visible = [] if start is not None else visible
            start = mark.end()
    return None if start is None else "".join(visible) + text[start:]


def _first_turn(text: str) -> str:
    if "<" in text or "[" in text:
        text = _before_template_token(text)
    # Plain substring searches cost next to nothing and spare most texts the pattern.
    questions = [match.start() for match in _NEXT_QUESTION.finditer(text)] if any(cue in text for cue in _CUES) else []
    if not questions:
        return text
    answered = first_answer_end(text)
    before = text[: questions[0]]
    if len([line for line in before.splitlines() if line.strip()]) >= 2 and (
        answered is None or answered > questions[0]
    ):
        # A whole worked answer with no marker, then another question: its answer is not ours. One line before a
        # question is a preface ("Let me restate.") and the answer comes after.
        return before
    return text[: next((start for start in questions if answered is not None and start >= answered), len(text))]


def _before_template_token(text: str) -> str:
    for match in _TEMPLATE_TOKEN.finditer(text):
        if text[: match.start()].strip():
            return text[: match.start()]
        text = text[: match.start()] + " " * len(match.group()) + text[match.end() :]
    return text
