"""How an arm is trained, resolved to numbers: the named recipes and what may be changed of them.

Invariant: a recipe that exists can be trained; every arm of a validation gets the same one.
"""

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from budgetplan.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Recipe:
    """The numbers of one GRPO training; `loss` and `scale_rewards` are TRL's names."""

    name: str
    loss: str
    scale_rewards: str
    beta: float
    epsilon_high: float | None = None
    mask_truncated: bool = False
    group_size: int = 8
    prompts_per_update: int = 32
    steps: int = 1000
    learning_rate: float = 3e-5
    schedule: Literal["cosine"] = "cosine"
    evaluate_every: int = 100


RECIPES: dict[str, Recipe] = {
    # Appendix B of the paper: advantage r - mean, KL to the start, G = 8, 32 prompts, 1,000 steps at 3e-5.
    "paper": Recipe("paper", loss="grpo", scale_rewards="none", beta=0.1),
    # Liu et al. 2025: a loss whose weight does not depend on length, no division by the deviation, no KL.
    "dr-grpo": Recipe("dr-grpo", loss="dr_grpo", scale_rewards="none", beta=0.0),
    # Yu et al. 2025 without dynamic sampling, which TRL does not have: groups without spread stay in the update.
    "dapo": Recipe("dapo", loss="dapo", scale_rewards="group", beta=0.0, epsilon_high=0.28, mask_truncated=True),
}

_AT_LEAST = {"group_size": 2, "prompts_per_update": 1, "steps": 1, "evaluate_every": 1}


def recipe(name: str, **changes: Any) -> Recipe:
    """Return a recipe by name with some of its numbers changed; a change of None is none.

    Raises ConfigError for a name that is not known or a number that cannot be trained with.
    """
    if name not in RECIPES:
        raise ConfigError(f"there is no recipe {name!r}.", hint=f"Use one of {', '.join(RECIPES)}.")
    given = {key: value for key, value in changes.items() if value is not None}
    unknown = sorted(given.keys() - {field.name for field in fields(Recipe)})
    if unknown:
        raise ConfigError(f"a recipe has no setting {unknown[0]!r}.", hint=f"It has {_names()}.")
    changed = replace(RECIPES[name], **given)
    _check(changed)
    return changed


def _check(changed: Recipe) -> None:
    for key, least in _AT_LEAST.items():
        value = getattr(changed, key)
        if value < least:
            raise ConfigError(f"{_flag(key)} {value} is too few.", hint=f"Give {least} or more: {_flag(key)} {least}")
    if not (math.isfinite(changed.learning_rate) and changed.learning_rate > 0):
        raise ConfigError(
            f"--learning-rate {changed.learning_rate:g} trains nothing.", hint="Give a positive number, as 3e-5."
        )
    if not (math.isfinite(changed.beta) and changed.beta >= 0):
        raise ConfigError(f"--beta {changed.beta:g} cannot be.", hint="Give 0 (no KL term) or more, as 0.1.")


def _flag(key: str) -> str:
    return "--" + key.replace("_", "-")


def _names() -> str:
    return ", ".join(field.name for field in fields(Recipe) if field.name != "name")
