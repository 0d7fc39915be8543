"""`budgetplan shortlist`."""

from pathlib import Path
from typing import Annotated

import typer

from budgetplan.cli import options as o
from budgetplan.cli.app import app


@app.command(epilog="Example: budgetplan shortlist --budget 10%")
def shortlist(
    budget: Annotated[
        str, typer.Option("--budget", "-b", help="10% of the pool, 500 (items), 40h, 2000usd or '$2000' (quoted).")
    ],
    policy: o.Policy = None,
    run: o.Run = None,
    exclude: o.Exclude = None,
    cost_column: o.CostColumn = None,
    cost_unit: o.CostUnit = None,
    cost_per_item: o.CostPerItem = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The table: .csv, .jsonl or .parquet. [default: sl-NNNN.csv]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be bought; write nothing.")] = False,
    group_size: o.GroupSize = None,
    seed: o.Seed = None,
    db: o.Db = None,
    as_json: o.Json = False,
    log_file: o.LogFile = None,
) -> None:
    """Choose the items that the budget buys.

    Writes a table for you (rank, p̂, cost) and a blind, shuffled sheet for the annotators.
    """
    from budgetplan.cli.ranking import show_shortlist
    from budgetplan.cli.session import opened

    with opened(
        log_file,
        db=db,
        policy=policy,
        group_size=group_size,
        seed=seed,
        cost_column=cost_column,
        cost_unit=cost_unit,
        cost_per_item=cost_per_item,
    ) as (project, _):
        shortlisted = project.shortlist(budget, run=run, exclude=exclude or (), out=out, force=force, dry_run=dry_run)
    show_shortlist(shortlisted, as_json=as_json)
