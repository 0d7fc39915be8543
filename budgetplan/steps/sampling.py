"""Sampling into the store: requests through an engine, chunk by chunk beside the store, merged and booked at the end.

Invariant: nothing sampled is lost, however the sampling ends, and what it took is in the ledger.
"""

import time
from collections.abc import Callable, Sequence

from budgetplan.errors import Interrupted
from budgetplan.probing.engine import Engine
from budgetplan.probing.rounds import Sampled, sample_round
from budgetplan.records import Completion, Progress
from budgetplan.steps.health import NOTICEABLE
from budgetplan.steps.missing import Missing
from budgetplan.steps.upkeep import merge_finished
from budgetplan.store.chunks import ChunkWriter
from budgetplan.store.connection import Store
from budgetplan.store.ledger import Entry, Kind, enter
from budgetplan.store.runs import ProbeRun

ENOUGH_TRUNCATED = 5
"""Truncated samples that make a warning while sampling worth its line."""


def sample_into_store(
    engine: Engine, store: Store, run: ProbeRun, missing: Missing, progress: Progress, *, kind: Kind = "probe"
) -> Sampled:
    """Sample what is missing, chunk by chunk, merge it and book what it took; raises Interrupted when it is stopped."""
    started, n_tokens = time.monotonic(), 0

    def counted(completions: Sequence[Completion]) -> None:
        nonlocal n_tokens
        n_tokens += sum(completion.n_tokens for completion in completions)
        sink(completions)

    writer = ChunkWriter(store.samples_folder / run.run_id)
    sink = _warning_of_truncation(writer, run.config["max_tokens"], progress)
    progress.start("sampling", missing.n_samples)
    try:
        return sample_round(engine, missing.requests(), counted, progress)
    except KeyboardInterrupt as stop:
        raise Interrupted(
            "stopped; every finished sample is kept.", hint="Go on where it stopped: run the same command again."
        ) from stop
    finally:
        progress.finish()
        writer.flush()
        merge_finished(store)
        seconds = time.monotonic() - started
        with store.writing() as connection:
            enter(connection, Entry(kind=kind, state="spent", reference=run.run_id, seconds=seconds, tokens=n_tokens))


def _warning_of_truncation(
    writer: ChunkWriter, max_tokens: int, progress: Progress
) -> Callable[[Sequence[Completion]], None]:
    """A sink that writes chunks and says, once and at once, that completions hit the token limit."""
    seen = cut = 0
    silent = True

    def sink(completions: Sequence[Completion]) -> None:
        nonlocal seen, cut, silent
        writer.add(completions)
        seen += len(completions)
        cut += sum(completion.finish_reason == "length" for completion in completions)
        if silent and cut >= max(ENOUGH_TRUNCATED, NOTICEABLE * seen):
            progress.note(f"{cut} of the first {seen} samples were cut off at --max-tokens {max_tokens}.")
            silent = False

    return sink
