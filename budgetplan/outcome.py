"""The outcomes of a completion, apart from `records` so that verifying workers need not load Arrow."""

from enum import StrEnum


class Outcome(StrEnum):
    """What became of one completion."""

    CORRECT = "correct"
    WRONG = "wrong"
    NO_ANSWER = "no_answer"
    TRUNCATED = "truncated"
    VERIFIER_ERROR = "verifier_error"
    ENGINE_ERROR = "engine_error"
    UNKNOWN = "unknown"


COUNTED = (Outcome.CORRECT, Outcome.WRONG, Outcome.NO_ANSWER, Outcome.TRUNCATED)
"""The outcomes that enter p̂; errors are never wrong answers, and `unknown` has no gold."""
