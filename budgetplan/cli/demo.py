"""`budgetplan demo`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from budgetplan.cli import options as o
from budgetplan.cli.app import app
from budgetplan.errors import ConfigError

if TYPE_CHECKING:
    from budgetplan.project import Project
    from budgetplan.steps.shortlist import Shortlisted


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
    from budgetplan.cli.documents import print_json
    from budgetplan.cli.ranking import shortlist_document
    from budgetplan.cli.session import opened
    from budgetplan.demo.files import demo_settings

    screen, settings = _Screen(silent=as_json), {"engine": engine, **demo_settings()}
    with opened(log_file, db=_fresh(folder, "demo.duckdb"), **settings) as (project, _):
        chosen = _with_answers(project, folder, screen)
    with opened(log_file, db=_fresh(folder, "unanswered.duckdb"), **settings) as (project, _):
        labelled = _without_answers(project, folder, screen)
    if as_json:
        print_json({**shortlist_document(chosen), "unanswered": labelled})


def _fresh(folder: Path, name: str) -> Path:
    """A store that is not there yet: the demo is played from the start, every time."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"--folder {folder} cannot be written: {error.strerror}.", hint="Name another.") from error
    return folder / name


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


def _with_answers(project: "Project", folder: Path, screen: _Screen) -> "Shortlisted":
    """The paper's setting: every answer is known beforehand."""
    from budgetplan.cli.ranking import show_shortlist
    from budgetplan.cli.screens import show_probe
    from budgetplan.demo.files import write_demo_pool

    pool, table, db = write_demo_pool(folder / "pool.jsonl"), folder / "shortlist.csv", project.settings.db
    screen.say(f"$ budgetplan probe {pool} --db {db}")
    screen.show(show_probe, project.probe(pool))
    screen.say(f"$ budgetplan shortlist --budget 10% --out {table} --db {db}")
    chosen = project.shortlist("10%", out=table, force=True)
    screen.show(show_shortlist, chosen)
    return chosen


def _without_answers(project: "Project", folder: Path, screen: _Screen) -> dict[str, Any]:
    """The user's setting: answers are what is bought; returns the reports for a document."""
    from budgetplan.cli.documents import plain
    from budgetplan.cli.labelling import show_exported, show_ingest
    from budgetplan.cli.ranking import shortlist_document, show_shortlist
    from budgetplan.cli.screens import show_probe
    from budgetplan.cli.standing import show_status
    from budgetplan.demo.annotators import write_export
    from budgetplan.demo.files import write_demo_pool

    pool = write_demo_pool(folder / "unanswered.jsonl", n=400, seed=1, answers=False)
    table, train, db = folder / "to-label.csv", folder / "train.parquet", project.settings.db
    screen.say(f"$ budgetplan probe {pool} --db {db}")
    screen.show(show_probe, project.probe(pool))
    screen.say(f"$ budgetplan shortlist --budget 20% --format label-studio --out {table} --db {db}")
    chosen = project.shortlist("20%", tool="label-studio", out=table, force=True)
    screen.show(show_shortlist, chosen)
    assert chosen.files is not None
    export = write_export(chosen.files.annotators[0], folder / "export.json")
    screen.say(f"(two simulated annotators label it; their export is {export})\n$ budgetplan ingest {export} --db {db}")
    ingested = project.ingest([export])
    screen.show(show_ingest, ingested)
    screen.say(f"$ budgetplan status --db {db}")
    status = project.status()
    screen.show(show_status, status)
    screen.say(f"$ budgetplan export --for trl --out {train} --db {db}")
    exported = project.export("trl", out=train, force=True)
    screen.show(show_exported, exported)
    return {
        "shortlist": shortlist_document(chosen),
        "ingest": {name: value for name, value in plain(ingested).items() if name != "changes"},
        "status": plain(status),
        "export": plain(exported),
    }
