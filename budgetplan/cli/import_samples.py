"""`budgetplan import-samples`."""

from typing import Annotated

import typer

from budgetplan.cli import options as o
from budgetplan.cli.app import app


@app.command("import-samples", epilog="Example: budgetplan import-samples rollouts.jsonl --model qwen3-4b")
def import_samples(
    files: Annotated[list[str], typer.Argument(help='Rows {"id", "prompt", "answer"?, "completions": […]}.')],
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Whose samples these are. [default: as the rows or the file say]"),
    ] = None,
    verifier: o.Verifier = None,
    prompt_field: o.PromptField = None,
    answer_field: o.AnswerField = None,
    id_field: o.IdField = None,
    completions_field: o.CompletionsField = None,
    conflicts: o.Conflicts = None,
    role: o.Role = "base",
    db: o.Db = None,
    as_json: o.Json = False,
    log_file: o.LogFile = None,
) -> None:
    """Take completions sampled elsewhere.

    The same path as probe, without a model. The same rows twice add nothing.
    With --role reference rows may bring one answer each ("answer": "42"), and none is taken as known.
    """
    from budgetplan.cli.screens import show_import
    from budgetplan.cli.session import opened

    with opened(
        log_file,
        db=db,
        model=model or "",
        verifier=verifier,
        prompt_field=prompt_field,
        answer_field=answer_field,
        id_field=id_field,
        completions_field=completions_field,
    ) as (project, _):
        report = project.import_samples(files, conflicts=conflicts, role=role)
    show_import(report, as_json=as_json)
