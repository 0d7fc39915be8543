"""What shapes one training, and the file that guards its folder: a folder goes on only with the spec it was begun with.

Invariant: two trainings with equal documents are the same training.
"""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from budgetplan.errors import TrainingError
from budgetplan.validation.recipes import Recipe

SPEC_FILE = "spec.json"
ITEMS_FILE = "items.parquet"


@dataclass(frozen=True, slots=True)
class TrainSpec:
    """One training of one arm with one seed; `vllm` None: where a GPU and vllm are there."""

    arm: str
    seed: int
    model: str
    revision: str | None
    recipe: Recipe
    temperature: float
    top_p: float
    max_tokens: int
    thinking: bool
    verifier: str
    lora: bool = True
    lora_rank: int = 32
    four_bit: bool = False
    trust_remote_code: bool = False
    vllm: bool | None = None


def write_spec(spec: TrainSpec, items_digest: str, folder: Path) -> None:
    """Write the folder's document, replacing the file in one step."""
    partial = folder / f"{SPEC_FILE}.partial"
    partial.write_text(json.dumps(_document(spec, items_digest), indent=1), encoding="utf-8")
    partial.replace(folder / SPEC_FILE)


def read_spec(folder: Path) -> TrainSpec:
    """Read the spec of a training folder."""
    document = json.loads((folder / SPEC_FILE).read_text(encoding="utf-8"))
    values = {field.name: document[field.name] for field in fields(TrainSpec)}
    return TrainSpec(**values | {"recipe": Recipe(**document["recipe"])})


def check_same(spec: TrainSpec, items_digest: str, folder: Path) -> None:
    """Raise TrainingError where the folder was begun with another configuration, naming what differs."""
    begun = _flat(json.loads((folder / SPEC_FILE).read_text(encoding="utf-8")))
    asked = _flat(_document(spec, items_digest))
    for key in sorted(begun.keys() | asked.keys()):
        if begun.get(key) != asked.get(key):
            raise TrainingError(
                f"{folder} holds a training of another configuration: "
                f"{key} is {begun.get(key)!r} there and {asked.get(key)!r} here.",
                hint="Go on with the first one, or give this one another folder (or remove that one).",
            )


def _document(spec: TrainSpec, items_digest: str) -> dict[str, Any]:
    return {**asdict(spec), "items": items_digest}


def _flat(document: dict[str, Any]) -> dict[str, Any]:
    recipe = {f"recipe.{key}": value for key, value in document["recipe"].items()}
    return {key: value for key, value in document.items() if key != "recipe"} | recipe
