"""What an engine is: prompts in, completions out, as they finish. Nothing about pools, stores or answers."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from budgetplan.records import Completion, ModelIdentity, SampleRequest


class Engine(Protocol):
    """One loaded model. Opened for one model and one `Sampling`, closed by whoever opened it."""

    name: str
    identity: ModelIdentity
    context_tokens: int
    on_gpu: bool

    def sample(self, requests: Iterable[SampleRequest], *, max_tokens: int | None = None) -> Iterator[list[Completion]]:
        """Yield completions in small lists as they finish, in any order, each exactly once.

        A sample depends on its own seed and prompt, not on what else is in flight (up to floating point). A sample that
        fails is a completion with `finish_reason="error"`, never an exception; an exception means the engine is gone.
        `max_tokens` caps the completions below what the engine was opened with.
        """

    def close(self) -> None:
        """Free the model."""


def failed_sample(request: SampleRequest, offset: int, reason: str) -> Completion:
    """What an engine yields for a sample that it could not draw."""
    return Completion(
        item_id=request.item_id,
        sample_index=request.first_index + offset,
        seed=request.seed + offset,
        text="",
        n_tokens=0,
        finish_reason="error",
        mean_logprob=None,
        error=reason,
    )
