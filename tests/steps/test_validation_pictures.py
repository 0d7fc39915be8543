"""What the pictures of a validation are called."""

from pathlib import Path

import pytest

from budgetplan.steps.validated import BaseResult, ValidationReport
from budgetplan.steps.validation_pictures import draw


def drawn(folder: Path, model: str) -> str:
    """Draw a validation of a model and return what the picture is made of."""
    report = ValidationReport(
        validation_id="val-1",
        model=model,
        recipe="paper",
        steps=4,
        seeds=(0,),
        n_test=40,
        n_samples=4,
        greedy=False,
        k_of_pass=8,
        base=BaseResult(50.0, 0.0, 3.0, None),
        arms=(),
        impossible=(),
        comparisons=(),
        fit=None,
        verdict=None,
        said=(),
        pictures=(),
    )
    return draw(report, folder)[1].read_text()


def test_a_folder_is_named_by_its_last_part_and_a_hub_name_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "models" / "tuned"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    for model in (str(folder), f"{folder}/", "../tuned", "."):
        picture = drawn(tmp_path, model)
        assert ">tuned, paper<" in picture
        assert "models" not in picture
    assert ">Qwen/Qwen3-4B, paper<" in drawn(tmp_path, "Qwen/Qwen3-4B")
