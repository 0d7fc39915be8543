"""Lists of items in a text file of the user's, one id per line: the user's own `id`, or our `item_id`.

Invariant: every line names an item of the pool, or nothing is taken from the file.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from budgetplan.errors import PoolError

_SHOWN = 5


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """The file as it was given, and the rows of the pool that it names."""

    path: Path
    rows: NDArray[np.intp]


def read_id_list(path: Path, table: pa.Table, option: str) -> Listed:
    """Find the rows of a pool's table (`item_id`, `ids`) that a file names; an id of several items means all of them.

    Raises PoolError for a file that cannot be read, that is empty or that names what the pool does not have.
    """
    wanted = pa.array(_lines(path, option))
    own = pc.list_flatten(table["ids"])
    of_row = pc.list_parent_indices(table["ids"])
    known = pa.concat_arrays([_flat(table["item_id"]), _flat(own)])
    row = np.concatenate([np.arange(table.num_rows), np.asarray(of_row, dtype=np.intp)])
    unknown = wanted.filter(pc.invert(pc.is_in(wanted, value_set=known))).to_pylist()
    if unknown:
        named = ", ".join(unknown[:_SHOWN]) + (f" and {len(unknown) - _SHOWN:,} more" if len(unknown) > _SHOWN else "")
        raise PoolError(
            f"{option} {path}: the pool has no item {named}.",
            hint="Write one id per line as in your pool, or an item_id (bp-...) as in: budgetplan rank --out rank.csv",
        )
    rows = np.unique(row[np.asarray(pc.is_in(known, value_set=wanted))])
    return Listed(path, rows.astype(np.intp))


def check_apart(must: Listed | None, never: Listed | None, item_id: pa.ChunkedArray) -> None:
    """Raise PoolError where an item is in both lists."""
    both = np.intersect1d(must.rows, never.rows) if must and never else np.zeros(0, dtype=np.intp)
    if must and never and both.size:
        raise PoolError(
            f"{item_id[int(both[0])].as_py()} is in both {must.path} (--must) and {never.path} (--never)"
            + (f", and so are {len(both) - 1:,} more." if len(both) > 1 else "."),
            hint=f"Take it out of one: grep -vxFf {must.path} {never.path}",
        )


def _lines(path: Path, option: str) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise PoolError(f"{option} {path}: {error.strerror}.", hint="Name a text file with one id per line.") from error
    except UnicodeDecodeError as error:
        raise PoolError(f"{option} {path}: not text in UTF-8.", hint="Save it as UTF-8, one id per line.") from error
    lines = list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
    if not lines:
        raise PoolError(f"{option} {path}: no id in it.", hint=f"Write one id per line, or leave {option} away.")
    return lines


def _flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole.cast(pa.string())
