"""`probe`: import a pool, sample what is missing, verify what can be verified.

Invariant: nothing is stored before the pool, the model and the prompts are known to be good; afterwards nothing sampled
is lost, however the sampling ends.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice

from budgetplan.config import Settings
from budgetplan.errors import Interrupted, NothingToDo
from budgetplan.pool.reader import read_pool
from budgetplan.probing.engine import Engine
from budgetplan.probing.opening import open_engine
from budgetplan.probing.rounds import TRIAL_SIZES, Sampled, longest_seconds, sample_round
from budgetplan.records import Completion, Progress
from budgetplan.steps.health import NOTICEABLE, RunHealth, run_health
from budgetplan.steps.missing import Missing, find_gaps
from budgetplan.steps.pools import PoolSummary, fields_of, store_pool
from budgetplan.steps.probe_check import CheckedProbe, ProbeChoices, check_probe
from budgetplan.steps.upkeep import merge_finished
from budgetplan.steps.verify import check_verifier, verify_run
from budgetplan.store.chunks import ChunkWriter, sole_sampler
from budgetplan.store.connection import Store
from budgetplan.store.ledger import Entry, Kind, enter
from budgetplan.store.runs import ProbeRun, save_run

PATIENCE_SECONDS = 60.0
"""Without a GPU, a probe that may take longer than this is asked about first."""
ENOUGH_TRUNCATED = 5
"""Truncated samples that make a warning while sampling worth its line."""


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What a probe did and where its run stands."""

    run: ProbeRun
    pool: PoolSummary
    sampled: Sampled
    n_missing: int
    n_too_long: int
    health: RunHealth
    notes: list[str]


def probe(store: Store, source: str, settings: Settings, choices: ProbeChoices, progress: Progress) -> ProbeReport:
    """Sample up to K completions for every item of the pool and verify those whose answer is known.

    Raises Interrupted when the user stops it; samples finished by then are stored.
    """
    check_verifier(settings.verifier)
    pool = read_pool(source, fields=fields_of(settings), conflicts=choices.conflicts)
    with sole_sampler(store.samples_folder):
        merge_finished(store)
        checked = check_probe(store, pool, settings, choices, progress)
        for note in checked.notes:
            progress.note(note)
        if checked.missing.n_samples:
            summary, sampled = _sample(store, checked, settings, choices, progress)
        else:
            summary, sampled = begin(store, checked), Sampled(0, 0, 0, 0, 0.0)
    run = verify_run(store, checked.run, checked.run.verifier, progress)
    still = replace(checked.missing, gaps=find_gaps(store, run.run_id, pool.table, settings.k)).without(
        checked.too_long
    )
    return ProbeReport(
        run=run,
        pool=summary,
        sampled=sampled,
        n_missing=still.n_samples,
        n_too_long=len(checked.too_long),
        health=run_health(store, run),
        notes=checked.notes,
    )


def begin(store: Store, checked: CheckedProbe) -> PoolSummary:
    """Store the pool and the run, in one transaction."""
    with store.writing() as connection:
        summary = store_pool(connection, checked.pool)
        save_run(connection, checked.run)
    return summary


def _sample(
    store: Store, checked: CheckedProbe, settings: Settings, choices: ProbeChoices, progress: Progress
) -> tuple[PoolSummary, Sampled]:
    progress.note(f"loading {checked.model.identity.name} ({checked.run.engine})")
    engine = open_engine(
        checked.run.engine, checked.model, checked.sampling, trust_remote_code=settings.trust_remote_code
    )
    with closing(engine):
        _ask_first(engine, checked, choices)
        summary = begin(store, checked)
        return summary, sample_into_store(engine, store, checked.run, checked.missing, progress)


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


def _ask_first(engine: Engine, checked: CheckedProbe, choices: ProbeChoices) -> None:
    """Without a GPU, say how long the probe may take and ask, if that is long."""
    if engine.on_gpu or choices.confirm is None:
        return
    trial = list(islice(checked.missing.requests(), TRIAL_SIZES[-1]))
    n_samples, max_tokens = checked.missing.n_samples, checked.sampling.max_tokens
    seconds = longest_seconds(engine, trial, checked.missing.gaps.num_rows, n_samples, max_tokens)
    if seconds > PATIENCE_SECONDS and not choices.confirm(
        f"There is no GPU here: {n_samples:,} samples of {checked.run.model} may take up to {_duration(seconds)} "
        f"(less where completions end before {max_tokens} tokens). Go on?"
    ):
        raise NothingToDo(
            f"not sampled: without a GPU it may take up to {_duration(seconds)}.",
            hint="Go on without asking: --yes. Ways to less: a smaller --model, --k or --max-tokens, or completions "
            "sampled elsewhere: budgetplan import-samples FILE",
        )


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:,.0f} h"
