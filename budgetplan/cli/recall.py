"""`budgetplan recall`."""

from typing import Annotated

import typer

from budgetplan.cli import options as o
from budgetplan.cli.app import app


@app.command(epilog="Example: budgetplan recall sl-0001")
def recall(
    shortlist: Annotated[str, typer.Argument(help="The shortlist, as status names it.")],
    items: Annotated[
        list[str] | None, typer.Argument(help="Item ids (bp-…). [default: all that have no label]")
    ] = None,
    db: o.Db = None,
    as_json: o.Json = False,
    log_file: o.LogFile = None,
) -> None:
    """Take items back from the annotators.

    They can be chosen again, and what they were to cost is free.
    """
    from budgetplan.cli.labelling import show_recalled
    from budgetplan.cli.session import opened

    with opened(log_file, db=db) as (project, _):
        recalled = project.recall(shortlist, items or ())
    show_recalled(recalled, as_json=as_json)
