"""Measuring a model on held-out prompts: through the probe's engines, into the probe's tables, by its verifier.

Invariant: base and trained models are asked the same prompts in the same way; only the weights differ.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass

import pyarrow as pa

from budgetplan.probing.identity import run_config, run_id_of
from budgetplan.probing.models import ResolvedModel
from budgetplan.probing.opening import open_engine
from budgetplan.records import ModelIdentity, Progress, SampleRequest, Sampling
from budgetplan.steps.missing import Missing, find_gaps
from budgetplan.steps.sampling import sample_into_store
from budgetplan.steps.upkeep import merge_finished
from budgetplan.steps.verify import verify_run
from budgetplan.store.chunks import sole_sampler
from budgetplan.store.connection import Store
from budgetplan.store.runs import EVALUATION, ProbeRun, find_any_run, save_run
from budgetplan.store.validations import item_rows
from budgetplan.store.verdicts import has_pending
from budgetplan.verifying.verifier import load_verifier

OpenModel = Callable[[], AbstractContextManager[ResolvedModel]]


@dataclass(frozen=True, slots=True)
class TestSet:
    """Held-out prompts, how often each is asked, and how; the same for every model of a validation."""

    __test__ = False  # no class of tests

    item_ids: tuple[str, ...]
    n_samples: int
    pool_id: str
    engine: str
    template: str
    system: str | None
    sampling: Sampling
    seed: int
    verifier: str
    trust_remote_code: bool


def run_of(store: Store, identity: ModelIdentity, test: TestSet) -> ProbeRun:
    """The run that measures a model, never the probe's: its samples chose what is measured here."""
    config = run_config(identity, test.engine, test.template, test.system, test.sampling, test.seed)
    run_id = run_id_of(config)
    with store.reading() as connection:
        known = find_any_run(connection, run_id)
    return known or ProbeRun(
        run_id=run_id,
        pool_id=test.pool_id,
        model=identity.name,
        revision=identity.revision,
        engine=test.engine,
        config=config,
        k=test.n_samples,
        verifier=test.verifier,
        verdicts_by="",
        role=EVALUATION,
    )


def n_missing(store: Store, run: ProbeRun, test: TestSet) -> int:
    """How many samples of a test a run lacks."""
    return _missing(store, run, test).n_samples


def measure(
    store: Store, identity: ModelIdentity, test: TestSet, open_model: OpenModel, progress: Progress
) -> ProbeRun:
    """Sample what lacks and judge it; the model is opened only if something lacks.

    Raises Interrupted when the user stops it; samples finished by then are stored.
    """
    run = run_of(store, identity, test)
    with sole_sampler(store.samples_folder):
        merge_finished(store)
        missing = _missing(store, run, test)
        if missing.n_samples:
            with open_model() as model:
                engine = open_engine(test.engine, model, test.sampling, trust_remote_code=test.trust_remote_code)
                with closing(engine):
                    with store.writing() as connection:
                        save_run(connection, run)
                    sample_into_store(engine, store, run, missing, progress, kind="evaluation")
    return verify_run(store, run, test.verifier, progress)


def judge_again(store: Store, identity: ModelIdentity, test: TestSet, progress: Progress) -> None:
    """Judge what a stored run lacks verdicts on: after a correction of an answer or of the verifier, or a kill."""
    run = run_of(store, identity, test)
    with store.reading() as connection:
        if find_any_run(connection, run.run_id) is None:
            return
    verifier = load_verifier(test.verifier)
    with store.reading() as connection:
        is_stale = run.verdicts_by != f"{verifier.name}@{verifier.version}"
        pending = is_stale or has_pending(connection, run.run_id, run.verdicts_by)
    if pending:
        verify_run(store, run, test.verifier, progress)


def some_requests(store: Store, test: TestSet, most: int) -> list[SampleRequest]:
    """One sample each of the first prompts of a test, for a timing."""
    with store.reading() as connection:
        asked = item_rows(connection, test.item_ids[:most])
    gaps = asked.append_column("first", pa.repeat(0, asked.num_rows)).append_column(
        "count", pa.repeat(1, asked.num_rows)
    )
    return list(Missing(gaps, test.template, test.system, test.seed).requests())


def _missing(store: Store, run: ProbeRun, test: TestSet) -> Missing:
    with store.reading() as connection:
        asked = item_rows(connection, test.item_ids)
    return Missing(find_gaps(store, run.run_id, asked, test.n_samples), test.template, test.system, test.seed)
