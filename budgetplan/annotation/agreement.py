"""How far annotators agree beyond chance: Krippendorff's alpha for nominal values.

Invariant: only items that two or more annotators answered count, and each annotator counts once per item.
"""

import numpy as np
import pyarrow as pa


def annotator_agreement(item_id: pa.ChunkedArray, annotator: pa.ChunkedArray, group: pa.ChunkedArray) -> float | None:
    """Compute alpha from one row per label: its item, who gave it, and its answer in canonical words.

    1 is full agreement, 0 what chance gives; None where no item has two annotators or all gave one and the same answer.
    Rows without an annotator or an answer are left out; of two rows by one annotator on one item the later counts.

    1 - D_observed / D_expected (Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011, section C), from the
    counts that are not 0: the library's dense items x answers x answers array takes gigabytes for a thousand items
    with free answers.
    """
    table = pa.table({"item": item_id, "annotator": annotator, "group": group}).drop_null()
    table = table.group_by(["item", "annotator"], use_threads=False).aggregate([("group", "last")])
    item, value = (_codes(table[name]) for name in ("item", "group_last"))
    pairable = np.bincount(item)[item] >= 2
    item, value = item[pairable], value[pairable]
    per_item, per_value, n = np.bincount(item), np.bincount(value), len(item)
    same, count = np.unique(np.stack([item, value]), axis=1, return_counts=True)
    agreeing = float(np.sum(count * (count - 1) / (per_item[same[0]] - 1)))
    expected = n**2 - int(np.sum(per_value.astype(np.int64) ** 2))
    return 1 - (n - 1) * (n - agreeing) / expected if expected else None


def _codes(column: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Number the distinct values of a column."""
    return np.asarray(column.combine_chunks().dictionary_encode().indices, dtype=np.int64)
