"""Learning from labels: the ranking of the items that still have no answer, fitted anew and stored."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from budgetplan.errors import BudgetplanError, Interrupted
from budgetplan.records import Progress
from budgetplan.steps.estimates import estimates_to_rank
from budgetplan.steps.signals import run_to_rank
from budgetplan.steps.trust import WithoutAnswers, without_answers
from budgetplan.store.calibrations import last_calibration, save_calibration
from budgetplan.store.connection import Store
from budgetplan.store.runs import BASE, all_runs


@dataclass(frozen=True, slots=True)
class Recalibrated:
    """The ranking of items without an answer as it now is, and the document stored of it before; None for none."""

    now: WithoutAnswers
    before: dict[str, Any] | None


def recalibrate(store: Store, progress: Progress) -> Recalibrated | None:
    """Fit the last used run's calibration to all labels and store it; None without a run or an item to predict.

    The labels are stored by now, so what goes wrong here is noted, and the next `rank` tries again.
    """
    try:
        return _recalibrate(store, progress)
    except Interrupted:
        raise
    except BudgetplanError as error:
        progress.note(f"the ranking has not learned from the labels yet (budgetplan rank tries again): {error}")
        return None


def _recalibrate(store: Store, progress: Progress) -> Recalibrated | None:
    with store.reading() as connection:
        if not any(run.role == BASE for run in all_runs(connection)):
            return None
    with run_to_rank(store, None, progress) as run, store.reading() as connection:
        now = without_answers(connection, estimates_to_rank(store, run))
        before = last_calibration(connection, run.run_id, run.pool_id)
    if now is None:
        return None
    with store.writing() as connection:
        save_calibration(connection, run.run_id, run.pool_id, json.loads(json.dumps(asdict(now))))
    return Recalibrated(now, before)
