"""`budgetplan shortlist`."""

from pathlib import Path
from typing import Annotated

import typer

from budgetplan.cli import options as o
from budgetplan.cli.app import app


@app.command(epilog="Example: budgetplan shortlist --budget 10% --format label-studio")
def shortlist(
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            "-b",
            help="10% of the pool, 500 (items), 40h, 2000usd or '$2000' (quoted). [default: what is left]",
        ),
    ] = None,
    policy: o.Policy = None,
    run: o.Run = None,
    exclude: o.Exclude = None,
    quota: Annotated[
        list[str] | None,
        typer.Option(
            "--quota", help="Bounds for a value of a column of yours among the picks: topic=algebra:20%..40% or :5.."
        ),
    ] = None,
    must: Annotated[
        Path | None, typer.Option("--must", help="File of ids, one per line, to buy first whatever the policy says.")
    ] = None,
    never: Annotated[Path | None, typer.Option("--never", help="File of ids, one per line, to keep out.")] = None,
    cost_column: o.CostColumn = None,
    cost_unit: o.CostUnit = None,
    cost_per_item: o.CostPerItem = None,
    audit: Annotated[
        str | None,
        typer.Option(
            "--audit",
            help="Items drawn at random from the whole pool, paid from the budget: 30, 10% or 0. "
            "[default: some if the pool has no answers]",
        ),
    ] = None,
    batch: Annotated[
        str | None,
        typer.Option(
            "--batch",
            help="Share of the budget to spend at once. [default: a third while no answer is known, else 100%]",
        ),
    ] = None,
    single_pass: o.SinglePass = False,
    tool: o.ToolFormat = "spreadsheet",
    show_model_answer: Annotated[
        bool, typer.Option("--show-model-answer", help="Show annotators the model's answer; it biases their labels.")
    ] = False,
    disagreements: Annotated[
        bool, typer.Option("--disagreements", help="Instead: the items on which annotators differ, for another look.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The table: .csv, .jsonl or .parquet. [default: sl-NNNN.csv]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be bought; write nothing.")] = False,
    group_size: o.GroupSize = None,
    passes_per_item: o.PassesPerItem = None,
    seed: o.Seed = None,
    db: o.Db = None,
    as_json: o.Json = False,
    log_file: o.LogFile = None,
) -> None:
    """Choose the items that the budget buys.

    Writes a table for you (rank, p̂, cost) and blind, shuffled files for the annotators' tool.
    Items that are bought or out for annotation are not chosen again.
    """
    from budgetplan.cli.labelling import show_looked_again
    from budgetplan.cli.session import opened
    from budgetplan.cli.shortlisted import show_shortlist

    if disagreements and any(
        (budget, audit, batch, single_pass, exclude, quota, must, never, run, dry_run, show_model_answer)
    ):
        raise typer.BadParameter(
            "--disagreements goes with --format, --out and --force alone. "
            "To see them and write nothing: budgetplan status --disagreements"
        )
    with opened(
        log_file,
        db=db,
        policy=policy,
        group_size=group_size,
        passes_per_item=passes_per_item,
        seed=seed,
        cost_column=cost_column,
        cost_unit=cost_unit,
        cost_per_item=cost_per_item,
    ) as (project, _):
        if disagreements:
            show_looked_again(project.look_again(tool=tool, out=out, force=force), as_json=as_json)
            return
        shortlisted = project.shortlist(
            budget,
            run=run,
            exclude=exclude or (),
            quota=quota or (),
            must=must,
            never=never,
            audit=audit,
            batch=batch,
            single_pass=single_pass,
            tool=tool,
            show_model_answer=show_model_answer,
            out=out,
            force=force,
            dry_run=dry_run,
        )
    show_shortlist(shortlisted, as_json=as_json)
