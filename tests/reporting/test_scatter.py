"""Figure 3: colours for arms, markers for models, the line whose R² is written beside it."""

import csv
import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from PIL import Image

from budgetplan.reporting.palette import LOOKS
from budgetplan.reporting.scatter import Point, draw_scatter

SVG = "{http://www.w3.org/2000/svg}"
SIZE = (1280, 864)
ARMS = {"easiest": "easy", "middle": "middle", "hardest": "hard", "random": "random"}
UNKNOWN = math.nan


def drawn(folder: Path, points: list[Point], r_squared: float) -> set[str]:
    """Draw, look at both files, and return what the picture says."""
    png, svg = draw_scatter(points, r_squared, folder / "scatter", title="Learnable % and gain")
    with Image.open(png) as picture:
        picture.load()
        assert picture.size == SIZE
    return {"".join(text.itertext()) for text in ElementTree.parse(svg).iter(f"{SVG}text")}


def test_arms_models_and_the_fit_are_named(tmp_path: Path) -> None:
    points = [Point("Qwen/Qwen3-4B", "hard", 30.0, 9.0), Point("phi-4", "easy", 5.0, 1.0), Point("b", "hard", 20, 5)]
    said = drawn(tmp_path, points, 0.876)
    assert {"Learnable % and gain", "hard", "easy", "Qwen3-4B", "phi-4", "R² = 0.88, 3 trainings"} <= said


def test_the_colour_is_the_arms_and_the_marker_the_models(tmp_path: Path) -> None:
    def pixels(points: list[Point]) -> set[tuple[int, ...]]:
        path = draw_scatter(points, UNKNOWN, tmp_path / "scatter", title="")[0]
        with Image.open(path) as picture:
            return {colour for _, colour in picture.convert("RGB").getcolors(10**6) or []}  # type: ignore[misc]

    orange, blue = (213, 94, 0), (86, 180, 233)
    hard = pixels([Point("a", "hard", 1.0, 1.0)])
    assert orange in hard
    assert blue not in hard
    assert {orange, blue} <= pixels([Point("a", "hard", 1.0, 1.0), Point("a", "easy", 2.0, 2.0)])
    one = (tmp_path / "scatter.svg").read_text().count('id="m')
    draw_scatter([Point("a", "hard", 1, 1), Point("b", "easy", 2, 2)], UNKNOWN, tmp_path / "scatter", title="")
    assert (tmp_path / "scatter.svg").read_text().count('id="m') > one


def dashes(folder: Path) -> int:
    return (folder / "scatter.svg").read_text().count("stroke-dasharray")


def test_the_line_is_drawn_only_with_a_fit(tmp_path: Path) -> None:
    points = [Point("a", "hard", float(x), 3.0 * x) for x in range(4)]
    assert "R² = 1.00, 4 trainings" in drawn(tmp_path, points, 1.0)
    assert dashes(tmp_path) == 1
    assert "R² = –, 4 trainings" in drawn(tmp_path, points, UNKNOWN)
    assert dashes(tmp_path) == 0


@pytest.mark.parametrize("points", [[], [Point("a", "hard", 5.0, 1.0)], [Point("a", "hard", 5.0, 1.0)] * 3])
def test_few_or_equal_points_make_a_picture_too(tmp_path: Path, points: list[Point]) -> None:
    said = drawn(tmp_path, points, UNKNOWN)
    assert any(text.startswith(f"R² = –, {len(points)} training") for text in said)


def test_points_without_a_number_are_left_out(tmp_path: Path) -> None:
    points = [Point("a", "hard", 5.0, 1.0), Point("b", "easy", UNKNOWN, 1.0), Point("c", "middle", 1.0, UNKNOWN)]
    said = drawn(tmp_path, points, UNKNOWN)
    assert "R² = –, 1 training" in said
    assert not said & {"easy", "b", "middle", "c"}


def test_many_arms_and_long_names_fit(tmp_path: Path) -> None:
    long = "someone/a-model-with-quite-a-long-name-14B-instruct"
    points = [Point(model, arm, 3.0 * n, n) for n, arm in enumerate(LOOKS) for model in ("a", "b", long)]
    said = drawn(tmp_path, points, 0.5)
    assert set(LOOKS) <= said
    assert "a-model-wi…4B-instruct" in said


def test_a_folder_is_named_by_its_last_part(tmp_path: Path) -> None:
    assert "tuned" in drawn(tmp_path, [Point("models/tuned/", "hard", 1.0, 1.0)], UNKNOWN)


def test_the_same_points_give_the_same_bytes(tmp_path: Path) -> None:
    points = [Point("a", "hard", 5.0, 1.0), Point("b", "easy", 1.0, 0.0), Point("c", "easy", 2.0, 0.4)]
    first, again = (
        [path.read_bytes() for path in draw_scatter(points, 0.9, tmp_path / name, title="t")] for name in ("x", "y")
    )
    assert first == again


def test_the_papers_own_figure_can_be_drawn(tmp_path: Path, shared_data: Path) -> None:
    with (shared_data / "paper" / "final_runs_48.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["learnable_pct"] and row["gain_pts_paper"]]
    points = [
        Point(row["model"], ARMS[row["strategy"]], float(row["learnable_pct"]), float(row["gain_pts_paper"]))
        for row in rows
    ]
    said = drawn(tmp_path, points, 0.25)
    assert {*ARMS.values(), *(row["model"].rsplit("/", 1)[-1] for row in rows if len(row["model"]) < 20)} <= said
    assert f"R² = 0.25, {len(points)} trainings" in said
