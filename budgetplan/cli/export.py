"""`budgetplan export`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from budgetplan.cli import options as o
from budgetplan.cli.app import app


@app.command(epilog="Example: budgetplan export --for trl")
def export(
    target: Annotated[
        Literal["trl", "verl", "open-instruct", "datasets"],
        typer.Option("--for", help="The training framework, or a folder that the package datasets reads."),
    ],
    shortlist: Annotated[
        str | None, typer.Option("--shortlist", help="One shortlist's items. [default: everything labelled]")
    ] = None,
    without_audit: Annotated[bool, typer.Option("--without-audit", help="Leave the audit slice out.")] = False,
    with_known: Annotated[
        bool, typer.Option("--with-known", help="Add every item whose answer was known beforehand.")
    ] = False,
    run: o.Run = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file or folder.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    db: o.Db = None,
    as_json: o.Json = False,
    log_file: o.LogFile = None,
) -> None:
    """Write the labelled training set.

    Prompts as the probe asked them, answers, where each came from, and your own columns.
    """
    from budgetplan.cli.labelling import show_exported
    from budgetplan.cli.session import opened

    with opened(log_file, db=db) as (project, _):
        exported = project.export(
            target,
            run=run,
            out=out,
            shortlist=shortlist,
            without_audit=without_audit,
            with_known=with_known,
            force=force,
        )
    show_exported(exported, as_json=as_json)
