"""`budgetplan demo`."""

from pathlib import Path
from typing import Annotated

import typer

from budgetplan.cli import options as o
from budgetplan.cli.app import app
from budgetplan.errors import ConfigError


@app.command(epilog="Example: budgetplan demo --folder try-it")
def demo(
    folder: Annotated[Path, typer.Option("--folder", help="Where its pool, store and shortlist go.")] = Path(
        "budgetplan-demo"
    ),
    engine: o.Engine = None,
    as_json: o.Json = False,
    log_file: o.LogFile = None,
) -> None:
    """Try it on the embedded example.

    Probe and shortlist with a small model and 1,000 prompts that come along: a minute or two, on any machine.
    """
    from budgetplan.cli.ranking import show_shortlist
    from budgetplan.cli.screens import show_probe
    from budgetplan.cli.session import opened
    from budgetplan.cli.terminal import say
    from budgetplan.demo.files import demo_settings, write_demo_pool

    try:
        folder.mkdir(parents=True, exist_ok=True)
        pool = write_demo_pool(folder / "pool.jsonl")
    except OSError as error:
        raise ConfigError(f"--folder {folder} cannot be written: {error.strerror}.", hint="Name another.") from error
    with opened(log_file, db=folder / "demo.duckdb", engine=engine, **demo_settings()) as (project, _):
        if not as_json:
            say(f"$ budgetplan probe {pool}")
        report = project.probe(pool)
        if not as_json:
            show_probe(report, as_json=False)
            say("\n$ budgetplan shortlist --budget 10%")
        shortlisted = project.shortlist("10%", out=folder / "shortlist.csv", force=True)
    show_shortlist(shortlisted, as_json=as_json)
