"""Completions to outcomes, in this process: the one path from text to verdict, for probing and for rewards alike.

Every row gets exactly one verdict; an exception costs only the row that raised it.
"""

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

from budgetplan.errors import VerifierError
from budgetplan.outcome import Outcome
from budgetplan.verifying.exact import Exact
from budgetplan.verifying.find import Found, known_answer
from budgetplan.verifying.function import RewardFunction
from budgetplan.verifying.turn import complete_words
from budgetplan.verifying.verifier import Verifier

CORRECT_FROM = 0.5
"""A user's reward of at least this much is a correct answer."""

IS_ANSWER = "answer"
"""A `finish_reason` for a text that is an answer by itself (a label), so that nothing has to be found in it."""

_WORDS = Exact()


class Row(NamedTuple):
    """One completion; `columns` is a JSON object of the item's own columns."""

    text: str
    finish_reason: str | None
    gold: str | None
    columns: str | None


class Judged(NamedTuple):
    """One verdict; `error` says what went wrong where the outcome is `verifier_error`."""

    outcome: str
    extracted: str | None
    key: str | None
    error: str | None = None


def judge_rows(verifier: Verifier | RewardFunction, rows: Sequence[Row], load: Callable[[], None]) -> list[Judged]:
    """Judge rows in order; `load` is called once before the first comparison that `decide` leaves open.

    May hang or crash, as `equal` and a user's function may. Raises VerifierError where the function breaks its
    contract.
    """
    if isinstance(verifier, RewardFunction):
        return _by_function(verifier, rows)
    judged = [_guarded(verifier, row, verifier.decide) for row in rows]
    undecided = [index for index, verdict in enumerate(judged) if verdict is None]
    if undecided:
        load()
    for index in undecided:
        judged[index] = _guarded(verifier, rows[index], verifier.equal)
    return [verdict or failed("no verdict") for verdict in judged]


def failed(reason: str) -> Judged:
    """Return the verdict on a completion that could not be judged."""
    return Judged(Outcome.VERIFIER_ERROR, None, None, reason)


def _guarded(verifier: Verifier, row: Row, compare: Callable[[str, str], bool | None]) -> Judged | None:
    try:
        return _by_answer(verifier, row, compare)
    except Exception as error:
        return failed(f"{type(error).__name__}: {error}")


def _by_answer(verifier: Verifier, row: Row, compare: Callable[[str, str], bool | None]) -> Judged | None:
    """Judge one completion; None where `compare` leaves it open."""
    if row.finish_reason == "error":
        return Judged(Outcome.ENGINE_ERROR, None, None)
    found = _answer(verifier, row)
    extracted, key = (None, None) if found is None else (found.text, verifier.key(found.text))
    if row.gold is None:
        return Judged(Outcome.UNKNOWN, extracted, key)
    if found is None:
        return Judged(Outcome.TRUNCATED if row.finish_reason == "length" else Outcome.NO_ANSWER, None, None)
    equal = compare(found.text, row.gold)
    return None if equal is None else Judged(Outcome.CORRECT if equal else Outcome.WRONG, extracted, key)


def _answer(verifier: Verifier | Exact, row: Row) -> Found | None:
    """Find the answer; the last words of a text that was cut off are not one."""
    if row.finish_reason == IS_ANSWER:
        return Found(known_answer(row.text), explicit=True)
    if row.finish_reason != "length":
        return verifier.extract(row.text)
    found = verifier.extract(complete_words(row.text))
    return found if found and found.explicit else None


def _by_function(function: RewardFunction, rows: Sequence[Row]) -> list[Judged]:
    judged = [_before_calling(function, row) for row in rows]
    waiting = [index for index, verdict in enumerate(judged) if verdict is None]
    try:
        verdicts = _called(function, [rows[index] for index in waiting])
    except VerifierError:
        raise
    except Exception:
        verdicts = [_called_alone(function, rows[index]) for index in waiting]
    for index, verdict in zip(waiting, verdicts, strict=True):
        judged[index] = verdict
    return [verdict for verdict in judged if verdict is not None]


def _before_calling(function: RewardFunction, row: Row) -> Judged | None:
    if row.finish_reason == "error":
        return Judged(Outcome.ENGINE_ERROR, None, None)
    if row.gold is None and function.needs_gold:
        return Judged(Outcome.UNKNOWN, *_in_words(row))
    return None


def _called(function: RewardFunction, rows: Sequence[Row]) -> list[Judged]:
    if not rows:
        return []
    rewards = function.rewards([row.text for row in rows], [row.gold for row in rows], _columns(rows))
    return [_by_reward(row, reward) for row, reward in zip(rows, rewards, strict=True)]


def _called_alone(function: RewardFunction, row: Row) -> Judged:
    try:
        return _called(function, [row])[0]
    except VerifierError:
        raise
    except Exception as error:
        return failed(f"{type(error).__name__}: {error}")


def _by_reward(row: Row, reward: float | None) -> Judged:
    extracted, key = _in_words(row)
    if reward is None:
        return Judged(Outcome.VERIFIER_ERROR, extracted, key, "the function returned None")
    if reward >= CORRECT_FROM:
        return Judged(Outcome.CORRECT, extracted, key)
    cut_off = row.finish_reason == "length" and extracted is None
    return Judged(Outcome.TRUNCATED if cut_off else Outcome.WRONG, extracted, key)


def _in_words(row: Row) -> tuple[str | None, str | None]:
    """Find an answer for counting agreement: a reward function has none of its own."""
    found = _answer(_WORDS, row)
    return (found.text, _WORDS.key(found.text)) if found else (None, None)


def _columns(rows: Sequence[Row]) -> dict[str, list[object]]:
    """Turn each row's JSON object into one list per column, None where a row lacks it."""
    objects: list[dict[str, object]] = [json.loads(row.columns) if row.columns else {} for row in rows]
    names = dict.fromkeys(name for columns in objects for name in columns if name not in ("completions", "answer"))
    return {name: [columns.get(name) for columns in objects] for name in names}
