"""What annotators get to see of a shortlist.

Invariant: blind. Nothing of rank, p̂, audit or a known answer, in a seeded order that follows none of them.
"""

import hashlib

import pyarrow as pa

_SHOWN = ("item_id", "prompt", "model_answer")


def blind(items: pa.Table, seed: int) -> pa.Table:
    """Keep `item_id`, `prompt` and, where there is one, `model_answer`, ordered by a hash of (seed, id).

    The same items and seed give the same tasks, whatever the items' order.
    """
    shown = items.select([name for name in _SHOWN if name in items.column_names])
    keys = [hashlib.sha256(f"{seed}:{item_id}".encode()).digest() for item_id in items["item_id"].to_pylist()]
    return shown.take(pa.array(sorted(range(len(keys)), key=keys.__getitem__), pa.int64()))
