"""The command line: parses, calls one method of `Project`, renders. The only room that prints or exits."""

from budgetplan.cli import (
    config,
    demo,
    export,
    forget,
    import_samples,
    ingest,
    probe,
    rank,
    recall,
    shortlist,
    status,
    validate,
    verify,
)
from budgetplan.cli.app import app

__all__ = [
    "app",
    "config",
    "demo",
    "export",
    "forget",
    "import_samples",
    "ingest",
    "main",
    "probe",
    "rank",
    "recall",
    "shortlist",
    "status",
    "validate",
    "verify",
]


def main() -> None:
    """Run the command line."""
    app()
