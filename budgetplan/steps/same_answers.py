"""Finding, among the answers that samples gave to an item, those that are one answer in other words."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from budgetplan.annotation.adjudication import Answer, Pair, same_answers
from budgetplan.records import Progress
from budgetplan.steps.equal_answers import equal_by
from budgetplan.store.connection import Store
from budgetplan.store.runs import ProbeRun
from budgetplan.store.same_answers import has_new_answers, items_to_compare, pairs_to_compare, save_same_answers

BATCH_PAIRS = 10_000


def find_same_answers(store: Store, run: ProbeRun, progress: Progress) -> None:
    """Compare the new answers to the items of a run's pool, and store which are the same.

    The answers are those in the verdicts of the run's verifier, whichever run they are of. Call it before the store is
    opened for reading.
    """
    with store.reading() as connection:
        if not has_new_answers(connection, run):
            return
        compared = items_to_compare(connection, run)
        pairs = pairs_to_compare(connection, run)
    has_pairs = pc.is_in(compared["item_id"], value_set=pairs["item_id"])
    _save(store, run, compared.filter(pc.invert(has_pairs)), pairs.slice(0, 0))
    progress.start(f"comparing answers ({run.judged_by})", 2 * pairs.num_rows)
    for batch in _whole_items(pairs):
        equal = batch.filter(equal_by(run.judged_by, batch["left_text"], batch["right_text"], progress))
        _save(store, run, compared.filter(pc.is_in(compared["item_id"], value_set=batch["item_id"])), equal)
    progress.finish()


def _save(store: Store, run: ProbeRun, compared: pa.Table, equal: pa.Table) -> None:
    if compared.num_rows:
        with store.writing() as connection:
            save_same_answers(connection, run.verdicts_by, compared, _groups(equal))


def _whole_items(pairs: pa.Table) -> Iterator[pa.Table]:
    """Split pairs, which come item by item, into batches of about BATCH_PAIRS; what is stored is not done again."""
    codes = pairs["item_id"].combine_chunks().dictionary_encode().indices.to_numpy()
    ends = np.append(np.flatnonzero(np.diff(codes)) + 1, pairs.num_rows)
    start = 0
    while start < pairs.num_rows:
        end = int(ends[np.searchsorted(ends, min(start + BATCH_PAIRS, pairs.num_rows))])
        yield pairs.slice(start, end - start)
        start = end


def equality_of(verifier: str) -> str:
    """Say in words how a verifier (its name, with or without a version) compares two answers of which none is known."""
    name = verifier.rpartition("@")[0] or verifier
    is_function = ":" in name  # it judges a completion, and cannot compare two answers
    return "their normalised text" if is_function or name == "exact" else f"the verifier {name}"


def _groups(equal: pa.Table) -> pa.Table:
    """Make groups of equal pairs: item_id, answer, same_as, all by their keys."""
    left, right = (
        [
            Answer(item_id, key, n)
            for item_id, key, n in zip(
                *(equal[name].to_pylist() for name in ("item_id", f"{side}_key", f"{side}_n")), strict=True
            )
        ]
        for side in ("left", "right")
    )
    pairs = [Pair(one, other) for one, other in zip(left, right, strict=True)]
    return same_answers(list(dict.fromkeys([*left, *right])), pairs)
