"""Verifiers as rewards: what judged the probe is what rewards the training."""

import atexit
from collections.abc import Sequence
from threading import Lock

import pyarrow as pa

from budgetplan.outcome import COUNTED, Outcome
from budgetplan.verifying.function import Reward, RewardFunction
from budgetplan.verifying.judge import Judge
from budgetplan.verifying.verifier import Verifier, load_verifier

Completion = str | Sequence[dict[str, str]]
"""As TRL passes it: a text, or for chats a list of messages."""


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
    judge = Judge(verifier, workers=1)
    atexit.register(judge.close)
    one_at_a_time = Lock()

    def reward(completions: Sequence[Completion], answer: Sequence[object], **columns: object) -> list[float | None]:
        with one_at_a_time:
            outcomes = judge.judge(_batch(completions, answer)).column("outcome").to_pylist()
        return [_reward(outcome) for outcome in outcomes]

    reward.__name__ = f"{verifier.name}_reward"
    return reward


def _batch(completions: Sequence[Completion], answers: Sequence[object]) -> pa.Table:
    texts = [completion if isinstance(completion, str) else completion[-1]["content"] for completion in completions]
    nothing = pa.nulls(len(texts), pa.string())
    golds = pa.array([None if answer is None else str(answer) for answer in answers], pa.string())
    return pa.table({"text": texts, "finish_reason": nothing, "gold": golds, "columns": nothing})


def _reward(outcome: str) -> float | None:
    return float(outcome == Outcome.CORRECT) if outcome in COUNTED else None
