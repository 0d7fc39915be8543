"""`shortlist`: choose what the budget buys, write it down, and write it out for the user and for the annotators.

Invariant: no file takes its place unless the entry is in the store; a number is given once.
"""

from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from budgetplan.annotation.landing import landing
from budgetplan.annotation.manifest import write_manifest
from budgetplan.annotation.spreadsheet import write_spreadsheet
from budgetplan.annotation.tables import check_suffix, write_table
from budgetplan.config import Settings
from budgetplan.errors import BudgetplanError
from budgetplan.pool.exclusion import excluded, parse_exclusion
from budgetplan.records import Progress
from budgetplan.selection.budget import parse_budget
from budgetplan.selection.choose import Choice, choose
from budgetplan.selection.compare import PolicyRow, compare
from budgetplan.selection.policy import Policy
from budgetplan.steps.columns import Ranked, output_table
from budgetplan.steps.estimates import pool_estimates
from budgetplan.steps.pricing import item_costs
from budgetplan.steps.rank import Standing, standing_of
from budgetplan.steps.upkeep import ready_run
from budgetplan.store.connection import Store
from budgetplan.store.pools import own_columns_as_json
from budgetplan.store.shortlists import next_number, save_shortlist, shortlist_name


@dataclass(frozen=True, slots=True)
class ShortlistChoices:
    """What holds for one shortlist alone, and is no setting of the project."""

    budget: str
    exclude: tuple[str, ...] = ()
    out: Path | None = None
    force: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class ShortlistFiles:
    """Where a shortlist was written: the table, the annotators' spreadsheet and the manifest."""

    table: Path
    annotators: Path
    manifest: Path


@dataclass(frozen=True, slots=True)
class Shortlisted:
    """What was chosen, what other policies would have chosen, and where it was written (nowhere in a dry run)."""

    standing: Standing
    choice: Choice
    comparison: list[PolicyRow]
    table: pa.Table
    n_excluded: int
    shortlist_id: str | None
    files: ShortlistFiles | None


def shortlist(
    store: Store, settings: Settings, wanted: str | None, choices: ShortlistChoices, progress: Progress
) -> Shortlisted:
    """Choose under the budget; outside a dry run, write the files and enter the shortlist into the store."""
    budget = parse_budget(choices.budget)
    if choices.out:
        check_suffix(choices.out)
    policy = Policy(settings.policy)
    run = ready_run(store, wanted, progress)
    with store.reading():  # opened once for all that is read below
        estimates = pool_estimates(store, run, settings.group_size)
        eligible = _eligible(store, run.pool_id, choices.exclude)
        candidates = estimates.candidates(eligible)
        costs = item_costs(store, run.pool_id, settings, candidates)
        choice = choose(candidates, policy, costs, budget, seed=settings.seed)
        ranked = Ranked(choice.order, pa.array(np.arange(1, len(choice.order) + 1)), choice.score, choice.cost)
        table = output_table(store, estimates, policy, ranked, full=True)
    comparison = compare(candidates, costs, choice)
    result = Shortlisted(
        standing=standing_of(run, estimates, policy, settings.group_size),
        choice=choice,
        comparison=comparison,
        table=table,
        n_excluded=int((~candidates.eligible).sum()),
        shortlist_id=None,
        files=None,
    )
    return result if choices.dry_run else _written(store, settings, choices, result)


def _eligible(store: Store, pool_id: str, exclude: tuple[str, ...]) -> NDArray[np.bool_] | None:
    if not exclude:
        return None
    with store.reading() as connection:
        rows = own_columns_as_json(connection, pool_id)
    marks = excluded(rows, [parse_exclusion(text) for text in exclude])
    return np.asarray(pc.invert(marks).to_numpy(zero_copy_only=False))


def _written(store: Store, settings: Settings, choices: ShortlistChoices, result: Shortlisted) -> Shortlisted:
    """Write the files, then enter the shortlist into the store."""
    with store.reading() as connection:
        number = next_number(connection)
    name = shortlist_name(number)
    files = _files(choices, name)
    entry = _settings(settings, choices, result, name)
    with landing(files.table, files.annotators, files.manifest) as (table, annotators, manifest):
        write_table(result.table, table)
        write_spreadsheet(result.table, annotators, shortlist_id=name, seed=settings.seed)
        write_manifest(entry, result.table.drop_columns("prompt"), manifest)
        with store.writing() as connection:
            save_shortlist(connection, number, entry, result.table)
    return replace(result, shortlist_id=name, files=files)


def _files(choices: ShortlistChoices, name: str) -> ShortlistFiles:
    table = choices.out or Path(f"{name}.csv")
    files = ShortlistFiles(
        table, table.with_name(table.stem + ".annotators.csv"), table.with_name(table.stem + ".manifest.json")
    )
    there = [path for path in (files.table, files.annotators, files.manifest) if path.exists()]
    if there and not choices.force:
        raise BudgetplanError(
            f"{there[0]} exists, and may hold someone's work.",
            hint="Write elsewhere: --out other.csv, or replace it: --force",
        )
    return files


def _settings(settings: Settings, choices: ShortlistChoices, result: Shortlisted, name: str) -> dict[str, Any]:
    """What was asked for and what came of it: the manifest's head, and the store's record."""
    standing, choice = result.standing, result.choice
    return {
        "shortlist_id": name,
        "budgetplan": version("budgetplan"),
        "policy": choice.policy.value,
        "budget": choice.budget.text,
        "spent": choice.spent,
        "unit": choice.unit,
        "n_items": len(choice.order),
        "n_pool": choice.n_pool,
        "n_excluded": result.n_excluded,
        "exclude": list(choices.exclude),
        "seed": choice.seed,
        "group_size": settings.group_size,
        "n_tied_at_cut": choice.n_tied_at_cut,
        "n_tied_picked": choice.n_tied_picked,
        "tie_rule": choice.tie_rule,
        "solver": {"status": choice.solver.status, "bound": choice.solver.bound, "gap": choice.solver.gap},
        "cost_column": settings.cost_column,
        "cost_unit": settings.cost_unit,
        "cost_per_item": settings.cost_per_item,
        "pool_id": standing.pool.pool_id,
        "pool": standing.pool.source,
        "run_id": standing.run.run_id,
        "probe": {**standing.run.config, "k": standing.run.k, "verifier": standing.run.verdicts_by},
        "prior": {"a": standing.prior.a, "b": standing.prior.b},
    }
