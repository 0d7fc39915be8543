"""Deciding what labels say: equal answers by the verifier, then the majority, then gold, then samples judged anew."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from budgetplan.annotation.adjudication import Answer, Pair, pairs_of, same_answers
from budgetplan.errors import VerifierError
from budgetplan.records import Progress
from budgetplan.steps.equal_answers import equal_by
from budgetplan.steps.verify import GOLD_SAMPLE, verify_run
from budgetplan.store.adjudications import Decided, adjudicate, answers_to_compare, some_answers
from budgetplan.store.connection import Store
from budgetplan.store.runs import all_runs, mark_used
from budgetplan.store.verdicts import has_pending
from budgetplan.verifying.verifier import auto_verifier


@dataclass(frozen=True, slots=True)
class Rescored:
    """What was decided, and how many runs had samples to judge anew."""

    decided: Decided
    n_runs: int


def adjudicate_labels(store: Store, progress: Progress, *, replace_known: bool = False) -> Rescored:
    """Decide every item whose labels changed, and judge the stored samples of items whose gold changed."""
    with store.reading() as connection:
        rows = answers_to_compare(connection).to_pylist()
    answers = [Answer(row["item_id"], row["answer"], row["n_votes"]) for row in rows]
    equal: list[Pair] = []
    for pool_id, verifier in {(row["pool_id"], row["verifier"]): None for row in rows}:
        alike = [answer for answer, row in zip(answers, rows, strict=True) if _asked(row) == (pool_id, verifier)]
        equal += _equal_pairs(_verifier(store, pool_id, verifier), alike)
    groups = same_answers(answers, equal)
    with store.writing() as connection:
        decided = adjudicate(connection, groups, replace_known=replace_known)
    return Rescored(decided, _judge_again(store, progress))


def _asked(row: dict[str, Any]) -> tuple[str | None, str]:
    return row["pool_id"], row["verifier"]


def _verifier(store: Store, pool_id: str | None, asked: str) -> str:
    """The verifier asked for on a pool, or the one that suits its answers."""
    if asked != "auto":
        return asked
    with store.reading() as connection:
        return auto_verifier(some_answers(connection, pool_id, GOLD_SAMPLE))


def _equal_pairs(verifier: str, answers: Sequence[Answer]) -> list[Pair]:
    """The pairs of answers to an item that a verifier finds equal."""
    pairs = pairs_of(answers)
    left = pa.array([pair.left.text for pair in pairs], pa.string())
    right = pa.array([pair.right.text for pair in pairs], pa.string())
    equal = equal_by(verifier, left, right).to_pylist()
    return [pair for pair, is_equal in zip(pairs, equal, strict=True) if is_equal]


def _judge_again(store: Store, progress: Progress) -> int:
    """Bring all runs' verdicts up to date, the last used one first and last, so that it stays the last used.

    A run whose verifier is gone keeps its old verdicts, and is named; the last used run must have its own.
    """
    with store.reading() as connection:
        runs = all_runs(connection)
        waiting = [run for run in runs if has_pending(connection, run.run_id, run.verdicts_by)]
    if waiting:
        before = runs[0].verdicts_by
        judged = verify_run(store, runs[0], runs[0].verifier, progress)
        if judged.verdicts_by != before:
            progress.note(f"the answers now known suit the verifier {judged.verdicts_by} better than {before}")
    for run in reversed(waiting):  # so that of the references, too, the last used stays the last used
        if run != runs[0]:
            try:
                verify_run(store, run, run.verifier, progress)
            except VerifierError as error:
                progress.note(f"the samples of {run.run_id} could not be judged again: {error}")
    if any(run != runs[0] for run in waiting):
        with store.writing() as connection:
            mark_used(connection, runs[0].run_id)
    return len(waiting)
