"""Was the choice right? One sentence by a written rule.

Invariant: nothing is claimed that the 90 % interval of the difference does not say, and a test too small to show
anything is refused rather than read as "it made no difference".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from budgetplan.validation.drift import Drift, difference_warnings, gain_warnings
from budgetplan.validation.effects import Effect, difference, gain
from budgetplan.validation.power import shown_by
from budgetplan.validation.refusal import Lack, too_small, too_weak
from budgetplan.validation.scores import Scores

__all__ = ["Claim", "Drift", "Verdict", "verdict"]

Claim = Literal["better", "worse", "no evidence", "refused"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is claimed of `arm` against `control`; `would_suffice` is "" unless refused.

    `effect` is None where an arm has no finished training, or fewer than two items were measured in both.
    """

    claim: Claim
    arm: str
    control: str
    sentence: str
    effect: Effect | None
    warnings: tuple[str, ...]
    would_suffice: str


def verdict(scores: Scores, arm: str, control: str, *, arm_items: int, drift: Mapping[str, Drift]) -> Verdict:
    """Decide whether training on `arm` rather than on `control` mattered; `arm_items` is the size of the smaller one.

    1. "refused" where an arm has fewer than two finished seeds or 10 items to train on, or the test fewer than 30.
    2. "better" or "worse" where the 90 % interval of the difference excludes 0.
    3. "refused" where such a test finds only differences of more than 10 points in 80 % of cases.
    4. "no evidence" otherwise.

    A refusal names the size that would suffice. Whatever the claim, a warning is due

    * where an arm's interval of the gain over the base is below 0;
    * where an arm's interval of the gain over the base excludes 0, and the share of its samples that are cut off fell
      (for a loss: rose) by at least half of the points gained;
    * where the interval of the difference excludes 0, and the better arm's share of samples that are cut off is below
      the other's by at least half of the points between them;
    * where the mean length of an arm's samples changed by more than a quarter.
    """
    known = scores.n_seeds(arm) > 0 and scores.n_seeds(control) > 0 and scores.n_measured(arm, control) > 1
    effect = difference(scores, arm, control) if known else None
    lacks = list(too_small(scores, arm, control, arm_items))
    if effect and not lacks and effect.low <= 0.0 <= effect.high:
        lacks = list(too_weak(scores, arm, control, effect))
    warnings = tuple(_warnings(scores, arm, control, effect, drift))
    if effect is None or lacks:
        would_suffice = "; ".join(lack.would_suffice for lack in lacks)
        refusal = _refusal(arm, control, effect, lacks)
        return Verdict("refused", arm, control, refusal, effect, warnings, would_suffice)
    return Verdict(_claim(effect), arm, control, _sentence(arm, control, effect), effect, warnings, "")


def _claim(effect: Effect) -> Claim:
    if effect.low > 0:
        return "better"
    return "worse" if effect.high < 0 else "no evidence"


def _sentence(arm: str, control: str, effect: Effect) -> str:
    points, low, high = effect.points, effect.low, effect.high
    if low > 0:
        return f"{arm} beat {control} by {points:.1f} points {_interval(low, high)}"
    if high < 0:
        return f"{arm} lost to {control} by {-points:.1f} points {_interval(-high, -low)}"
    shown = shown_by(effect.standard_error, effect.degrees)
    return (
        f"no evidence that it mattered: {_measured(arm, control, effect)}; {shown:.1f} points would likely have shown"
    )


def _refusal(arm: str, control: str, effect: Effect | None, lacks: Sequence[Lack]) -> str:
    reasons = " and ".join(lack.reason for lack in lacks)
    measured = f" (measured: {_measured(arm, control, effect)})" if effect else ""
    return f"no verdict on {arm} against {control}: {reasons}{measured}"


def _measured(arm: str, control: str, effect: Effect) -> str:
    return f"{arm} is {effect.points:+.1f} points from {control} {_interval(effect.low, effect.high)}"


def _interval(low: float, high: float) -> str:
    return f"(90 % interval {low:z.1f} to {high:z.1f})"


def _warnings(
    scores: Scores, arm: str, control: str, effect: Effect | None, drift: Mapping[str, Drift]
) -> Iterator[str]:
    for name in (arm, control):
        if not scores.n_seeds(name):
            continue
        gained = gain(scores, name)
        if gained.high < 0:
            yield (
                f"{name}: training on it made the model worse, by {-gained.points:.1f} points "
                f"{_interval(-gained.high, -gained.low)}; try a lower --learning-rate or a higher --beta"
            )
        if name in drift:
            yield from gain_warnings(name, gained, drift[name])
    if effect:
        yield from difference_warnings(arm, control, effect, drift)
