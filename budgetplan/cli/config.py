"""`budgetplan config`."""

from budgetplan.cli import options as o
from budgetplan.cli.app import app


@app.command(epilog="Example: BUDGETPLAN_MODEL=phi-4 budgetplan config")
def config(db: o.Db = None, as_json: o.Json = False, log_file: o.LogFile = None) -> None:
    """Show every setting and its origin.

    A value comes from a flag, the environment, budgetplan.toml or the default, in this order.
    """
    from budgetplan.cli.screens import show_config
    from budgetplan.cli.session import opened

    with opened(log_file, db=db) as (project, _):
        show_config(project.resolved, as_json=as_json)
