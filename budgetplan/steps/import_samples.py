"""`import-samples`: a pool and its completions from rollouts made elsewhere, into a run of their own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from budgetplan.config import Settings
from budgetplan.errors import PoolError
from budgetplan.pool.merging import Conflicts
from budgetplan.pool.reader import Pool
from budgetplan.pool.samples import read_samples
from budgetplan.probing.identity import run_id_of
from budgetplan.records import Progress
from budgetplan.steps.health import RunHealth, run_health
from budgetplan.steps.pools import PoolSummary, fields_of, pool_id_of, store_pool
from budgetplan.steps.probe_check import about_run, base_beside, carried_on, known_runs
from budgetplan.steps.references import store_reference_pool, with_bare_answers
from budgetplan.steps.verify import check_verifier, verify_run
from budgetplan.store.completions import import_samples as store_samples
from budgetplan.store.connection import Store
from budgetplan.store.pools import Share
from budgetplan.store.references import items_covered
from budgetplan.store.runs import BASE, IMPORTED, REFERENCE, ProbeRun, Role, save_run


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import brought and where its run stands.

    `covered`: of a reference, how many items of the base run's pool it has samples of; None before a base run.
    """

    run: ProbeRun
    pool: PoolSummary
    n_samples: int
    n_new_samples: int
    health: RunHealth
    covered: Share | None = None


def import_samples(
    store: Store,
    sources: Sequence[str],
    settings: Settings,
    conflicts: Conflicts | None,
    progress: Progress,
    role: Role = BASE,
) -> ImportReport:
    """Store samples under the model they name, and verify those whose answer is known.

    The same rows again add nothing; other rows of the same model add to its samples. Rows of a reference bring its
    answers, in whatever form, and no known ones.
    """
    check_verifier(settings.verifier)
    is_reference = role == REFERENCE
    progress.start("reading samples", None)
    pool, samples = read_samples(sources, fields=fields_of(settings), conflicts=conflicts, reference=is_reference)
    progress.finish()
    known = known_runs(store)
    run = carried_on(_run_of(pool, samples, settings, sources, role), settings.verifier, known)
    base = base_beside(run, known) if is_reference else None
    for note in about_run(run, pool.source, known):
        progress.note(note)
    with store.writing() as connection:
        if is_reference:
            summary = store_reference_pool(connection, pool, base)
            run, samples = replace(run, pool_id=summary.pool_id), with_bare_answers(samples)
        else:
            summary = store_pool(connection, pool)
        save_run(connection, run)
        n_new = store_samples(connection, run.run_id, samples)
    run = verify_run(store, run, run.verifier, progress)
    with store.reading() as connection:
        covered = items_covered(connection, base.pool_id, run.run_id) if base else None
    return ImportReport(run, summary, samples.num_rows, n_new, run_health(store, run), covered)


def _run_of(pool: Pool, samples: pa.Table, settings: Settings, sources: Sequence[str], role: Role) -> ProbeRun:
    model = _model_of(samples, settings, sources)
    config = {"model": model, "revision": "", "engine": IMPORTED}
    return ProbeRun(
        run_id=run_id_of(config),
        pool_id=pool_id_of(pool),
        model=model,
        revision="",
        engine=IMPORTED,
        config=config,
        k=_most_samples(samples),
        verifier=settings.verifier or "auto",
        verdicts_by="",
        role=role,
    )


def _model_of(samples: pa.Table, settings: Settings, sources: Sequence[str]) -> str:
    """The one model all samples are of: as the rows say, else `--model`, else the name of the first file."""
    named = pc.unique(samples["model"].drop_null()).to_pylist()
    if settings.model:
        named = [settings.model]
    if len(named) > 1:
        raise PoolError(
            f"{', '.join(sources)}: the samples are of several models ({', '.join(sorted(named)[:5])}), and difficulty "
            "belongs to one.",
            hint="Import them one model at a time, in files of their own.",
        )
    return str(named[0]) if named else Path(sources[0]).stem


def _most_samples(samples: pa.Table) -> int:
    counts = samples.group_by("item_id").aggregate([("item_id", "count")])["item_id_count"]
    return int(pc.max(counts).as_py() or 0)
