"""Bringing a pool into the store, and saying what was found in it."""

from dataclasses import dataclass

import duckdb
import pyarrow.compute as pc

from budgetplan.config import Settings
from budgetplan.pool.fields import Fields
from budgetplan.pool.reader import Pool
from budgetplan.store.pools import answered_items, import_pool


@dataclass(frozen=True, slots=True)
class PoolSummary:
    """What a pool file held, and what was new in it; `n_conflicts` are those nobody has decided."""

    pool_id: str
    source: str
    n_rows: int
    n_items: int
    n_duplicates: int
    n_conflicts: int
    first_conflict: str | None
    n_with_answer: int
    n_new_items: int
    n_changed_answers: int
    fields: dict[str, str | None]


def fields_of(settings: Settings) -> Fields:
    """The field names the user insists on."""
    return Fields(
        prompt=settings.prompt_field,
        answer=settings.answer_field,
        id=settings.id_field,
        completions=settings.completions_field,
    )


def pool_id_of(pool: Pool) -> str:
    """The id a pool goes by in the store."""
    return "pool-" + pool.digest[:10]


def store_pool(connection: duckdb.DuckDBPyConnection, pool: Pool) -> PoolSummary:
    """Write a pool in the caller's transaction."""
    imported = import_pool(connection, pool_id_of(pool), pool.source, pool.n_rows, pool.table)
    return PoolSummary(
        pool_id=pool_id_of(pool),
        source=pool.source,
        n_rows=pool.n_rows,
        n_items=pool.n_items,
        n_duplicates=pool.n_duplicates,
        n_conflicts=int(pc.sum(pc.greater(pc.list_value_length(pool.table["answers"]), 1)).as_py() or 0),
        first_conflict=_first_conflict(pool),
        n_with_answer=answered_items(connection, pool_id_of(pool)),
        n_new_items=imported.n_new_items,
        n_changed_answers=imported.n_changed_answers,
        fields={"prompt": pool.fields.prompt, "answer": pool.fields.answer, "id": pool.fields.id},
    )


def _first_conflict(pool: Pool) -> str | None:
    """Where the first prompt with different known answers stands, and which they are."""
    if not pool.conflict_examples:
        return None
    first = pool.conflict_examples[0]
    return f"{', '.join(first.places)}: {' or '.join(first.answers)}"
