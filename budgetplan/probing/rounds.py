"""Rounds of sampling: requests through an engine into a sink, with the time it will take said beforehand.

Invariant: a sample is handed to the sink as soon as it is finished, whatever becomes of the rest.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from budgetplan.probing.engine import Engine
from budgetplan.records import Completion, Progress, SampleRequest

TRIAL_REQUESTS = 8
TRIAL_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a round brought."""

    n_samples: int
    n_failed: int
    n_truncated: int
    n_tokens: int
    seconds: float


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


def longest_seconds(engine: Engine, requests: Sequence[SampleRequest], n_samples: int, max_tokens: int) -> float:
    """Estimate how long `n_samples` completions take if each runs to `max_tokens`, from a short trial on real prompts."""
    trial = [replace(request, count=1) for request in requests[:TRIAL_REQUESTS]]
    cap = min(TRIAL_TOKENS, max_tokens)
    for _ in engine.sample(trial, max_tokens=1):  # the first forward pass also warms the engine up
        pass
    started = time.monotonic()
    tokens = sum(c.n_tokens for completions in engine.sample(trial, max_tokens=cap) for c in completions)
    return (time.monotonic() - started) / max(tokens, 1) * n_samples * max_tokens
