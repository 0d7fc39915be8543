"""Deciding what labels say: equal answers by the verifier, then the majority, then gold, then samples judged anew."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from budgetplan.annotation.adjudication import Answer, Pair, pairs_of, same_answers
from budgetplan.outcome import Outcome
from budgetplan.records import Progress
from budgetplan.steps.verify import verify_run
from budgetplan.store.adjudications import Decided, adjudicate, answers_to_compare
from budgetplan.store.connection import Store
from budgetplan.store.runs import all_runs
from budgetplan.store.verdicts import has_pending
from budgetplan.verifying.judge import Judge
from budgetplan.verifying.judging import IS_ANSWER
from budgetplan.verifying.verifier import auto_verifier


@dataclass(frozen=True, slots=True)
class Rescored:
    """What was decided, and how many runs had samples to judge anew."""

    decided: Decided
    n_runs: int


def adjudicate_labels(store: Store, progress: Progress, *, replace_known: bool = False) -> Rescored:
    """Decide every item whose labels changed, and judge the stored samples of items whose gold changed."""
    with store.reading() as connection:
        answers = [Answer(*row) for row in zip(*answers_to_compare(connection).to_pydict().values(), strict=True)]
    groups = same_answers(answers, _equal_pairs(store, answers))
    with store.writing() as connection:
        decided = adjudicate(connection, groups, replace_known=replace_known)
    return Rescored(decided, _judge_again(store, progress))


def _equal_pairs(store: Store, answers: Sequence[Answer]) -> list[Pair]:
    """The pairs that the last used run's verifier finds equal, either way round; what it cannot compare differs."""
    pairs = pairs_of(answers)
    if not pairs:
        return []
    with Judge(_verifier(store, [answer.text for answer in answers]), workers=os.cpu_count() or 1) as judge:
        there = judge.judge(_as_rows([(pair.left.text, pair.right.text) for pair in pairs]))
        back = judge.judge(_as_rows([(pair.right.text, pair.left.text) for pair in pairs]))
    outcomes = zip(pairs, there["outcome"].to_pylist(), back["outcome"].to_pylist(), strict=True)
    return [pair for pair, *either in outcomes if Outcome.CORRECT in either]


def _as_rows(compared: Sequence[tuple[str, str]]) -> pa.Table:
    return pa.table(
        {
            "text": pa.array([text for text, _ in compared], pa.string()),
            "finish_reason": pa.repeat(IS_ANSWER, len(compared)),
            "gold": pa.array([gold for _, gold in compared], pa.string()),
            "columns": pa.nulls(len(compared), pa.string()),
        }
    )


def _verifier(store: Store, answers: Sequence[str]) -> str:
    with store.reading() as connection:
        runs = all_runs(connection)
    asked = runs[0].verifier if runs else "auto"
    return auto_verifier(answers) if asked == "auto" else asked


def _judge_again(store: Store, progress: Progress) -> int:
    """Bring all runs' verdicts up to date, the last used one last and in any case, so that it stays the last used."""
    with store.reading() as connection:
        runs = all_runs(connection)
        waiting = [run for run in runs if has_pending(connection, run.run_id, run.verdicts_by)]
    for run in reversed(runs):
        if run in waiting or (waiting and run == runs[0]):
            verify_run(store, run, run.verifier, progress)
    return len(waiting)
