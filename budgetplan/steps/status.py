"""`status`: where a project stands, read from its store alone."""

from dataclasses import dataclass

from budgetplan.records import Outcome
from budgetplan.store.connection import Store
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
    def n_samples(self) -> int:
        """Samples with a verdict that did not fail in the engine."""
        return sum(number for name, number in self.outcomes.items() if name != Outcome.ENGINE_ERROR)


@dataclass(frozen=True, slots=True)
class Status:
    """Every run, the last used first, and every shortlist."""

    runs: list[RunStatus]
    shortlists: list[ShortlistRow]


def status(store: Store) -> Status:
    """Look at a store without changing it."""
    with store.reading() as connection:
        runs = [
            RunStatus(
                run,
                find_pool(connection, run.pool_id),
                outcome_counts(connection, run.run_id, run.pool_id, run.verdicts_by),
            )
            for run in all_runs(connection)
        ]
        return Status(runs, all_shortlists(connection))
