"""Writing a shortlist: the table for the user, the annotators' files for their tool, the manifest, the store's entry.

Invariant: no file takes its place unless the entry is in the store; a number is given once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from budgetplan.annotation.landing import landing
from budgetplan.annotation.manifest import write_manifest
from budgetplan.annotation.tables import check_suffix, write_table
from budgetplan.annotation.tasks import blind
from budgetplan.annotation.tools.detection import TOOLS
from budgetplan.errors import BudgetplanError, ConfigError
from budgetplan.store.connection import Store
from budgetplan.store.shortlists import next_number, save_shortlist, shortlist_name


@dataclass(frozen=True, slots=True)
class FileChoices:
    """Where and for which annotation tool a shortlist is written; the model's answer is shown only if asked for."""

    out: Path | None = None
    tool: str = "spreadsheet"
    force: bool = False
    show_model_answer: bool = False


@dataclass(frozen=True, slots=True)
class ShortlistFiles:
    """Where a shortlist was written: the table, the annotators' files and how to open them, the manifest."""

    table: Path
    annotators: tuple[Path, ...]
    manifest: Path
    how_to_open: str


class Writing(NamedTuple):
    """A shortlist that is being written: the store's transaction, its name and its files."""

    connection: duckdb.DuckDBPyConnection
    name: str
    files: ShortlistFiles


def check_files(choices: FileChoices) -> None:
    """Raise ConfigError for a table or a tool that is not known, before the work is done."""
    if choices.out:
        check_suffix(choices.out)
    if choices.tool not in TOOLS:
        raise ConfigError(f"--format: there is no format {choices.tool!r}.", hint=f"Formats: {', '.join(TOOLS)}.")


@contextmanager
def write_shortlist(
    store: Store, choices: FileChoices, entry: dict[str, Any], table: pa.Table, seed: int
) -> Iterator[Writing]:
    """Write the files and the store's entry; all of it takes its place when the `with` block ends well."""
    with store.reading() as connection:
        number = next_number(connection)
    name = shortlist_name(number)
    files = _files(choices, name)
    entry = {"shortlist_id": name, **entry}
    for folder in {path.parent for path in files.annotators} - {files.table.parent, files.table.parent.parent}:
        _make(folder, files.table.parent)
    with landing(files.table, files.manifest, *files.annotators) as (own, manifest, *annotators):
        write_table(table, own)
        TOOLS[choices.tool].write_tasks(blind(table, seed), annotators, shortlist_id=name)
        write_manifest(entry, table.drop_columns("prompt"), manifest)
        with store.writing() as connection:
            save_shortlist(connection, number, entry, table)
            yield Writing(connection, name, files)


def _make(folder: Path, inside: Path) -> None:
    """Make a tool's own folder (Argilla's), but none that the user named wrongly."""
    if inside.is_dir():
        folder.mkdir(parents=True, exist_ok=True)


def _files(choices: FileChoices, name: str) -> ShortlistFiles:
    table, tool = choices.out or Path(f"{name}.csv"), TOOLS[choices.tool]
    annotators = tool.task_files(table.with_suffix(""))
    files = ShortlistFiles(
        table, annotators, table.with_name(table.stem + ".manifest.json"), tool.HOW_TO_OPEN.format(file=annotators[0])
    )
    there = [path for path in (files.table, *annotators, files.manifest) if path.exists()]
    if there and not choices.force:
        raise BudgetplanError(
            f"{there[0]} exists, and may hold someone's work.",
            hint="Write elsewhere: --out other.csv, or replace it: --force",
        )
    return files
