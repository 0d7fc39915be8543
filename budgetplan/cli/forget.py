"""`budgetplan forget`."""

from typing import Annotated

import typer

from budgetplan.cli import options as o
from budgetplan.cli.app import app


@app.command(epilog="Example: budgetplan forget ana@example.org")
def forget(
    annotator: Annotated[str, typer.Argument(help="The annotator, as status names them, or their name.")],
    db: o.Db = None,
    as_json: o.Json = False,
    log_file: o.LogFile = None,
) -> None:
    """Remove one annotator's records.

    Their labels and raw records are deleted and stay out of later ingests; the items are decided again without them.
    """
    from budgetplan.cli.labelling import show_forgotten
    from budgetplan.cli.session import opened

    with opened(log_file, db=db) as (project, _):
        forgotten = project.forget(annotator)
    show_forgotten(forgotten, as_json=as_json)
