"""The picture of what training did: accuracy against step, a line per arm with its 90 % band, the base dashed.

Invariant: every arm that was measured is in it by name, also where there is only one step, and so no curve.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from budgetplan.reporting.end_labels import End, write_ends
from budgetplan.reporting.palette import BASE_COLOUR, look
from budgetplan.reporting.pictures import drawing, save, write_note, write_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH_INCHES, _HEIGHT_INCHES = 8.0, 5.4
_FRAME = {"left": 0.1, "right": 0.76, "bottom": 0.29, "top": 0.91}  # shares of the figure
_LEGEND_COLUMNS = 5
_FEW = 5  # names that fit side by side under a frame
_ABOUT_INTERVALS = (
    "Each interval is of one arm's level, over items and seeds; "
    "the verdict compares arms in pairs, so overlap does not settle it."
)


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Accuracy of one arm in percent, over `steps`: the mean over seeds and its 90 % interval (nan: not known)."""

    arm: str
    steps: NDArray[np.int64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def draw_curves(curves: Sequence[Curve], base: float, path_without_suffix: Path, *, title: str) -> list[Path]:
    """Draw accuracy against step as PNG and SVG, and return their paths; `base` in percent, nan if not measured.

    Where no arm was measured at more than one step there is no curve: the arms then stand side by side.
    """
    measured = [shown for shown in map(_measured, curves) if shown.steps.size]
    with drawing(_WIDTH_INCHES, _HEIGHT_INCHES) as figure:
        figure.subplots_adjust(**_FRAME)
        axes = figure.add_subplot()
        write_title(figure, title)
        axes.set_ylim(*_limits(measured, base))
        axes.set_ylabel("correct on held-out prompts, %")
        axes.grid(axis="y", color="#DDDDDD", linewidth=0.8)
        if np.isfinite(base):
            axes.axhline(base, color=BASE_COLOUR, linestyle="--", linewidth=1.5, label="base")
        if any(curve.steps.size > 1 for curve in measured):
            ends = _draw_over_steps(axes, measured, base)
        else:
            ends = _draw_side_by_side(axes, measured)
        if np.isfinite(base):
            ends.append(End(f"base {base:.1f}", axes.get_xlim()[1], base, BASE_COLOUR))
        if _is_known(measured):
            write_note(figure, _ABOUT_INTERVALS)
        write_ends(axes, ends)
        return save(figure, path_without_suffix)


def _measured(curve: Curve) -> Curve:
    """The same curve without the steps at which nothing was measured."""
    there = np.isfinite(curve.mean)
    return Curve(curve.arm, curve.steps[there], curve.mean[there], curve.low[there], curve.high[there])


def _limits(curves: Sequence[Curve], base: float) -> tuple[float, float]:
    """The span of all means and intervals with a margin, hardly beyond 0 and 100 %."""
    values = np.concatenate([[base], *(part for curve in curves for part in (curve.mean, curve.low, curve.high))])
    values = values[np.isfinite(values)]
    low, high = (values.min(), values.max()) if values.size else (0.0, 100.0)
    margin = max(0.08 * (high - low), 1.0)
    return max(low - margin, -2.0), min(high + margin, 102.0)


def _draw_over_steps(axes: "Axes", curves: Sequence[Curve], base: float) -> list[End]:
    """Draw every arm's line; before its first step every arm was the base."""
    for curve in curves:
        if curve.steps[0] > 0:
            first = ((0, curve.steps[0]), (base, curve.mean[0]))
            axes.plot(*first, color=look(curve.arm).colour, linewidth=1.2, linestyle=":")
        _draw_arm(axes, curve, curve.steps, band=min(0.14, 0.6 / len(curves)))
    axes.set_xlim(min(0, *(curve.steps.min() for curve in curves)), max(curve.steps.max() for curve in curves))
    axes.set_xlabel(f"training step ({_of_the_band(curves, 'line', 'band')})", fontsize=12)
    axes.figure.legend(
        *axes.get_legend_handles_labels(),
        loc="upper center",
        bbox_to_anchor=(0.5, 0.185),
        ncols=_LEGEND_COLUMNS,
        fontsize=11,
        frameon=False,
    )
    return [
        End(f"{curve.arm} {curve.mean[-1]:.1f}", curve.steps[-1], curve.mean[-1], look(curve.arm).colour)
        for curve in curves
    ]


def _draw_side_by_side(axes: "Axes", curves: Sequence[Curve]) -> list[End]:
    """Draw each arm's one measurement in a column of its own, under which its name stands."""
    few = len(curves) <= _FEW
    for column, curve in enumerate(curves):
        _draw_arm(axes, curve, np.array([column]))
        place, beside = (column, curve.mean[0]), (7, 0)
        axes.annotate(
            f"{curve.mean[0]:.1f}", place, beside, textcoords="offset points", va="center", fontsize=13 if few else 10
        )
    names = [curve.arm for curve in curves]
    axes.set_xticks(range(len(curves)), names, rotation=0 if few else 30, ha="center" if few else "right")
    axes.set_xlim(-0.5, len(curves) - 0.3)
    steps = " or ".join(sorted({f"{curve.steps[0]:,}" for curve in curves}, key=len))
    axes.set_xlabel(f"after step {steps or '–'} ({_of_the_band(curves, 'point', 'bar')})", fontsize=12)
    return []


def _draw_arm(axes: "Axes", curve: Curve, x: NDArray[np.int64], band: float = 0) -> None:
    """Draw a line, and its interval as a `band` of that opacity; a single point has an error bar instead."""
    drawn = look(curve.arm)
    known = np.isfinite(curve.low) & np.isfinite(curve.high)
    axes.plot(
        x,
        curve.mean,
        color=drawn.colour,
        marker=drawn.marker,
        markersize=7,
        linewidth=2,
        label=curve.arm,
        clip_on=False,
        zorder=3,
    )
    if x.size == 1:
        axes.vlines(x[known], curve.low[known], curve.high[known], color=drawn.colour, linewidth=2)
    else:
        axes.fill_between(x, curve.low, curve.high, where=known, color=drawn.colour, alpha=band, linewidth=0)


def _of_the_band(curves: Sequence[Curve], mean: str, interval: str) -> str:
    return f"{mean}: mean over seeds; {interval}: 90 % interval" if _is_known(curves) else "no interval is known"


def _is_known(curves: Sequence[Curve]) -> bool:
    return any(np.isfinite(curve.low).any() for curve in curves)
