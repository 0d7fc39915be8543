"""Verifiers as rewards: what judged the probe is what rewards the training.

Invariant: a completion gets a reward only by what the probe would have said of it; where the verifier fails, none.
"""

import atexit
import json
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import pyarrow as pa

from budgetplan.errors import VerifierError
from budgetplan.outcome import COUNTED, Outcome
from budgetplan.verifying.function import Reward, RewardFunction
from budgetplan.verifying.judge import Judge
from budgetplan.verifying.verifier import Verifier, load_verifier

Completion = str | Sequence[dict[str, str]]
"""As TRL passes it: a text, or for chats a list of messages."""

Decode = Callable[[Sequence[Sequence[int]]], list[str]]
"""Token ids of completions, without their end tokens, to texts."""


def as_reward(verifier: str | Verifier | RewardFunction) -> Reward:
    """Return a verifier as a function with TRL's reward signature; the user's own function is returned as it is.

    1.0 for a correct answer, 0.0 for a wrong or missing one, None where the verifier failed or no answer is known.
    It judges in a worker process of its own, started on the first call, so that nothing hangs the training.
    """
    if isinstance(verifier, str):
        verifier = load_verifier(verifier)
    if isinstance(verifier, RewardFunction):
        verifier.load()
        assert verifier.function is not None
        return verifier.function
    judging = _Judging(verifier)

    def reward(completions: Sequence[Completion], answer: Sequence[object], **columns: object) -> list[float | None]:
        texts = [completion if isinstance(completion, str) else completion[-1]["content"] for completion in completions]
        return judging.rewards(texts, [None] * len(texts), answer)

    reward.__name__ = f"{verifier.name}_reward"
    return reward


class ProbeReward:
    """A verifier as the reward of a training, on the very texts that the probe would have stored.

    Texts are decoded from the sampled tokens as the probe decodes them, without the end token; one that was cut off at
    the token limit is judged as cut off. A user's function is called with these texts and with all that TRL passes; a
    completion it fails on gets None, as one that the probe's verifier fails on. `first_error` tells the first failure.
    """

    def __init__(self, verifier: str, decode: Decode) -> None:
        """Load the verifier; raises VerifierError where that fails."""
        loaded = load_verifier(verifier)
        if isinstance(loaded, RewardFunction):
            loaded.load()
        self._source = _Calling(loaded) if isinstance(loaded, RewardFunction) else _Judging(loaded)
        self._decode = decode

    @property
    def first_error(self) -> str | None:
        """What went wrong with the first completion that could not be judged."""
        return self._source.first_error

    def __call__(
        self,
        *,
        completion_ids: Sequence[Sequence[int]],
        truncated: Sequence[bool],
        answer: Sequence[str | None],
        columns: Sequence[str | None],
        **from_trl: object,
    ) -> list[float | None]:
        """Reward completions; `columns` are JSON objects of the items' own columns."""
        from_trl = {"completion_ids": list(completion_ids), **from_trl}
        spoken = [ids if cut else ids[:-1] for ids, cut in zip(completion_ids, truncated, strict=True)]
        texts = self._decode(spoken)
        if isinstance(self._source, _Calling):
            return self._source.rewards(texts, answer, columns, from_trl)
        return self._source.rewards(texts, ["length" if cut else "stop" for cut in truncated], answer)


class _Judging:
    """A shipped verifier, in a worker process that can be killed."""

    def __init__(self, verifier: Verifier) -> None:
        self._judge = Judge(verifier, workers=1)
        atexit.register(self._judge.close)
        self._one_at_a_time = Lock()

    @property
    def first_error(self) -> str | None:
        return self._judge.first_error

    def rewards(
        self, texts: Sequence[str], finish_reasons: Sequence[str | None], answers: Sequence[object]
    ) -> list[float | None]:
        golds = [None if answer is None else str(answer) for answer in answers]
        batch = pa.table(
            {
                "text": pa.array(texts, pa.string()),
                "finish_reason": pa.array(finish_reasons, pa.string()),
                "gold": pa.array(golds, pa.string()),
                "columns": pa.nulls(len(texts), pa.string()),
            }
        )
        with self._one_at_a_time:
            outcomes = self._judge.judge(batch).column("outcome").to_pylist()
        return [_reward(outcome) for outcome in outcomes]


class _Calling:
    """A user's function, in this process, as TRL calls it."""

    def __init__(self, function: RewardFunction) -> None:
        self._function = function
        self.first_error: str | None = None

    def rewards(
        self,
        texts: Sequence[str],
        answers: Sequence[str | None],
        columns: Sequence[str | None],
        from_trl: dict[str, object],
    ) -> list[float | None]:
        """Call the function once; where it raises, once per completion, so that only the culprits go without."""
        items = [json.loads(row) if row else {} for row in columns]
        names = dict.fromkeys(name for item in items for name in item)
        own = {name: [item.get(name) for item in items] for name in names}
        named = {name: values for name, values in {**from_trl, **own}.items() if name not in ("completions", "answer")}
        per_row, shared = _split(named, len(texts))
        try:
            rewards = self._function.rewards(texts, answers, {**shared, **per_row})
        except VerifierError:
            raise
        except Exception:
            rewards = [self._alone(row, texts, answers, per_row, shared) for row in range(len(texts))]
        if not self._function.needs_gold:
            return rewards
        return [None if answer is None else reward for answer, reward in zip(answers, rewards, strict=True)]

    def _alone(
        self,
        row: int,
        texts: Sequence[str],
        answers: Sequence[str | None],
        per_row: dict[str, list[Any]],
        shared: dict[str, Any],
    ) -> float | None:
        one = {name: [values[row]] for name, values in per_row.items()}
        try:
            return self._function.rewards([texts[row]], [answers[row]], {**shared, **one})[0]
        except VerifierError:
            raise
        except Exception as error:
            self.first_error = self.first_error or f"{type(error).__name__}: {error}"
            return None


def _split(columns: dict[str, object], n_rows: int) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Part what has one value per completion from what is passed once (the trainer's state, its loggers)."""
    per_row = {name: value for name, value in columns.items() if isinstance(value, list) and len(value) == n_rows}
    shared = {name: value for name, value in columns.items() if name not in per_row}
    return {name: list(value) for name, value in per_row.items()}, shared


def _reward(outcome: str) -> float | None:
    return float(outcome == Outcome.CORRECT) if outcome in COUNTED else None
