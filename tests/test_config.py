"""The settings that several places name are the same everywhere."""

from pathlib import Path
from typing import get_args

import pytest

from budgetplan import ConfigError
from budgetplan.cli import options
from budgetplan.config import Settings, resolve
from budgetplan.selection.policy import Policy
from budgetplan.validation.arms import ARM_NAMES


def test_every_policy_is_a_setting_a_flag_and_an_arm() -> None:
    policies = {policy.value for policy in Policy}
    assert set(get_args(Settings.model_fields["policy"].annotation)) == policies
    flag, _ = get_args(get_args(options.Policy)[0])
    assert set(get_args(flag)) == policies
    assert policies <= set(ARM_NAMES)


def test_the_passes_come_from_the_flag_the_environment_the_file_or_the_default(tmp_path: Path) -> None:
    environment = {"BUDGETPLAN_PASSES_PER_ITEM": "12.5"}
    assert resolve(environment={}, folder=tmp_path).settings.passes_per_item == 40.0
    (tmp_path / "budgetplan.toml").write_text("passes-per-item = 7\n")
    assert resolve(environment={}, folder=tmp_path).settings.passes_per_item == 7.0
    assert resolve(environment=environment, folder=tmp_path).settings.passes_per_item == 12.5
    flagged = resolve({"passes_per_item": 3.0}, environment=environment, folder=tmp_path)
    assert (flagged.settings.passes_per_item, flagged.origins["passes_per_item"]) == (3.0, "flag")


@pytest.mark.parametrize("passes", ["-1", "nan", "inf", "many"])
def test_passes_that_cannot_be_are_refused(tmp_path: Path, passes: str) -> None:
    with pytest.raises(ConfigError, match="BUDGETPLAN_PASSES_PER_ITEM"):
        resolve(environment={"BUDGETPLAN_PASSES_PER_ITEM": passes}, folder=tmp_path)
