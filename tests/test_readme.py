"""What the README tells people to type exists."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from budgetplan.cli import app
from budgetplan.config import Settings

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
TYPED = sorted({match.group(0).split("#")[0].strip() for match in re.finditer(r"budgetplan [a-z][^`\n]*", README)})
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def test_the_readme_shows_the_journey() -> None:
    shown = {line.split()[1] for line in TYPED if line.split()[1] in COMMANDS}
    assert {"probe", "rank", "shortlist", "import-samples", "verify", "config", "demo"} <= shown


@pytest.mark.parametrize("line", [line for line in TYPED if line.split()[1] in COMMANDS])
def test_every_command_line_is_understood(line: str) -> None:
    _, name, *words = shlex.split(line.replace("…", "x"))
    known = {option for parameter in COMMANDS[name].params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known


def test_every_option_that_is_named_exists() -> None:
    known = {option for command in COMMANDS.values() for parameter in command.params for option in parameter.opts}
    named = set(re.findall(r"`(--[a-z-]+)", README))
    assert named <= known | {"--install-completion", "--help"}


def test_every_environment_variable_is_a_setting() -> None:
    named = set(re.findall(r"BUDGETPLAN_([A-Z_]+)", README))
    assert named
    assert {name.lower() for name in named} <= set(Settings.model_fields)
