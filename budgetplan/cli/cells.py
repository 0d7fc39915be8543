"""Cells of tables and tables of them: numbers as text, "–" where a number does not exist.

Invariant: no table is wider than 100 columns, and none loses anything on a narrow terminal.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from budgetplan.cli.terminal import say, stdout_console

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from budgetplan.validation.learnable import Predicted

NONE = "–"
_WIDTH = 100
_SEEDS_SHOWN = 5


def make_table(*names: str, numbers: Sequence[str]) -> "Table":
    """Return an empty table with named columns; those of `numbers` are set to the right."""
    from rich.table import Table

    table = Table(box=None)
    for name in names:
        table.add_column(name, justify="right" if name in numbers else "left", no_wrap=True)
    return table


def styled(text: str, style: str) -> "Text":
    """Return a cell in a style of its own, which only a terminal shows."""
    from rich.text import Text

    return Text.assemble((text, style))  # the text alone, not the space around it


def add_cells(table: "Table", *cells: "str | Text") -> None:
    """Add a row, its text as it is."""
    table.add_row(*(styled(cell, "") if isinstance(cell, str) else cell for cell in cells))


def print_table(title: str, table: "Table") -> None:
    """Print a table at its own width: a narrow terminal may break its lines, but nothing of it is left out."""
    say(f"\n{title}")
    console = stdout_console()
    console.width = _WIDTH
    console.print(table, crop=False)


def predicted_percent(predicted: "Predicted | None") -> str:
    """Write a predicted percentage with its interval."""
    if predicted is None or not math.isfinite(predicted.percent):
        return NONE
    return f"{predicted.percent:.1f} ({predicted.low:.1f} to {predicted.high:.1f})"


def by_seed(gains: Sequence[float]) -> str:
    """Write the points of each seed, or of many their span."""
    known = [value for value in gains if math.isfinite(value)]
    if len(gains) > _SEEDS_SHOWN and known:
        return f"{points(min(known))} to {points(max(known))}"
    return " ".join(map(points, gains)) or NONE


def points(value: float) -> str:
    """Write percentage points with their sign."""
    return f"{round(value, 1) + 0.0:+.1f}" if math.isfinite(value) else NONE  # no -0.0


def interval(low: float, high: float) -> str:
    """Write an interval of points."""
    return f"{points(low)} to {points(high)}" if math.isfinite(low) and math.isfinite(high) else NONE


def percent(value: float) -> str:
    """Write a percentage."""
    return f"{value:.1f}%" if math.isfinite(value) else NONE


def number(value: float, digits: int = 1) -> str:
    """Write a plain number."""
    return f"{value:,.{digits}f}" if math.isfinite(value) else NONE


def probability(value: float) -> str:
    """Write a probability in percent that is never rounded to certainty."""
    if not math.isfinite(value):
        return NONE
    return "> 99%" if value > 0.99 else "< 1%" if value < 0.01 else f"{value:.0%}"


def duration(hours: float) -> str:
    """Write a time in the unit that suits it."""
    if not math.isfinite(hours):
        return NONE
    seconds = 3600 * hours
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{60 * hours:.0f} min" if hours < 1.5 else f"{hours:,.1f} h"


def sentence(text: str) -> str:
    """Write a text with its full stop."""
    return text if text.endswith((".", "!", "?")) else f"{text}."
