"""Rounds of sampling: requests through an engine into a sink, with the time it will take said beforehand.

Invariant: a sample is handed to the sink as soon as it is finished, whatever becomes of the rest.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace

from budgetplan.probing.engine import Engine
from budgetplan.records import Completion, Progress, SampleRequest

TRIAL_SIZES = (8, 32, 128)
TRIAL_TOKENS = 16
QUICK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a round brought."""

    n_samples: int
    n_failed: int
    n_truncated: int
    n_tokens: int
    seconds: float

    def plus(self, other: "Sampled") -> "Sampled":
        """Both together."""
        return Sampled(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


NOTHING = Sampled(0, 0, 0, 0, 0.0)


def sample_round(
    engine: Engine,
    requests: Iterable[SampleRequest],
    sink: Callable[[Sequence[Completion]], None],
    progress: Progress,
) -> Sampled:
    """Sample all requests; the sink gets every completion once, in the order they finish."""
    started = time.monotonic()
    n_samples = n_failed = n_truncated = n_tokens = 0
    for completions in engine.sample(requests):
        sink(completions)
        progress.advance(len(completions))
        n_samples += len(completions)
        n_tokens += sum(completion.n_tokens for completion in completions)
        n_failed += sum(completion.finish_reason == "error" for completion in completions)
        n_truncated += sum(completion.finish_reason == "length" for completion in completions)
    return Sampled(n_samples, n_failed, n_truncated, n_tokens, time.monotonic() - started)


def longest_seconds(
    engine: Engine, requests: Sequence[SampleRequest], n_prompts: int, n_samples: int, max_tokens: int
) -> float:
    """Estimate how long `n_samples` completions take if each runs to `max_tokens`, from a trial on real prompts.

    The trial grows as long as it is quick, since engines are faster on many prompts at once; reading a prompt and
    writing a token are timed apart.
    """
    reading = writing = 0.0
    for size in TRIAL_SIZES:
        trial = [replace(request, count=1) for request in requests[:size]]
        started = time.monotonic()
        one, one_tokens = _trial(engine, trial, 1)
        some, some_tokens = _trial(engine, trial, min(TRIAL_TOKENS, max_tokens))
        reading = one / len(trial)
        writing = max(some - one, 0.0) / max(some_tokens - one_tokens, 1)
        if time.monotonic() - started > QUICK_SECONDS or size > len(requests):
            break
    return n_prompts * reading + n_samples * max_tokens * writing


def _trial(engine: Engine, requests: Sequence[SampleRequest], max_tokens: int) -> tuple[float, int]:
    """Seconds and tokens of one short run."""
    started = time.monotonic()
    tokens = sum(c.n_tokens for completions in engine.sample(requests, max_tokens=max_tokens) for c in completions)
    return time.monotonic() - started, tokens
