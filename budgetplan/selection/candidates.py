"""The pool as the policies see it: one row per item, in columns.

Invariant: every item of the pool is here, also those without an estimate, those already bought and those kept out of
shortlists, since a budget in percent is a share of the pool and not of what could be estimated or is left.
"""

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from budgetplan.selection.ties import id_hashes

VERIFIED = "verified"
CALIBRATED = "calibrated"
SIGNALS = "signals"
UNKNOWN_FIRST = -1
PREDICTED_WRONG_BELOW = 0.5


@dataclass(frozen=True, eq=False)
class Candidates:
    """Columns of equal length; numbers that an item does not have are nan."""

    item_id: pa.StringArray
    p_hat: NDArray[np.float64]
    p_mean: NDArray[np.float64]
    learnable: NDArray[np.float64]
    learnable_horizon: NDArray[np.float64]  # over a training, not at its start
    k: NDArray[np.int64]
    first_correct: NDArray[np.int8]  # of sample 0: 1 correct, 0 not, -1 unknown
    place: NDArray[np.float64]  # between hard (0) and easy (1) by signals alone, which nothing calibrates
    source: NDArray[np.str_]  # "verified", "calibrated": ranked by p; "signals": by place; "": cannot be ranked
    eligible: NDArray[np.bool_]  # False: kept out of every shortlist, and no part of the pool a share is taken of
    available: NDArray[np.bool_]  # False: already bought or out for annotation; in the pool, but not picked again

    def __post_init__(self) -> None:
        lengths = {field.name: len(getattr(self, field.name)) for field in fields(self)}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns of different length: {lengths}")

    @classmethod
    def from_table(cls, table: pa.Table) -> Self:
        """Take the columns of the same names; null means: no such number, not known, no source, eligible, available.

        Without a column `available` every item is.
        """

        def column(name: str, arrow: pa.DataType, null: Any, dtype: Any) -> NDArray[Any]:
            return np.asarray(table[name].cast(arrow).fill_null(null).to_numpy(), dtype=dtype)

        sources = table["source"].cast(pa.string()).fill_null("").combine_chunks().dictionary_encode()
        numbers = ("p_hat", "p_mean", "learnable", "learnable_horizon", "place")
        if "available" not in table.column_names:
            table = table.append_column("available", pa.nulls(table.num_rows, pa.bool_()))
        return cls(
            item_id=table["item_id"].cast(pa.string()).combine_chunks(),
            **{name: column(name, pa.float64(), np.nan, np.float64) for name in numbers},
            k=column("k", pa.int64(), 0, np.int64),
            first_correct=column("first_correct", pa.int8(), UNKNOWN_FIRST, np.int8),
            source=np.asarray(sources.dictionary, dtype=np.str_)[sources.indices],
            eligible=column("eligible", pa.bool_(), True, np.bool_),
            available=column("available", pa.bool_(), True, np.bool_),
        )

    def __len__(self) -> int:
        return len(self.k)

    @cached_property
    def id_hashes(self) -> NDArray[np.uint64]:
        """Hash every item's id, for tie breaks."""
        return id_hashes(self.item_id)

    @cached_property
    def verified(self) -> NDArray[np.bool_]:
        """Mark the items whose correctness is known, with at least one counted sample."""
        return np.asarray((self.source == VERIFIED) & ~np.isnan(self.p_mean), dtype=np.bool_)

    @cached_property
    def estimated(self) -> NDArray[np.bool_]:
        """Mark the items that have a posterior of p, verified or calibrated."""
        return np.asarray(self.verified | ((self.source == CALIBRATED) & ~np.isnan(self.p_mean)), dtype=np.bool_)

    @cached_property
    def first_wrong(self) -> NDArray[np.bool_]:
        """Mark the items whose first sample was not correct, or, where that is not known, is predicted not to be."""
        predicted = ~self.verified & (self.location < PREDICTED_WRONG_BELOW)
        return np.asarray((self.verified & (self.first_correct == 0)) | predicted, dtype=np.bool_)

    @cached_property
    def location(self) -> NDArray[np.float64]:
        """Place every item between hard (0) and easy (1): posterior mean if there is one, else `place`, else nan.

        At equal k the posterior mean (a + k·p̂) / (a + b + k) orders items exactly as p̂ does; at unequal k it also knows
        that 0 of 10 says more than 0 of 2.
        """
        by_signals = np.where(self.source == SIGNALS, self.place, np.nan)
        return np.where(self.estimated, self.p_mean, by_signals)
