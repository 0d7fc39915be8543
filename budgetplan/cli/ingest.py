"""`budgetplan ingest`."""

from pathlib import Path
from typing import Annotated

import typer

from budgetplan.cli import options as o
from budgetplan.cli.app import app


@app.command(epilog="Example: budgetplan ingest export.json")
def ingest(
    files: Annotated[list[Path], typer.Argument(help="What the annotation tool exported, one or several files.")],
    tool: o.ExportFormat = None,
    annotator: Annotated[
        str | None, typer.Option("--annotator", help="Whose labels these are, where a row does not say.")
    ] = None,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out records that cannot be read, and take the others.")
    ] = False,
    replace_known: Annotated[
        bool, typer.Option("--replace-known", help="Let labels replace known answers that they contradict.")
    ] = False,
    pseudonyms: Annotated[
        bool, typer.Option("--pseudonyms", help="Replace annotators' names, from now on and in what is stored.")
    ] = False,
    db: o.Db = None,
    as_json: o.Json = False,
    log_file: o.LogFile = None,
) -> None:
    """Take labels back, and judge every stored sample by them.

    The same file twice changes nothing; a corrected label replaces its annotator's earlier one, which stays in the
    history.
    """
    from budgetplan.cli.labelling import show_ingest
    from budgetplan.cli.session import opened

    with opened(log_file, db=db) as (project, _):
        report = project.ingest(
            files,
            tool=tool,
            annotator=annotator,
            skip_bad=skip_bad,
            replace_known=replace_known,
            pseudonyms=pseudonyms,
        )
    show_ingest(report, as_json=as_json)
