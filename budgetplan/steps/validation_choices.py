"""What a user may choose of one validation, and what can be said against it before anything is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from budgetplan.errors import BudgetError, ConfigError
from budgetplan.probing.models import has_cuda
from budgetplan.selection.budget import Budget, parse_budget
from budgetplan.validation.training import GET_BITSANDBYTES

NEEDED = ("accelerate", "datasets", "matplotlib", "peft", "trl")
"""What training and its pictures need, beyond what is always installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateChoices:
    """What holds for one validation alone; `changes` are the numbers of the recipe that the user set.

    Without `confirm` nothing is asked.
    """

    run: str | None = None
    arms: tuple[str, ...] = ()
    control: str | None = None
    budget: str | None = None
    n_seeds: int = 3
    recipe: str = "paper"
    changes: Mapping[str, Any] = field(default_factory=dict)
    test: str | None = None
    holdout: str = "20%"
    ood: str | None = None
    n_samples: int = 4
    greedy: bool = False
    k_of_pass: int = 8
    drop_leaks: bool = False
    lora: bool = True
    four_bit: bool = False
    accelerate_config: Path | None = None
    out: Path | None = None
    confirm: Callable[[str], bool] | None = None


def not_installed() -> list[str]:
    """Name the libraries that training needs and that are not here."""
    return [name for name in NEEDED if find_spec(name) is None]


def check_choices(choices: ValidateChoices) -> None:
    """Raise ConfigError for choices that cannot be, or where what trains is not installed."""
    if missing := not_installed():
        raise ConfigError(
            f"validate needs {', '.join(missing)}, which is not installed.", hint="Run: pip install 'budgetplan[train]'"
        )
    for flag, value in (
        ("--seeds", choices.n_seeds),
        ("--samples", choices.n_samples),
        ("--pass-k", choices.k_of_pass),
    ):
        if value < 1:
            raise ConfigError(f"{flag} {value}: at least 1 is needed.", hint=f"Leave {flag} away for the default.")
    if choices.four_bit and not choices.lora:
        raise ConfigError("weights of 4 bits cannot be trained themselves.", hint="Leave --full or --four-bit away.")
    if choices.four_bit and (not has_cuda() or find_spec("bitsandbytes") is None):
        raise ConfigError(
            "--four-bit needs a GPU and bitsandbytes, and one of them is not here.", hint=GET_BITSANDBYTES
        )
    if choices.out and choices.out.exists() and not choices.out.is_dir():
        raise ConfigError(f"--out {choices.out} is a file, and pictures go into a folder.", hint="Name another.")
    if choices.accelerate_config and not choices.accelerate_config.is_file():
        raise ConfigError(
            f"--accelerate-config {choices.accelerate_config}: there is no such file.",
            hint="Make it: accelerate config",
        )
    if choices.test and choices.holdout != ValidateChoices().holdout:
        raise ConfigError("--test and --holdout exclude each other.", hint="Leave one away.")


def part_of_items(text: str, flag: str, because: str, share: str) -> Budget:
    """Read a share or a number of items; raises BudgetError for anything else, with a `share` that could be written."""
    hint = f"Write {flag} {share} or {flag} 100"
    try:
        part = parse_budget(text, flag)
    except BudgetError as error:
        raise BudgetError(error.message, hint=hint) from error
    if part.kind not in ("share", "items"):
        raise BudgetError(f'{flag} "{text}": {because}, so time and money say nothing here.', hint=hint)
    return part
