"""A verifier of one's own: a plain function with the signature of TRL's reward functions.

`budgetplan probe pool.jsonl --verifier examples/my_verifier.py:within_one_percent` judges with it, and
`GRPOTrainer(reward_funcs=within_one_percent, ...)` trains with the very same one.
"""

import math
import re
from typing import Any

NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")


def within_one_percent(completions: list[Any], answer: list[str | None], **columns: list[Any]) -> list[float | None]:
    """Score 1 where the last number is within 1 % of the known one, 0 where not; None where no answer is known."""
    return [
        None if known is None else float(_is_near(_last_number(_text(completion)), _last_number(str(known))))
        for completion, known in zip(completions, answer, strict=True)
    ]


def _is_near(number: float | None, known: float | None) -> bool:
    return number is not None and known is not None and math.isclose(number, known, rel_tol=0.01)


def _last_number(text: str) -> float | None:
    numbers = NUMBER.findall(text)
    return float(numbers[-1].replace(",", "")) if numbers else None


def _text(completion: Any) -> str:
    """A completion is a string, or the messages of a chat whose last one is the model's."""
    return completion if isinstance(completion, str) else completion[-1]["content"]
