"""Every error a user can meet, one tree, each with a hint that says how to go on.

BudgetplanError
├── ConfigError         a setting that cannot be read or does not make sense
├── PoolError           a pool or samples file: place, value and fix
├── StoreError          the DuckDB file
│   ├── StoreLocked     another process has it open
│   └── StoreTooNew     written by a newer budgetplan
├── ModelError          weights or tokenizer cannot be had, or do not fit the prompts
├── LabelError          a file of labels that cannot be read or does not belong here
├── VerifierError       a verifier that cannot be loaded or does not follow its contract
├── BudgetError         a budget that cannot be spent on this pool
├── TrainingError       an arm of a validation that cannot be trained or evaluated
├── NothingToDo         a command that came too early (no pool, no samples)
└── Interrupted         the user stopped it; what was finished is stored
"""


class BudgetplanError(Exception):
    """What happened and where, with the offending value; `hint` is the way on, a command where possible."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


class ConfigError(BudgetplanError):
    """A setting cannot be read or does not make sense."""


class PoolError(BudgetplanError):
    """A pool or samples file cannot be used; the message names the place (`pool.jsonl:17`)."""


class StoreError(BudgetplanError):
    """The store cannot be opened, read or written."""


class StoreLocked(StoreError):
    """Another process has the store open."""


class StoreTooNew(StoreError):
    """The store was written by a newer version of budgetplan."""


class ModelError(BudgetplanError):
    """A model cannot be had, or does not fit the prompts."""


class LabelError(BudgetplanError):
    """A file of labels cannot be used; the message names the place (`labels.csv:17`)."""


class VerifierError(BudgetplanError):
    """A verifier cannot be loaded or breaks its contract."""


class BudgetError(BudgetplanError):
    """A budget cannot be spent on this pool."""


class TrainingError(BudgetplanError):
    """An arm of a validation cannot be trained or evaluated."""


class NothingToDo(BudgetplanError):
    """The store does not yet hold what the command works on."""


class Interrupted(BudgetplanError):
    """The user stopped a command; what was finished is stored."""


def counted(number: int, noun: str) -> str:
    """Write a number and its noun for a message: 1 item, 2,000 items."""
    return f"{number:,} {noun}" + "s" * (number != 1)
