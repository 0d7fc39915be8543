"""What else training changed: samples cut off at the limit and their length, which can pass for skill.

Invariant: warns, and never changes a claim.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from budgetplan.validation.effects import Effect

_ENOUGH_TO_EXPLAIN = 0.5
_LENGTH_CHANGE = 0.25


@dataclass(frozen=True, slots=True)
class Drift:
    """How an arm's evaluation samples differ from the base's: shares cut off at the limit, mean tokens."""

    truncation_before: float
    truncation_after: float
    tokens_before: float
    tokens_after: float


def gain_warnings(arm: str, gain: Effect, drift: Drift) -> Iterator[str]:
    """Warn where an arm's gain or loss may be its samples' length; rule in `verdict`."""
    before, after = 100.0 * drift.truncation_before, 100.0 * drift.truncation_after
    if _certain(gain) and _explains(before - after, gain.points):
        gained, moved = ("gained", "fell") if gain.points > 0 else ("lost", "rose")
        yield (
            f"{arm}: the share of samples cut off {moved} from {before:.1f} to {after:.1f} %, "
            f"at least half of the {abs(gain.points):.1f} points {gained}; probe with a larger --max-tokens"
        )
    change = drift.tokens_after / drift.tokens_before - 1.0 if drift.tokens_before else math.nan
    if abs(change) > _LENGTH_CHANGE:
        longer = "longer" if change > 0 else "shorter"
        yield f"{arm}: samples are {abs(change):.0%} {longer} than the base's ({drift.tokens_after:.0f} tokens)"


def difference_warnings(arm: str, control: str, effect: Effect, drift: Mapping[str, Drift]) -> Iterator[str]:
    """Warn where the difference of two arms may be that one's samples are cut off less often; rule in `verdict`."""
    if arm not in drift or control not in drift or not _certain(effect):
        return
    share, other = 100.0 * drift[arm].truncation_after, 100.0 * drift[control].truncation_after
    if _explains(other - share, effect.points):
        yield (
            f"{arm} has {share:.1f} % of its samples cut off, {control} {other:.1f} %: "
            f"at least half of the {abs(effect.points):.1f} points between them"
        )


def _certain(effect: Effect) -> bool:
    return effect.low > 0 or effect.high < 0


def _explains(fall: float, points: float) -> bool:
    """Tell whether fewer samples cut off (more, for a loss) make up for half of the points."""
    return fall * math.copysign(1.0, points) >= _ENOUGH_TO_EXPLAIN * abs(points)
