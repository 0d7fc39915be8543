"""A folder for `datasets.load_from_disk`, with the columns of TRL's format.

Invariant: the folder is there whole or not at all, and nothing is replaced but another saved dataset.
"""

import secrets
import shutil
from pathlib import Path

import pyarrow as pa

from budgetplan.errors import BudgetplanError
from budgetplan.exporting.trl import conversational


def write(rows: pa.Table, path: Path) -> None:
    """Save the rows to a fresh folder beside `path`, then give it the name.

    Unlike the other formats this takes the final path. Raises BudgetplanError where something else stands there, or
    nothing can be written.
    """
    if path.exists() and not (path / "state.json").is_file():
        raise BudgetplanError(f"{path} exists and is no saved dataset.", hint="Write elsewhere: --out OTHER_FOLDER")
    if not path.absolute().parent.is_dir():
        raise BudgetplanError(
            f"cannot write {path}: its folder does not exist.", hint=f"Make it: mkdir -p {path.absolute().parent}"
        )
    fresh, old = _beside(path), _beside(path)
    try:
        _save(conversational(rows), fresh)
        if path.exists():
            path.rename(old)
        fresh.rename(path)
    except OSError as cause:
        raise BudgetplanError(
            f"cannot write {path}: {cause.strerror or cause}.", hint="Free some space, or write elsewhere: --out FOLDER"
        ) from cause
    finally:
        if old.exists() and not path.exists():
            old.rename(path)
        for leftover in (fresh, old):
            shutil.rmtree(leftover, ignore_errors=True)


def _beside(path: Path) -> Path:
    return path.parent / f".{secrets.token_hex(4)}-{path.name}"


def _save(table: pa.Table, folder: Path) -> None:
    try:
        import datasets
    except ImportError as error:
        raise BudgetplanError(
            "saving a dataset folder needs the package `datasets`.", hint="pip install 'budgetplan[train]'"
        ) from error
    quiet = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        datasets.Dataset(table).save_to_disk(str(folder))
    finally:
        if not quiet:
            datasets.enable_progress_bars()
