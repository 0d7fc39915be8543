"""Owns what the embedded example trains: the arms, seeds and numbers of a short and a long validation.

Invariant: both are the product's own command on the demo's pool; only the numbers differ.
"""

from dataclasses import dataclass
from typing import Literal

Length = Literal["short", "long"]


@dataclass(frozen=True, slots=True)
class DemoValidation:
    """Options of `validate`; a small model takes larger steps than the paper's, and all its weights are trained."""

    arms: tuple[str, ...]
    n_seeds: int
    steps: int
    evaluate_every: int
    prompts_per_update: int = 16
    learning_rate: float = 2e-4
    beta: float = 0.05


DEMO_VALIDATIONS: dict[Length, DemoValidation] = {
    "short": DemoValidation(("hard", "random"), n_seeds=2, steps=40, evaluate_every=40),
    "long": DemoValidation(("hard", "learnable", "middle", "easy", "random"), n_seeds=3, steps=150, evaluate_every=50),
}
