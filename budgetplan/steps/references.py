"""References: another model's samples, kept beside the base run's and judged alike.

Invariant: a reference imported from a file brings no known answer, and changes nothing of a pool that is there.
"""

from dataclasses import replace

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from budgetplan.errors import VerifierError
from budgetplan.pool.reader import Pool
from budgetplan.records import Progress
from budgetplan.steps.pools import PoolSummary, pool_id_of
from budgetplan.steps.verify import verify_run
from budgetplan.store.connection import Store
from budgetplan.store.pools import import_pool
from budgetplan.store.references import find_reference, holds_items, is_stored, n_with_gold, unknown_items
from budgetplan.store.runs import ProbeRun
from budgetplan.store.verdicts import has_pending
from budgetplan.verifying.judging import IS_ANSWER
from budgetplan.verifying.verifier import load_verifier

BARE_ANSWER = r"^(?:\p{L}+(?:[ -]\p{L}+){0,2}|[-+]?[0-9]+(?:\.[0-9]+)?)\.?$"
"""Up to three words, or one number: a text that is an answer as it stands, also where a verifier looks for a formula or
an option in it."""


def ready_reference(store: Store, run: ProbeRun, progress: Progress) -> None:
    """Judge the reference of a run by the run's verifier, where there is one and it is not yet.

    Call it before the store is opened for reading, and before answers are compared.
    """
    with store.reading() as connection:
        reference = find_reference(connection, run)
        if reference is None or is_ready(connection, run, reference):
            return
    try:
        # On the run's pool, whose columns a user's own function was written for.
        verify_run(store, replace(reference, pool_id=run.pool_id), run.judged_by, progress)
    except VerifierError as error:
        progress.note(f"the samples of the reference {reference.run_id} could not be judged: {error}")


def is_ready(connection: duckdb.DuckDBPyConnection, run: ProbeRun, reference: ProbeRun) -> bool:
    """Whether all samples of a reference were judged by the run's verifier.

    Where the run's verdicts are of an older version than the one installed, the installed one is the nearest there is.
    """
    if has_pending(connection, reference.run_id, reference.verdicts_by):
        return False
    return reference.verdicts_by == run.verdicts_by or reference.verdicts_by == _installed(run.judged_by)


def _installed(verifier: str) -> str | None:
    """A verifier with the version that is there now; None where it cannot be had."""
    try:
        found = load_verifier(verifier)
    except VerifierError:
        return None
    return f"{found.name}@{found.version}"


def store_reference_pool(connection: duckdb.DuckDBPyConnection, pool: Pool, base: ProbeRun | None) -> PoolSummary:
    """Store the items of a reference's file that are in no pool, or all where it has none in common with the base run.

    `pool_id` is the base run's pool where they have items in common.
    """
    own = pool_id_of(pool)
    pool_id = base.pool_id if base and holds_items(connection, base.pool_id, pool.table) else own
    new = unknown_items(connection, pool.table) if is_stored(connection, pool_id) else pool.table
    n_new = import_pool(connection, own, pool.source, pool.n_rows, new).n_new_items if new.num_rows else 0
    return PoolSummary(
        pool_id=pool_id,
        source=pool.source,
        n_rows=pool.n_rows,
        n_items=pool.n_items,
        n_duplicates=pool.n_duplicates,
        n_conflicts=0,
        first_conflict=None,
        n_with_answer=n_with_gold(connection, pool.table),
        n_new_items=n_new,
        n_changed_answers=0,
        fields={"prompt": pool.fields.prompt, "answer": None, "id": pool.fields.id},
    )


def with_bare_answers(samples: pa.Table) -> pa.Table:
    """Mark the samples (`SAMPLES_SCHEMA`) whose text is nothing but an answer, so that none is looked for in it."""
    is_bare = pc.and_(
        pc.is_null(samples["finish_reason"]),
        pc.match_substring_regex(pc.utf8_trim_whitespace(samples["text"]), BARE_ANSWER),
    )
    place = samples.schema.get_field_index("finish_reason")
    reasons = pc.if_else(pc.fill_null(is_bare, False), IS_ANSWER, samples["finish_reason"])
    return samples.set_column(place, samples.schema.field(place), reasons)
