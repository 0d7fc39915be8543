"""The label-free signals of a run: what they need brought up to date, and read as features.

Invariant: nothing here is needed, computed or stored while every sampled item of the pool has an answer.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from budgetplan.difficulty.features import Features, features_of
from budgetplan.records import Progress
from budgetplan.steps.prompt_features import prompt_features_of, ready_prompt_features
from budgetplan.steps.references import is_ready, ready_reference
from budgetplan.steps.same_answers import equality_of, find_same_answers
from budgetplan.steps.upkeep import ready_run
from budgetplan.store.connection import Store
from budgetplan.store.prompt_features import has_prompt_features
from budgetplan.store.references import find_reference, reference_agreement
from budgetplan.store.runs import ProbeRun
from budgetplan.store.same_answers import has_new_answers
from budgetplan.store.signals import item_signals, similarity_is_current, write_similarity
from budgetplan.store.verdicts import has_unknown


@dataclass(frozen=True, slots=True, eq=False)
class RunSignals:
    """Signals of every item of a run's pool, in file order, and what they were made with.

    `equality` says how answers were compared, `reference` names the model whose answers they were compared with, None
    where no item could be. `single_pass`: no more than one sample of each item was looked at.
    """

    table: pa.Table
    features: Features
    equality: str
    reference: str | None
    single_pass: bool


@contextmanager
def run_to_rank(store: Store, wanted: str | None, progress: Progress) -> Iterator[ProbeRun]:
    """The run to rank (see `ready_run`), its signals up to date where it has items without an answer."""
    with ready_run(store, wanted, progress) as run, store.reading() as connection:
        if not has_unknown(connection, run) or _signals_are_current(connection, run):
            yield run
            return
    _update_signals(store, run, progress)
    with store.reading():
        yield run


def _update_signals(store: Store, run: ProbeRun, progress: Progress) -> None:
    """Do what is missing, and write nothing where nothing is."""
    ready_reference(store, run, progress)
    find_same_answers(store, run, progress)
    ready_prompt_features(store, run.pool_id, progress)
    with store.reading() as connection:
        if similarity_is_current(connection, run.run_id, run.pool_id):
            return
    progress.start("comparing texts", None)
    n_written = 1
    while n_written:  # a batch at a time: nobody else waits for the store longer than that
        with store.writing() as connection:
            n_written = write_similarity(connection, run.run_id, run.pool_id, most_batches=1)
        progress.advance(n_written)
    progress.finish()


def run_signals(connection: duckdb.DuckDBPyConnection, run: ProbeRun, *, single_pass: bool) -> RunSignals | None:
    """Read a run's signals, from its first samples alone for a single pass; None where every answer is known."""
    if not has_unknown(connection, run):
        return None
    table = item_signals(connection, run.run_id, run.pool_id, run.verdicts_by, first_only=single_pass)
    reference = find_reference(connection, run)
    agreed = pa.nulls(table.num_rows, pa.float64())
    if reference:
        agreed = reference_agreement(connection, run, reference, first_only=single_pass)
    table = table.append_column("reference_agreement", agreed)
    prompts = prompt_features_of(connection, run.pool_id)
    return RunSignals(
        table=table,
        features=features_of(table, prompts.near, prompts.components),
        equality=equality_of(run.verdicts_by),
        reference=reference.model if reference and agreed.null_count < len(agreed) else None,
        single_pass=(pc.max(table["n_samples"]).as_py() or 0) <= 1,
    )


def _signals_are_current(connection: duckdb.DuckDBPyConnection, run: ProbeRun) -> bool:
    reference = find_reference(connection, run)
    return (
        not has_new_answers(connection, run)
        and similarity_is_current(connection, run.run_id, run.pool_id)
        and has_prompt_features(connection, run.pool_id)
        and (reference is None or is_ready(connection, run, reference))
    )
