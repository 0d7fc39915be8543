"""`budgetplan rank`."""

from pathlib import Path
from typing import Annotated

import typer

from budgetplan.cli import options as o
from budgetplan.cli.app import app


@app.command(epilog="Example: budgetplan rank --out ranking.parquet")
def rank(
    policy: o.Policy = None,
    run: o.Run = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write every item: .jsonl, .csv or .parquet.")] = None,
    top: Annotated[int, typer.Option("--top", min=0, help="Rows to show.")] = 10,
    group_size: o.GroupSize = None,
    passes_per_item: o.PassesPerItem = None,
    single_pass: o.SinglePass = False,
    seed: o.Seed = None,
    db: o.Db = None,
    as_json: o.Json = False,
    log_file: o.LogFile = None,
) -> None:
    """Rank the pool by difficulty for the model.

    Shows the share of correct samples (p̂), its 90 % interval, and the chance of a mixed GRPO group (learnable).
    Items without a known answer are placed by signals from their samples, and by what labels taught about these.
    """
    from budgetplan.cli.ranking import show_ranking
    from budgetplan.cli.session import opened

    with opened(log_file, db=db, policy=policy, group_size=group_size, passes_per_item=passes_per_item, seed=seed) as (
        project,
        _,
    ):
        ranking = project.rank(run=run, out=out, single_pass=single_pass)
    show_ranking(ranking, top=top, as_json=as_json)
