"""`budgetplan verify`."""

from budgetplan.cli import options as o
from budgetplan.cli.app import app


@app.command(epilog="Example: budgetplan verify --verifier my_verifier.py:close_enough")
def verify(
    verifier: o.Verifier = None,
    run: o.Run = None,
    db: o.Db = None,
    as_json: o.Json = False,
    log_file: o.LogFile = None,
) -> None:
    """Judge stored completions again.

    With another verifier, or a newer version of it; nothing is sampled.
    """
    from budgetplan.cli.screens import show_verified
    from budgetplan.cli.session import opened

    with opened(log_file, db=db, verifier=verifier) as (project, _):
        report = project.verify(run=run)
    show_verified(report, as_json=as_json)
