"""`budgetplan status`."""

from typing import Annotated

import typer

from budgetplan.cli import options as o
from budgetplan.cli.app import app


@app.command(epilog="Example: budgetplan status --disagreements")
def status(
    disagreements: Annotated[
        bool, typer.Option("--disagreements", help="Only the items on which annotators differ, and who said what.")
    ] = False,
    db: o.Db = None,
    as_json: o.Json = False,
    log_file: o.LogFile = None,
) -> None:
    """Show where things stand.

    Probe runs, samples by outcome, shortlists, labels and annotators, what was planned and spent.
    """
    from budgetplan.cli.labelling import show_disagreements
    from budgetplan.cli.session import opened
    from budgetplan.cli.standing import show_status

    with opened(log_file, db=db) as (project, _):
        if disagreements:
            show_disagreements(project.disagreements(), as_json=as_json)
            return
        report = project.status()
    show_status(report, as_json=as_json)
