"""Names beside the ends of lines.

Invariant: names keep the order of the lines, and no two overlap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FONT_POINTS, _LINE_HEIGHT = 12, 1.3
_NAMES_AT = 1.035  # widths of the frame from its left


@dataclass(frozen=True, slots=True)
class End:
    """The last point of a line, and what is written beside it."""

    text: str
    x: float
    y: float
    colour: str


def write_ends(axes: "Axes", ends: Sequence[End]) -> None:
    """Write each text to the right of the frame, with a thin line from its point where that is not beside it."""
    low, high = axes.get_ylim()
    height_points = 72 * axes.bbox.height / axes.figure.dpi
    heights = np.array([end.y for end in ends])
    places = spread(heights, _FONT_POINTS * _LINE_HEIGHT / height_points * (high - low), low, high)
    for end, place in zip(ends, places, strict=True):
        axes.annotate(
            end.text,
            xy=(end.x, end.y),
            xytext=(_NAMES_AT, place),
            textcoords=axes.get_yaxis_transform(),
            color=end.colour,
            fontsize=_FONT_POINTS,
            fontweight="bold",
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": end.colour,
                "linewidth": 0.8,
                "relpos": (0, 0.5),  # from the middle of the text's left edge, so that it crosses no other text
                "shrinkA": 1,
                "shrinkB": 5,
            },
        )


def spread(heights: NDArray[np.float64], gap: float, low: float, high: float) -> NDArray[np.float64]:
    """Move heights as little as possible (least squares) so that they are `gap` apart, between `low` and `high`.

    Where they do not fit, they stand as far apart as they can.
    """
    from scipy.optimize import isotonic_regression

    if heights.size < 2:
        return heights
    gap = min(gap, (high - low) / (heights.size - 1))
    order = np.argsort(heights, kind="stable")
    offsets = gap * np.arange(heights.size)
    moved = isotonic_regression(heights[order] - offsets).x  # in order and `gap` apart: rising once offsets are out
    placed = np.empty_like(heights)
    placed[order] = np.clip(moved, low, high - offsets[-1]) + offsets
    return placed
