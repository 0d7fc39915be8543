"""The command line: parses, calls one method of `Project`, renders. The only room that prints or exits."""

from budgetplan.cli import config, demo, import_samples, probe, rank, shortlist, status, verify
from budgetplan.cli.app import app

__all__ = ["app", "config", "demo", "import_samples", "main", "probe", "rank", "shortlist", "status", "verify"]


def main() -> None:
    """Run the command line."""
    app()
