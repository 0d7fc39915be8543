"""Whether two answers are one answer in other words, by a verifier: for labels as for samples."""

import os

import pyarrow as pa
import pyarrow.compute as pc

from budgetplan.outcome import Outcome
from budgetplan.records import Progress, Silent
from budgetplan.verifying.judge import Judge
from budgetplan.verifying.judging import IS_ANSWER


def equal_by(verifier: str, left: pa.Array, right: pa.Array, progress: Progress | None = None) -> pa.Array:
    """Say of each pair of answers whether the verifier finds them equal, either way round.

    What it cannot compare differs. Progress advances by two for a pair; its task is the caller's.
    """
    with Judge(verifier, workers=os.cpu_count() or 1) as judge:
        progress = progress or Silent()
        there = judge.judge(_as_rows(left, right), progress)["outcome"]
        back = judge.judge(_as_rows(right, left), progress)["outcome"]
    return pc.or_(pc.equal(there, Outcome.CORRECT.value), pc.equal(back, Outcome.CORRECT.value))


def _as_rows(text: pa.Array, gold: pa.Array) -> pa.Table:
    return pa.table(
        {
            "text": text,
            "finish_reason": pa.repeat(IS_ANSWER, len(text)),
            "gold": gold,
            "columns": pa.nulls(len(text), pa.string()),
        }
    )
