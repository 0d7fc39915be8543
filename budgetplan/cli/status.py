"""`budgetplan status`."""

from budgetplan.cli import options as o
from budgetplan.cli.app import app


@app.command(epilog="Example: budgetplan status --db budgetplan.duckdb")
def status(db: o.Db = None, as_json: o.Json = False, log_file: o.LogFile = None) -> None:
    """Show where things stand.

    Probe runs, samples by outcome, shortlists.
    """
    from budgetplan.cli.screens import show_status
    from budgetplan.cli.session import opened

    with opened(log_file, db=db) as (project, _):
        report = project.status()
    show_status(report, as_json=as_json)
