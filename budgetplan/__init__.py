"""budgetplan: which prompts to pay labels for, before post-training a language model with GRPO."""

from typing import TYPE_CHECKING, Any

from budgetplan.errors import (
    BudgetError,
    BudgetplanError,
    ConfigError,
    Interrupted,
    LabelError,
    ModelError,
    NothingToDo,
    PoolError,
    StoreError,
    StoreLocked,
    StoreTooNew,
    TrainingError,
    VerifierError,
)

if TYPE_CHECKING:
    from budgetplan.project import Project

__all__ = [
    "BudgetError",
    "BudgetplanError",
    "ConfigError",
    "Interrupted",
    "LabelError",
    "ModelError",
    "NothingToDo",
    "PoolError",
    "Project",
    "StoreError",
    "StoreLocked",
    "StoreTooNew",
    "TrainingError",
    "VerifierError",
]


def __getattr__(name: str) -> Any:
    """Load `Project` when it is first asked for, so that the command line's help stays quick."""
    if name == "Project":
        from budgetplan.project import Project

        return Project
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
