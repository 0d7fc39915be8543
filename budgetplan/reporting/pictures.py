"""How a figure becomes files.

Invariant: the same figure gives the same bytes, and a file is there whole or not at all. Nothing of matplotlib's global
state is left changed.
"""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from budgetplan.errors import BudgetplanError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOTS_PER_INCH = 160
_STYLE = {
    "font.family": "DejaVu Sans",  # matplotlib brings it along, so that every machine draws the same letters
    "font.size": 13,
    "text.usetex": False,
    "text.parse_math": False,  # a name with dollar signs is a name
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",  # text stays text: searchable, and readable by screen readers
    "svg.hashsalt": "budgetplan",
}
_TITLE_POINTS, _TITLE_LETTERS, _SMALLEST_POINTS = 14, 64, 8  # letters that fit into 8 inches at that size
_NOTE_POINTS = 8
_NO_DATES = {"png": {"Software": None}, "svg": {"Date": None}}


@contextmanager
def drawing(width_inches: float, height_inches: float) -> "Iterator[Figure]":
    """Hand out an empty figure in the house style, whatever the user's matplotlibrc says; save it inside."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield Figure(figsize=(width_inches, height_inches))


def write_title(figure: "Figure", title: str) -> None:
    """Write the title at the top left, smaller where it is too long for the figure."""
    size = max(_TITLE_POINTS * min(1.0, _TITLE_LETTERS / max(len(title), 1)), _SMALLEST_POINTS)
    figure.suptitle(title, x=0.02, y=0.975, ha="left", fontsize=size)


def write_note(figure: "Figure", text: str) -> None:
    """Write a small note into the lower left corner."""
    figure.text(0.02, 0.01, text, ha="left", va="bottom", fontsize=_NOTE_POINTS, color="#555555")


def save(figure: "Figure", path_without_suffix: Path) -> list[Path]:
    """Write PNG and SVG, each replaced in one step, and return their paths.

    Raises BudgetplanError where a file cannot be written.
    """
    paths = [path_without_suffix.with_name(f"{path_without_suffix.name}.{form}") for form in _NO_DATES]
    for path, (form, metadata) in zip(paths, _NO_DATES.items(), strict=True):
        partial = path.with_name(f".{secrets.token_hex(4)}-{path.name}")
        try:
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
            figure.savefig(partial, format=form, dpi=DOTS_PER_INCH, metadata=metadata)
            partial.replace(path)
        except OSError as cause:
            raise _cannot_write(path, cause) from cause
        finally:
            with suppress(OSError):
                partial.unlink()
    return paths


def _cannot_write(path: Path, cause: OSError) -> BudgetplanError:
    there = path.parent.is_dir()
    hint = f"Free some space, or make {path.parent} writable." if there else f"Make the folder: mkdir -p {path.parent}"
    return BudgetplanError(f"cannot write {path}: {cause.strerror or cause}.", hint=hint)
