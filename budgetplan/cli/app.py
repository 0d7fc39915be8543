"""The command line as a whole: which commands there are, and what becomes of errors (the exit codes)."""

import json
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from budgetplan.errors import BudgetplanError, Interrupted

DONE, FIXABLE, USAGE, INCOMPLETE, INTERRUPTED = 0, 1, 2, 3, 130
JOURNEY = (
    *("demo", "probe", "import-samples", "rank", "shortlist", "ingest", "validate", "export"),
    *("verify", "recall", "forget", "status", "config"),
)


class Commands(TyperGroup):
    """The group of commands, in the order of the user's journey; turns what they raise into messages and exit codes."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Name the commands in order."""
        return sorted(super().list_commands(ctx), key=JOURNEY.index)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except BudgetplanError as error:
            _show(error)
            raise typer.Exit(INTERRUPTED if isinstance(error, Interrupted) else FIXABLE) from error
        except KeyboardInterrupt as stop:
            typer.echo("interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from stop


def _show(error: BudgetplanError) -> None:
    from budgetplan.cli.terminal import show_error

    if "--json" in sys.argv:
        typer.echo(json.dumps({"error": {"message": error.message, "hint": error.hint}}))
    show_error(error)


app = typer.Typer(
    name="budgetplan",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: rich's takes twice as long to print
    pretty_exceptions_enable=False,
    epilog="Start: budgetplan demo, or budgetplan probe pool.jsonl",
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"budgetplan {version('budgetplan')}")
        raise typer.Exit


@app.callback()
def budgetplan(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it and end.")
    ] = False,
) -> None:
    """Which prompts to pay labels for: probe a model on your pool, rank the prompts, shortlist what the budget buys."""
