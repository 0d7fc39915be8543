"""What a user wishes of a shortlist beside policy and budget: items kept out, must-have items, quotas.

Invariant: what is kept out (`--exclude`, `--never`) is no part of the pool either, so a share of the budget is one of
the rest; a must-have item is never kept out.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from budgetplan.errors import PoolError
from budgetplan.pool.exclusion import Exclusion, excluded, parse_exclusion, valued
from budgetplan.pool.id_lists import Listed, check_apart, read_id_list
from budgetplan.selection.quotas import OPTION, Quotas, parse_quotas
from budgetplan.store.connection import Store
from budgetplan.store.pools import own_columns_as_json

_NO_ROWS: NDArray[np.intp] = np.zeros(0, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class WishChoices:
    """As typed: `--exclude`, `--quota`, `--must` and `--never`."""

    exclude: tuple[str, ...] = ()
    quota: tuple[str, ...] = ()
    must: Path | None = None
    never: Path | None = None


NO_WISHES = WishChoices()


@dataclass(frozen=True, slots=True, eq=False)
class PoolWishes:
    """The same over the rows of a pool; `must` and `never` rows as their files name them, bought or not."""

    eligible: NDArray[np.bool_] | None = None
    quotas: Quotas | None = None
    must: NDArray[np.intp] = field(default_factory=_NO_ROWS.copy)
    never: NDArray[np.intp] = field(default_factory=_NO_ROWS.copy)


def pool_wishes(store: Store, pool_id: str, choices: WishChoices) -> PoolWishes:
    """Read the wishes against the pool; raises PoolError or BudgetError for what it does not have."""
    quotas = parse_quotas(choices.quota)
    exclusions = [parse_exclusion(text) for text in choices.exclude]
    if not (exclusions or quotas or choices.must or choices.never):
        return PoolWishes()
    with store.reading() as connection:
        table = own_columns_as_json(connection, pool_id)
    must = read_id_list(choices.must, table, "--must") if choices.must else None
    never = read_id_list(choices.never, table, "--never") if choices.never else None
    check_apart(must, never, table["item_id"])
    out = np.asarray(excluded(table, exclusions).to_numpy(zero_copy_only=False))
    if must:
        _refuse_excluded(must, out, table["item_id"], choices.exclude)
    if never:
        out = out | np.isin(np.arange(len(out)), never.rows)
    asked = None
    if quotas:
        marks = valued(table, [Exclusion(quota.column, quota.value) for quota in quotas], OPTION)
        asked = Quotas(quotas, np.array([has_it.to_numpy(zero_copy_only=False) for has_it in marks], dtype=np.bool_))
    return PoolWishes(
        ~out if out.any() else None, asked, must.rows if must else _NO_ROWS, never.rows if never else _NO_ROWS
    )


def list_entry(path: Path | None, rows: NDArray[np.intp], item_id: pa.StringArray) -> dict[str, Any] | None:
    """A list for the record: the file, how many items it names, which (sorted), and a digest of them."""
    if path is None:
        return None
    named = sorted(item_id.take(pa.array(rows)).to_pylist())
    digest = hashlib.sha256("\n".join(named).encode()).hexdigest()[:16]
    return {"file": str(path), "n_items": len(named), "digest": digest, "item_ids": named}


def _refuse_excluded(must: Listed, out: NDArray[np.bool_], item_id: pa.ChunkedArray, exclude: Sequence[str]) -> None:
    kept_out = must.rows[out[must.rows]]
    if kept_out.size:
        raise PoolError(
            f"--must {must.path}: {item_id[int(kept_out[0])].as_py()} is kept out by --exclude {' '.join(exclude)}"
            + (f", and so are {len(kept_out) - 1:,} more." if len(kept_out) > 1 else "."),
            hint="Take it out of the list, or loosen --exclude.",
        )
