"""`budgetplan demo`."""

from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from budgetplan.cli import options as o
from budgetplan.cli.app import app
from budgetplan.errors import ConfigError

if TYPE_CHECKING:
    from budgetplan.cli.demo_play import Play
    from budgetplan.demo.validations import Length


@app.command(epilog="Example: budgetplan demo --no-answers --folder try-it")
def demo(
    folder: Annotated[Path, typer.Option("--folder", help="Where its pools, stores and shortlists go.")] = Path(
        "budgetplan-demo"
    ),
    no_answers: Annotated[
        bool,
        typer.Option(
            "--no-answers", help="Instead: label in two batches, and see how good the ranking was before and after."
        ),
    ] = False,
    validation: Annotated[
        Literal["short", "long", "none"],
        typer.Option("--validation", help="How it ends: two arms and seeds, or five arms and three seeds."),
    ] = "short",
    engine: o.Engine = None,
    as_json: o.Json = False,
    log_file: o.LogFile = None,
) -> None:
    """Try it on the embedded example.

    With a small model that comes along, some minutes on any machine: probe and shortlist 1,000 prompts with known
    answers; then 400 without, which two simulated annotators label; then train on the hardest and on random prompts, to
    see whether the choice was right.
    With --no-answers only the labelling, in two batches, and in the end every ranking beside the truth.
    """
    from budgetplan.cli.demo_no_answers import JudgingStores, play_without_answers
    from budgetplan.cli.demo_play import Play
    from budgetplan.cli.documents import print_json
    from budgetplan.cli.session import opened
    from budgetplan.demo.files import demo_settings

    settings = {"engine": engine, **demo_settings()}
    unanswered = _fresh(folder, "unanswered.duckdb")
    if no_answers:
        stores = JudgingStores(same=_fresh(folder, "answered.duckdb"), others=_fresh(folder, "truth.duckdb"))
        with opened(log_file, db=unanswered, **settings) as (project, _):
            document = play_without_answers(Play(project, folder, as_json), stores, settings)
    else:
        with opened(log_file, db=_fresh(folder, "demo.duckdb"), **settings) as (project, _):
            document = _with_answers(Play(project, folder, as_json))
        with opened(log_file, db=unanswered, **settings) as (project, _):
            document["unanswered"] = _without_answers(Play(project, folder, as_json))
        if validation != "none":
            with opened(log_file, db=folder / "demo.duckdb", **settings) as (project, _):
                document["validation"] = _validation(Play(project, folder, as_json), validation)
    if as_json:
        print_json(document)


def _fresh(folder: Path, name: str) -> Path:
    """A store that is not there yet: the demo is played from the start, every time."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for stale in (name, f"{name}.wal"):
            (folder / stale).unlink(missing_ok=True)
        rmtree(folder / f"{name}.validation", ignore_errors=True)
    except OSError as error:
        raise ConfigError(f"--folder {folder} cannot be written: {error.strerror}.", hint="Name another.") from error
    return folder / name


def _with_answers(play: "Play") -> dict[str, Any]:
    """The paper's setting: every answer is known beforehand; returns the report as a document."""
    from budgetplan.cli.shortlisted import shortlist_document
    from budgetplan.demo.files import write_demo_pool

    play.probe(write_demo_pool(play.folder / "pool.jsonl"))
    return shortlist_document(play.shortlist("shortlist.csv", "10%"))


def _validation(play: "Play", length: "Length") -> dict[str, Any] | None:
    """Whether the choice was right; None, said aloud, where what trains is not installed."""
    from budgetplan.cli.validated import validation_document
    from budgetplan.demo.files import write_demo_test
    from budgetplan.demo.validations import DEMO_VALIDATIONS
    from budgetplan.steps.validation_choices import not_installed

    if missing := not_installed():
        play.say(f"\nTo validate as well, install {', '.join(missing)}: pip install 'budgetplan[train]'")
        return None
    test = write_demo_test(play.folder / "test.jsonl")
    return validation_document(play.validate(test, DEMO_VALIDATIONS[length]))


def _without_answers(play: "Play") -> dict[str, Any]:
    """The user's setting: answers are what is bought, here all at once; returns the reports for a document."""
    from budgetplan.cli.demo_play import ingest_document
    from budgetplan.cli.documents import plain
    from budgetplan.cli.shortlisted import shortlist_document
    from budgetplan.demo.files import write_unanswered_pool

    play.probe(write_unanswered_pool(play.folder / "unanswered.jsonl"))
    chosen = play.shortlist("to-label.csv", "20%", batch="100%", tool="label-studio")
    return {
        "shortlist": shortlist_document(chosen),
        "ingest": ingest_document(play.label(chosen, "export.json")),
        "status": plain(play.status()),
        "export": plain(play.export("train.parquet")),
    }
