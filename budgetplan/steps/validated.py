"""What a validation found, in one value: arms, gains, learnable %, curves and the verdict."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from budgetplan.validation.arms import NoArm
    from budgetplan.validation.effects import Effect
    from budgetplan.validation.learnable import Learnable, Predicted
    from budgetplan.validation.verdict import Verdict


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Accuracy at one step, in percent, mean over seeds with its 90 % interval (nan where one seed says nothing)."""

    step: int
    percent: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ArmResult:
    """One arm over all its seeds; `stopped` says per seed why its training ended early."""

    arm: str
    n_items: int
    n_seeds: int
    percent: float
    gain: "Effect"
    gain_by_seed: tuple[float, ...]
    predicted_start: "Predicted | None"
    predicted_horizon: "Predicted | None"
    learnable: "Learnable | None"
    curve: tuple[CurvePoint, ...]
    truncated_share: float
    mean_tokens: float
    pass_at_k: float | None
    stopped: Mapping[int, str]
    training_hours: float


@dataclass(frozen=True, slots=True)
class BaseResult:
    """The one base measurement that all arms are compared with."""

    percent: float
    truncated_share: float
    mean_tokens: float
    pass_at_k: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """An arm against the control."""

    arm: str
    control: str
    effect: "Effect"


@dataclass(frozen=True, slots=True)
class FitPoint:
    """One finished training: its learnable % and its gain in points."""

    model: str
    arm: str
    learnable: float
    gain: float


@dataclass(frozen=True, slots=True)
class LearnableFit:
    """Figure 3: learnable % against gain over all finished trainings of the store."""

    r_squared: float
    n_trainings: int
    points: tuple[FitPoint, ...] = ()
    rises: bool = True


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """All of one validation; `said` is what was decided on the way (sizes, left out items)."""

    validation_id: str
    model: str
    recipe: str
    steps: int
    seeds: tuple[int, ...]
    n_test: int
    n_samples: int
    greedy: bool
    k_of_pass: int
    base: BaseResult
    arms: tuple[ArmResult, ...]
    impossible: "tuple[NoArm, ...]"
    comparisons: tuple[Comparison, ...]
    fit: LearnableFit | None
    verdict: "Verdict | None"
    said: tuple[str, ...]
    pictures: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class PlannedArm:
    """An arm that would be trained."""

    arm: str
    n_items: int
    predicted_start: "Predicted | None"
    predicted_horizon: "Predicted | None"


@dataclass(frozen=True, slots=True)
class Left:
    """What a validation has left to do, and what of it is finished; an evaluation is one model on one test."""

    n_trainings: int
    n_trainings_done: int
    n_updates: int
    n_evaluations: int
    n_evaluations_done: int
    n_samples: int


@dataclass(frozen=True, slots=True)
class ValidationPlan:
    """What a validation would do; hours, and money where a price per hour is given, are of what is left.

    They come from a short timing; seconds are nan where nothing is left of what they would time.
    """

    model: str
    recipe: str
    device: str
    arms: tuple[PlannedArm, ...]
    impossible: "tuple[NoArm, ...]"
    seeds: tuple[int, ...]
    steps: int
    n_test: int
    left: Left
    seconds_per_update: float
    seconds_per_evaluation: float
    training_hours: float
    evaluation_hours: float
    money: str | None
    smallest_detectable: float
    said: tuple[str, ...]
