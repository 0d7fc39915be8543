"""`probe`: import a pool, sample what is missing, verify what can be verified.

Invariant: nothing is stored before the pool, the model and the prompts are known to be good; afterwards nothing sampled
is lost, however the sampling ends.
"""

from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice

from budgetplan.config import Settings
from budgetplan.errors import NothingToDo
from budgetplan.pool.reader import read_pool
from budgetplan.probing.engine import Engine
from budgetplan.probing.opening import open_engine
from budgetplan.probing.rounds import NOTHING, TRIAL_SIZES, Sampled, longest_seconds
from budgetplan.records import Progress
from budgetplan.steps.adaptive import (
    Placed,
    is_complete,
    most_samples,
    sample_adaptively,
    standing_of_samples,
    targets_of,
)
from budgetplan.steps.aim import aim_of, check_aim
from budgetplan.steps.health import RunHealth, run_health
from budgetplan.steps.missing import find_gaps
from budgetplan.steps.pools import PoolSummary, fields_of, store_pool
from budgetplan.steps.probe_check import CheckedProbe, ProbeChoices, check_probe
from budgetplan.steps.sampling import sample_into_store
from budgetplan.steps.upkeep import merge_finished
from budgetplan.steps.verify import check_verifier, verify_run
from budgetplan.store.chunks import sole_sampler
from budgetplan.store.connection import Store
from budgetplan.store.runs import ProbeRun, save_run
from budgetplan.store.sample_targets import SamplingAim

PATIENCE_SECONDS = 60.0
"""Without a GPU, a probe that may take longer than this is asked about first."""


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """What a probe did and where its run stands."""

    run: ProbeRun
    pool: PoolSummary
    sampled: Sampled
    placed: Placed | None
    n_missing: int
    n_too_long: int
    health: RunHealth
    notes: list[str]


def probe(store: Store, source: str, settings: Settings, choices: ProbeChoices, progress: Progress) -> ProbeReport:
    """Sample up to K completions for every item of the pool and verify those whose answer is known.

    Raises Interrupted when the user stops it; samples finished by then are stored.
    """
    check_verifier(settings.verifier)
    check_aim(settings, choices)
    pool = read_pool(source, fields=fields_of(settings), conflicts=choices.conflicts)
    with sole_sampler(store.samples_folder):
        merge_finished(store)
        checked = check_probe(store, pool, settings, choices, progress)
        for note in checked.notes:
            progress.note(note)
        aim = aim_of(store, checked.run, settings, choices, progress)
        done = is_complete(store, checked, aim, settings, progress) if aim else not checked.missing.n_samples
        if done:
            summary, sampled = begin(store, checked), NOTHING
        else:
            summary, sampled = _sample(store, checked, aim, settings, choices, progress)
    run = verify_run(store, checked.run, checked.run.verifier, progress)
    lacking = find_gaps(store, run.run_id, pool.table, targets_of(store, checked) if aim else settings.k)
    return ProbeReport(
        run=run,
        pool=summary,
        sampled=sampled,
        placed=standing_of_samples(store, run, settings, progress) if aim else None,
        n_missing=replace(checked.missing, gaps=lacking).without(checked.too_long).n_samples,
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
    store: Store,
    checked: CheckedProbe,
    aim: SamplingAim | None,
    settings: Settings,
    choices: ProbeChoices,
    progress: Progress,
) -> tuple[PoolSummary, Sampled]:
    progress.note(f"loading {checked.model.identity.name} ({checked.run.engine})")
    engine = open_engine(
        checked.run.engine, checked.model, checked.sampling, trust_remote_code=settings.trust_remote_code
    )
    with closing(engine):
        n_samples = checked.missing.n_samples
        if aim:
            n_samples = min(n_samples, most_samples(checked.pool.table.num_rows, settings.k))
        _ask_first(engine, checked, n_samples, choices)
        summary = begin(store, checked)
        if aim:
            return summary, sample_adaptively(engine, store, checked, aim, settings, progress)
        return summary, sample_into_store(engine, store, checked.run, checked.missing, progress)


def _ask_first(engine: Engine, checked: CheckedProbe, n_samples: int, choices: ProbeChoices) -> None:
    """Without a GPU, say how long the probe may take and ask, if that is long."""
    trial = list(islice(checked.missing.requests(), TRIAL_SIZES[-1]))
    if engine.on_gpu or choices.confirm is None or not trial:
        return
    max_tokens = checked.sampling.max_tokens
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
