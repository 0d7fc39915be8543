"""The pictures of a validation: accuracy by step, and learnable % against gain (Figure 3 of the paper)."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from budgetplan.errors import ConfigError
from budgetplan.probing.weights import is_local
from budgetplan.reporting.curves import Curve, draw_curves
from budgetplan.reporting.scatter import Point, draw_scatter

if TYPE_CHECKING:
    from budgetplan.steps.validated import ArmResult, ValidationReport


def draw(report: "ValidationReport", folder: Path) -> tuple[Path, ...]:
    """Write them as PNG and SVG, replacing older ones; no scatter where fewer than three trainings are finished."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--out {folder} cannot be written: {error.strerror}.", hint="Name another.") from error
    curves = [_curve(arm) for arm in report.arms if arm.curve]
    pictures = draw_curves(
        curves, report.base.percent, folder / "curves", title=f"{_name(report.model)}, {report.recipe}"
    )
    if report.fit:
        points = [Point(point.model, point.arm, point.learnable, point.gain) for point in report.fit.points]
        pictures += draw_scatter(points, report.fit.r_squared, folder / "learnable", title="All trainings of the store")
    return tuple(pictures)


def _name(model: str) -> str:
    """What a model is called in a picture: a name of the Hub as it is, a folder by its last part."""
    return (Path(model).expanduser().resolve().name or model) if is_local(model) else model


def _curve(arm: "ArmResult") -> Curve:
    numbers = {name: np.array([getattr(point, name) for point in arm.curve]) for name in ("step", "percent")}
    low, high = (np.array([getattr(point, name) for point in arm.curve]) for name in ("low", "high"))
    return Curve(arm.arm, numbers["step"], numbers["percent"], low, high)
