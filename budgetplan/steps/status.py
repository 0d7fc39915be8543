"""`status`: where a project stands, read from its store alone."""

from dataclasses import dataclass

import duckdb

from budgetplan.annotation.agreement import annotator_agreement
from budgetplan.records import COUNTED, Outcome, Progress
from budgetplan.selection.cost_model import CostModel
from budgetplan.steps.pricing import measured_costs
from budgetplan.steps.upkeep import finish_deciding
from budgetplan.store.adjudications import Disagreement, disagreements, states
from budgetplan.store.annotators import AnnotatorRow, annotators
from budgetplan.store.connection import Store
from budgetplan.store.labels import label_votes, still_missing
from budgetplan.store.ledger import Balance, balances, left_to_plan
from budgetplan.store.pools import PoolRow, find_pool
from budgetplan.store.runs import ProbeRun, all_runs
from budgetplan.store.shortlists import ShortlistRow, all_shortlists
from budgetplan.store.verdicts import outcome_counts


@dataclass(frozen=True, slots=True)
class RunStatus:
    """A probe run, its pool, and its samples on that pool by outcome."""

    run: ProbeRun
    pool: PoolRow
    outcomes: dict[str, int]

    @property
    def correct_share(self) -> float | None:
        """Correct samples among those judged against an answer; None where none is known."""
        counted = sum(self.outcomes.get(outcome, 0) for outcome in COUNTED)
        return self.outcomes.get(Outcome.CORRECT, 0) / counted if counted else None

    @property
    def n_samples(self) -> int:
        """Samples with a verdict that did not fail in the engine."""
        return sum(number for name, number in self.outcomes.items() if name != Outcome.ENGINE_ERROR)


@dataclass(frozen=True, slots=True)
class LabelsStatus:
    """Labelled items by what was decided; who labelled, and how far they agree (Krippendorff's alpha); what is out."""

    states: dict[str, int]
    annotators: list[AnnotatorRow]
    alpha: float | None
    n_disagreements: int
    n_missing: int
    cost_model: CostModel | None


@dataclass(frozen=True, slots=True)
class Status:
    """Every run, the last used first, every shortlist, the labels, and the ledger: planned, spent and left by unit."""

    runs: list[RunStatus]
    shortlists: list[ShortlistRow]
    labels: LabelsStatus
    ledger: list[Balance]
    left: dict[str, float]


def status(store: Store, progress: Progress) -> Status:
    """Look at a store; all that changes in it is what a killed ingest left undecided."""
    finish_deciding(store, progress)
    with store.reading() as connection:
        runs = [
            RunStatus(
                run,
                find_pool(connection, run.pool_id),
                outcome_counts(connection, run.run_id, run.pool_id, run.verdicts_by),
            )
            for run in all_runs(connection)
        ]
        return Status(
            runs=runs,
            shortlists=all_shortlists(connection),
            labels=_labels(connection, runs[0].pool.pool_id if runs else None),
            ledger=balances(connection),
            left=left_to_plan(connection, runs[0].pool.pool_id) if runs else {},
        )


def _labels(connection: duckdb.DuckDBPyConnection, pool_id: str | None) -> LabelsStatus:
    votes = label_votes(connection)
    return LabelsStatus(
        states=states(connection),
        annotators=annotators(connection),
        alpha=annotator_agreement(votes["item_id"], votes["annotator"], votes["answer"]),
        n_disagreements=len(disagreements(connection)),
        n_missing=len(still_missing(connection)),
        cost_model=measured_costs(connection, pool_id) if pool_id else None,
    )


def open_disagreements(store: Store, progress: Progress) -> list[Disagreement]:
    """The items on which annotators differ, or contradict what was known."""
    finish_deciding(store, progress)
    with store.reading() as connection:
        return disagreements(connection)
