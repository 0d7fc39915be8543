"""Short trainings of tiny models: a task whose rewards vary, and what one training needs."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from budgetplan.validation.recipes import recipe
from budgetplan.validation.spec import TrainSpec

EVEN_LENGTH = """
def f(completions, answer, **columns):
    assert all(isinstance(text, str) for text in completions)
    assert columns["level"] == columns["item_id"]
    return [float(len(text) % 2 == 0) for text in completions]
"""

ALL_WRONG = "def f(completions, answer, **columns):\n    return [0.0] * len(completions)\n"
BROKEN = "def f(completions, answer, **columns):\n    raise LookupError('no such rubric')\n"


def verifier_file(folder: Path, source: str = EVEN_LENGTH) -> str:
    """Write a verifier and return its name."""
    path = folder / "mine.py"
    path.write_text(source)
    return f"{path}:f"


def items(n: int = 3) -> pa.Table:
    """The items of an arm."""
    ids = [f"item-{index}" for index in range(n)]
    chats = [json.dumps([{"role": "user", "content": f"Count to {index}."}]) for index in range(n)]
    columns = [json.dumps({"level": item_id}) for item_id in ids]
    return pa.table({"item_id": ids, "messages": chats, "answer": ["1"] * n, "columns": columns})


def spec(model: Path, verifier: str, *, lora: bool = True, **changes: Any) -> TrainSpec:
    """A training of two updates of four groups of four."""
    numbers = {
        "steps": 2,
        "group_size": 4,
        "prompts_per_update": 4,
        "learning_rate": 1e-2 if lora else 1e-3,
        "evaluate_every": 2,
    }
    return TrainSpec(
        arm="hard",
        seed=7,
        model=str(model),
        revision=None,
        recipe=recipe("paper", **numbers | changes),
        temperature=1.0,
        top_p=1.0,
        max_tokens=12,
        thinking=False,
        verifier=verifier,
        lora=lora,
    )
