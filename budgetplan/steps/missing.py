"""The samples a run still lacks, as requests with template, system prompt and seeds applied."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from budgetplan.pool.templates import apply_template, messages_of
from budgetplan.records import ItemId, SampleRequest, sample_seed
from budgetplan.store.completions import missing_samples
from budgetplan.store.connection import Store


@dataclass(frozen=True, slots=True)
class Missing:
    """Gaps below K: the pool's columns and `first` (sample index), `count`."""

    gaps: pa.Table
    template: str
    system: str | None
    seed: int

    @property
    def n_samples(self) -> int:
        """Samples over all gaps."""
        return int(np.sum(self.gaps["count"].to_numpy(), dtype=np.int64))

    def requests(self) -> Iterator[SampleRequest]:
        """One request per gap."""
        for batch in self.gaps.to_batches(max_chunksize=1_000):
            for row in batch.to_pylist():
                item_id, first = ItemId(row["item_id"]), row["first"]
                messages = apply_template(messages_of(row["prompt"], row["messages"]), self.template, self.system)
                yield SampleRequest(item_id, messages, first, row["count"], sample_seed(self.seed, item_id, first))

    def without(self, item_ids: list[ItemId]) -> "Missing":
        """The same, some items left out."""
        keep = pc.invert(pc.is_in(self.gaps["item_id"], value_set=pa.array(item_ids, pa.string())))
        return replace(self, gaps=self.gaps.filter(keep))


def find_gaps(store: Store, run_id: str, pool: pa.Table, wanted: int | NDArray[np.integer]) -> pa.Table:
    """What the store lacks of the wanted samples, K of every item or so many of each; all, where there is no store."""
    asked = np.broadcast_to(np.asarray(wanted, dtype=np.int32), pool.num_rows)
    if store.path.exists():
        with store.reading() as connection:
            return missing_samples(connection, run_id, pool, pa.array(asked))
    first = pa.array(np.zeros(pool.num_rows, np.int32))
    gaps = pool.append_column("first", first).append_column("count", pa.array(asked))
    return gaps.filter(pc.greater(gaps["count"], 0))
