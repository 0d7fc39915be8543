"""What is said of items without a known answer: how they are ranked, what that is worth, what it cannot see."""

from typing import TYPE_CHECKING

from budgetplan.cli.terminal import say
from budgetplan.errors import counted

if TYPE_CHECKING:
    from budgetplan.difficulty.calibration import Calibration
    from budgetplan.difficulty.interval import Interval
    from budgetplan.difficulty.trust import Trust
    from budgetplan.steps.recalibrate import Recalibrated
    from budgetplan.steps.trust import WithoutAnswers

BLIND_SPOT = "Signals cannot see items that the model gets wrong the same way every time."
WORTH = (
    "On six public sets of samples this rule found hard items (p ≤ .2) with an AUROC of .79 (.69 to .88), where chance "
    "is .5 and known answers reach .93, and its picks went 69% of the way from random ones to the best possible."
)
WORTH_OF_ONE_SAMPLE = (
    "One sample says little: on six public sets such a ranking found hard items (p ≤ .2) with an AUROC of .62, where "
    "chance is .5."
)


def show_without_answers(without: "WithoutAnswers", n_items: int, n_verified: int) -> None:
    """Show what the ranking of items without an answer rests on, and how far it can be trusted."""
    if not n_items:
        return
    say(_rests_on(without, n_items))
    say(" ".join([*_worth(without, n_verified), BLIND_SPOT]))
    say(trust_line(without.trust))


def _rests_on(without: "WithoutAnswers", n_items: int) -> str:
    have, whose = ("item has", "its") if n_items == 1 else ("items have", "their")
    signals = (
        f"signals of one sample{'' if n_items == 1 else ' each'}"
        if without.single_pass
        else f"signals of {whose} samples"
    )
    if without.reference:
        signals += f" and the answers of {without.reference}"
    how = f"ranked by {signals}, by a fixed rule"
    if without.calibration:
        how = f"ranked by p, which is predicted from {signals}, as learned from {_learned_from(without.calibration)}"
    return f"{n_items:,} {have} no known answer: {how}. Answers are compared by {without.equality}."


def _learned_from(calibration: "Calibration") -> str:
    return f"{counted(calibration.n_items, 'item')} with {counted(calibration.n_samples, 'judged sample')}"


def _worth(without: "WithoutAnswers", n_verified: int) -> list[str]:
    """What such a ranking is worth elsewhere, unless this pool's own labels or signals say more."""
    from budgetplan.difficulty.calibration import FEWEST_ITEMS

    said = [_sentence(text) for text in without.cannot_tell]
    if not said and not without.calibration:
        said = [WORTH_OF_ONE_SAMPLE if without.single_pass else WORTH]
    if 0 < n_verified < FEWEST_ITEMS:
        are = "is" if n_verified == 1 else "are"
        said.append(
            f"{counted(n_verified, 'item')} with an answer {are} too few to predict p from ({FEWEST_ITEMS} are needed)."
        )
    return said


def show_recalibrated(recalibrated: "Recalibrated") -> None:
    """Show what labels taught about the items that still have no answer."""
    calibration = recalibrated.now.calibration
    if calibration:
        say(f"Items without an answer: p is predicted, as learned from {_learned_from(calibration)}.")
        say(trust_line(recalibrated.now.trust))
        before = ((recalibrated.before or {}).get("trust") or {}).get("auroc")
        if before:
            interval = f"{before['value']:.2f} ({before['low']:.2f} to {before['high']:.2f})"
            say(f"Before these labels the AUROC was put at {interval}.")
    else:
        say("Items without an answer: too few others have one to predict p, so signals rank them by a fixed rule.")


def trust_line(trust: "Trust") -> str:
    """What the audit slice says, with 90 % intervals, and what it cannot say."""
    if not trust.n_items:
        return "No item drawn at random has an answer yet, so nothing tells how far this ranking can be trusted."
    found = []
    if trust.auroc:
        hard = f"{trust.n_hard} of the {trust.n_items}"
        found.append(f"it finds hard items (p̂ ≤ .2; {hard} are) with AUROC {_shown(trust.auroc)}")
    if trust.calibration_error:
        error = trust.calibration_error
        found.append(f"calibration error {_shown(error) if error.low > 0 else f'at most {error.high:.2f}'}")
    if trust.pool_mean and trust.classical_pool_mean:
        alone = f", by these items alone {_shown(trust.classical_pool_mean)}"
        found.append(f"mean p of the pool {_shown(trust.pool_mean)}{alone}")
    slice_says = f"The ranking on the audit slice ({counted(trust.n_items, 'item')} with an answer, 90% intervals)"
    said = [f"{slice_says}: {'; '.join(found)}."] if found else []
    return " ".join([*said, *(_sentence(text) for text in trust.cannot_tell)])


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _shown(interval: "Interval") -> str:
    return f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"
