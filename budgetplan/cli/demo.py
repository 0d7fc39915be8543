"""`budgetplan demo`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from budgetplan.cli import options as o
from budgetplan.cli.app import app
from budgetplan.errors import ConfigError


@app.command(epilog="Example: budgetplan demo --folder try-it")
def demo(
    folder: Annotated[Path, typer.Option("--folder", help="Where its pools, stores and shortlists go.")] = Path(
        "budgetplan-demo"
    ),
    engine: o.Engine = None,
    as_json: o.Json = False,
    log_file: o.LogFile = None,
) -> None:
    """Try it on the embedded example.

    With a small model that comes along, a minute or two on any machine: probe and shortlist 1,000 prompts with known
    answers; then 400 without, which two simulated annotators label.
    """
    from budgetplan.cli.documents import plain, print_json
    from budgetplan.cli.labelling import show_exported, show_ingest
    from budgetplan.cli.ranking import shortlist_document, show_shortlist
    from budgetplan.cli.screens import show_probe
    from budgetplan.cli.session import opened
    from budgetplan.cli.standing import show_status
    from budgetplan.demo.annotators import write_export
    from budgetplan.demo.files import demo_settings, write_demo_pool

    try:
        folder.mkdir(parents=True, exist_ok=True)
        pool = write_demo_pool(folder / "pool.jsonl")
        unanswered = write_demo_pool(folder / "unanswered.jsonl", n=400, seed=1, answers=False)
    except OSError as error:
        raise ConfigError(f"--folder {folder} cannot be written: {error.strerror}.", hint="Name another.") from error
    screen = _Screen(silent=as_json)
    with opened(log_file, db=folder / "demo.duckdb", engine=engine, **demo_settings()) as (project, _):
        screen.say(f"$ budgetplan probe {pool} --db {folder / 'demo.duckdb'}")
        screen.show(show_probe, project.probe(pool))
        screen.say(
            f"$ budgetplan shortlist --budget 10% --out {folder / 'shortlist.csv'} --db {folder / 'demo.duckdb'}"
        )
        chosen = project.shortlist("10%", out=folder / "shortlist.csv", force=True)
        screen.show(show_shortlist, chosen)
    db = folder / "unanswered.duckdb"
    db.unlink(missing_ok=True)  # labels are played through from the start
    with opened(log_file, db=db, engine=engine, **demo_settings()) as (project, _):
        screen.say(f"$ budgetplan probe {unanswered} --db {db}")
        screen.show(show_probe, project.probe(unanswered))
        screen.say(
            f"$ budgetplan shortlist --budget 20% --format label-studio --out {folder / 'to-label.csv'} --db {db}"
        )
        out = project.shortlist("20%", tool="label-studio", out=folder / "to-label.csv", force=True)
        screen.show(show_shortlist, out)
        assert out.files is not None
        export = write_export(out.files.annotators[0], folder / "export.json")
        screen.say(
            f"(two simulated annotators label it; their export is {export})\n$ budgetplan ingest {export} --db {db}"
        )
        ingested = project.ingest([export])
        screen.show(show_ingest, ingested)
        screen.say(f"$ budgetplan status --db {db}")
        status = project.status()
        screen.show(show_status, status)
        screen.say(f"$ budgetplan export --for trl --out {folder / 'train.parquet'} --db {db}")
        exported = project.export("trl", out=folder / "train.parquet", force=True)
        screen.show(show_exported, exported)
    if as_json:
        print_json(
            {
                **shortlist_document(chosen),
                "unanswered": {
                    "shortlist": shortlist_document(out),
                    "ingest": {name: value for name, value in plain(ingested).items() if name != "changes"},
                    "status": plain(status),
                    "export": plain(exported),
                },
            }
        )


@dataclass(frozen=True, slots=True)
class _Screen:
    """The commands that the demo stands for and what each shows, unless a document is asked for."""

    silent: bool

    def say(self, text: str) -> None:
        from budgetplan.cli.terminal import say

        if not self.silent:
            say(f"\n{text}")

    def show(self, shown: Callable[..., None], report: Any) -> None:
        if not self.silent:
            shown(report, as_json=False)
