"""The picture of Figure 3 of the paper: learnable % of each training against what it gained.

Invariant: a colour is an arm, a marker is a model; the fit that is drawn is the one whose R² is written beside it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from budgetplan.errors import counted
from budgetplan.reporting.palette import LOOKS, look, model_markers
from budgetplan.reporting.pictures import drawing, save, write_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_WIDTH_INCHES, _HEIGHT_INCHES = 8.0, 5.4
_FRAME = {
    "left": 0.1,
    "right": 0.7,
    "bottom": 0.13,
    "top": 0.91,
}  # shares of the figure; the legends stand to its right
_LONGEST_NAME = 22  # letters of a model that fit into the legend


@dataclass(frozen=True, slots=True)
class Point:
    """One training: learnable % observed, and the gain over the base in percentage points."""

    model: str
    arm: str
    learnable: float
    gain: float


def draw_scatter(points: Sequence[Point], r_squared: float, path_without_suffix: Path, *, title: str) -> list[Path]:
    """Draw learnable % against gain as PNG and SVG, and return their paths.

    Points with a nan are left out; where `r_squared` is nan, no line is drawn.
    """
    known = [point for point in points if np.isfinite([point.learnable, point.gain]).all()]
    with drawing(_WIDTH_INCHES, _HEIGHT_INCHES) as figure:
        figure.subplots_adjust(**_FRAME)
        axes = figure.add_subplot()
        write_title(figure, title)
        axes.set_xlabel("learnable %, observed (groups with mixed rewards)", fontsize=12)
        axes.set_ylabel("gain over the base, points")
        axes.grid(color="#EEEEEE", linewidth=0.8)
        axes.axhline(0, color="#999999", linewidth=1)
        markers = model_markers(point.model for point in known)
        for point in known:
            _draw_point(axes, point, markers[point.model])
        _draw_fit(axes, known, r_squared)
        _draw_legends(axes, {point.arm for point in known}, markers)
        return save(figure, path_without_suffix)


def _draw_point(axes: "Axes", point: Point, marker: str) -> None:
    axes.plot(
        point.learnable,
        point.gain,
        marker=marker,
        color=look(point.arm).colour,
        markersize=10,
        markeredgecolor="white",
        markeredgewidth=0.7,
        alpha=0.9,
        zorder=3,
    )


def _draw_fit(axes: "Axes", points: Sequence[Point], r_squared: float) -> None:
    """Draw the least-squares line over the span of the points, and write R² above them."""
    x, y = np.array([[point.learnable, point.gain] for point in points]).reshape(-1, 2).T
    if np.isfinite(r_squared) and x.size > 1 and np.ptp(x) > 0:
        slope, intercept = np.polyfit(x, y, 1)
        ends = np.array([x.min(), x.max()])
        axes.plot(ends, intercept + slope * ends, color="#444444", linewidth=1.5, linestyle="--", zorder=2)
    fit = f"R² = {r_squared:.2f}" if np.isfinite(r_squared) else "R² = –"
    text = f"{fit}, {counted(x.size, 'training')}"
    axes.text(1.0, 1.01, text, transform=axes.transAxes, ha="right", va="bottom", fontweight="bold")


def _draw_legends(axes: "Axes", arms: set[str], markers: dict[str, str]) -> None:
    ordered = sorted(arms, key=lambda arm: (list(LOOKS).index(arm) if arm in LOOKS else len(LOOKS), arm))
    by_arm = [_key(arm, "o", look(arm).colour) for arm in ordered]
    by_model = [_key(_fitting(model), marker, "#444444") for model, marker in markers.items()]
    _draw_legend(axes, "arm", by_arm, "upper left", 1.0)
    _draw_legend(axes, "model", by_model, "lower left", 0.0)


def _draw_legend(axes: "Axes", name: str, keys: "Iterable[Line2D]", corner: str, height: float) -> None:
    axes.figure.add_artist(
        axes.figure.legend(
            handles=list(keys),
            title=name,
            loc=corner,
            bbox_to_anchor=(1.01, height),
            bbox_transform=axes.transAxes,
            fontsize=11,
            title_fontsize=11,
            labelspacing=0.3,
            alignment="left",
            frameon=False,
        )
    )


def _key(name: str, marker: str, colour: str) -> "Line2D":
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="", marker=marker, color=colour, markersize=9, label=name)


def _fitting(model: str) -> str:
    """A model's name without its owner's, cut in the middle where it is too long for the legend."""
    name = model.rstrip("/").rsplit("/", 1)[-1]
    half = _LONGEST_NAME // 2
    return name if len(name) <= _LONGEST_NAME else f"{name[: half - 1]}…{name[-half:]}"
