"""The curves: files that open, names that can be read, the same bytes for the same numbers."""

import math
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from budgetplan.errors import BudgetplanError
from budgetplan.reporting.curves import Curve, draw_curves
from budgetplan.reporting.end_labels import spread
from budgetplan.reporting.palette import LOOKS

SVG = "{http://www.w3.org/2000/svg}"
SIZE = (1280, 864)  # 8 × 5.4 inches at 160 dots per inch


def curve(arm: str, gain: float, steps: tuple[int, ...] = (0, 50, 100), *, known: bool = True) -> Curve:
    mean = np.linspace(50, 50 + gain, len(steps)) if len(steps) > 1 else np.array([50 + gain])
    half = np.full(len(steps), 2.0 if known else math.nan)
    return Curve(arm, np.array(steps), mean, mean - half, mean + half)


def texts(svg: Path) -> list[str]:
    return ["".join(text.itertext()) for text in ElementTree.parse(svg).iter(f"{SVG}text")]


def drawn(folder: Path, *curves: Curve, base: float = 50.0, title: str = "phi-4") -> list[str]:
    """Draw, look at both files, and return what the picture says."""
    paths = draw_curves(curves, base, folder / "curves.v1", title=title)
    assert paths == [folder / "curves.v1.png", folder / "curves.v1.svg"]
    with Image.open(paths[0]) as picture:
        picture.load()
        assert picture.size == SIZE
        assert len(picture.convert("RGB").getcolors(10**6) or []) > 10
    assert sorted(path.name for path in folder.iterdir()) == ["curves.v1.png", "curves.v1.svg"]
    return texts(paths[1])


@pytest.mark.parametrize("n_arms", [1, 4, 10])
def test_every_arm_is_named_at_its_end_and_in_the_legend(tmp_path: Path, n_arms: int) -> None:
    arms = list(LOOKS)[:n_arms]
    said = drawn(tmp_path, *(curve(arm, 4.0) for arm in arms))
    for arm in arms:
        assert said.count(arm) == 1
        assert f"{arm} 54.0" in said
    assert {"phi-4", "base", "base 50.0", "training step (line: mean over seeds; band: 90 % interval)"} <= set(said)


NOTE = (
    "Each interval is of one arm's level, over items and seeds; "
    "the verdict compares arms in pairs, so overlap does not settle it."
)


@pytest.mark.parametrize("steps", [(0, 50, 100), (1200,)])
def test_what_an_interval_is_of_is_said_where_there_is_one(tmp_path: Path, steps: tuple[int, ...]) -> None:
    assert NOTE in drawn(tmp_path, *(curve(arm, 4.0, steps) for arm in LOOKS))
    assert NOTE not in drawn(tmp_path, curve("hard", 4.0, steps, known=False))


def test_a_note_fits_and_touches_nothing(tmp_path: Path) -> None:
    paths = draw_curves([curve(arm, 4.0) for arm in LOOKS], 50.0, tmp_path / "a", title="t")
    with Image.open(paths[0]) as picture:
        inked = np.asarray(picture.convert("L")) < 200
    rows, columns = np.flatnonzero(inked.any(axis=1)), np.flatnonzero(inked[830:].any(axis=0))
    above = rows[rows < 830]
    assert rows.max() - 830 > 0
    assert 836 - above.max() > 8
    assert columns.max() < SIZE[0] - 20


def test_one_step_is_no_curve_but_columns_of_points(tmp_path: Path) -> None:
    for n_arms in (1, 10):
        arms = list(LOOKS)[:n_arms]
        said = drawn(tmp_path, *(curve(arm, place, (1200,)) for place, arm in enumerate(arms)))
        assert {*arms, "50.0", "base 50.0"} <= set(said)
        assert "after step 1,200 (point: mean over seeds; bar: 90 % interval)" in said


def test_an_arm_that_ended_early_stays_in_the_picture(tmp_path: Path) -> None:
    said = drawn(tmp_path, curve("hard", 5.0), curve("easy", 2.0, (50,)))
    assert {"hard 55.0", "easy 52.0"} <= set(said)


def test_what_is_not_known_is_not_drawn(tmp_path: Path) -> None:
    gone = replace(curve("easy", 2.0), mean=np.full(3, math.nan))
    said = drawn(tmp_path, curve("hard", 5.0, known=False), gone, base=math.nan)
    assert "training step (no interval is known)" in said
    assert not [text for text in said if "easy" in text or "base" in text or "nan" in text]


def test_a_step_that_was_not_measured_is_left_out(tmp_path: Path) -> None:
    holed = curve("hard", 5.0)
    holed.mean[-1] = math.nan
    assert "hard 52.5" in drawn(tmp_path, holed)


def test_a_line_begins_at_the_base(tmp_path: Path) -> None:
    def dotted(first_step: int) -> int:
        drawn(tmp_path, curve("hard", 5.0, (first_step, 100)), curve("easy", 2.0, (first_step, 100)))
        return (tmp_path / "curves.v1.svg").read_text().count("stroke-dasharray")

    assert dotted(50) == dotted(0) + 2


def test_nothing_measured_is_a_picture_of_the_base(tmp_path: Path) -> None:
    assert "base 50.0" in drawn(tmp_path)


def test_signs_in_a_title_are_letters(tmp_path: Path) -> None:
    title = "a_b$x^2$ <models> & " + "long " * 30
    assert title in drawn(tmp_path, curve("hard", 1.0), title=title)


def test_the_same_numbers_give_the_same_bytes_and_leave_no_setting_behind(tmp_path: Path) -> None:
    curves = [curve("hard", 5.0), curve("random", 3.0)]
    before = dict(matplotlib.rcParams)
    first = [path.read_bytes() for path in draw_curves(curves, 50.0, tmp_path / "a", title="t")]
    assert dict(matplotlib.rcParams) == before
    with matplotlib.rc_context({"font.size": 30, "svg.fonttype": "path", "lines.color": "red"}):  # a user's own
        again = [path.read_bytes() for path in draw_curves(curves, 50.0, tmp_path / "a", title="t")]
    assert again == first


def test_a_file_is_replaced_whole_or_stays(tmp_path: Path) -> None:
    paths = draw_curves([curve("hard", 5.0)], 50.0, tmp_path / "a", title="t")
    before = [path.read_bytes() for path in paths]
    draw_curves([curve("hard", 7.0)], 50.0, tmp_path / "a", title="t")
    assert all(path.read_bytes() != old for path, old in zip(paths, before, strict=True))
    with pytest.raises(BudgetplanError, match="cannot write") as missing:
        draw_curves([curve("hard", 5.0)], 50.0, tmp_path / "none" / "a", title="t")
    assert "mkdir -p" in missing.value.hint
    (tmp_path / "b.png").mkdir()
    with pytest.raises(BudgetplanError, match=r"b\.png"):
        draw_curves([curve("hard", 5.0)], 50.0, tmp_path / "b", title="t")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "a.svg", "b.png"]


@given(st.lists(st.floats(0, 100), min_size=1, max_size=12), st.floats(0.1, 8))
def test_names_do_not_overlap_and_keep_their_order(heights: list[float], gap: float) -> None:
    placed = spread(np.array(heights), gap, 0.0, 100.0)
    assert placed.min() >= -1e-9
    assert placed.max() <= 100 + 1e-9
    order = np.argsort(heights, kind="stable")
    assert (np.diff(placed[order]) >= gap - 1e-6).all()


def test_names_that_are_apart_stay_where_they_are() -> None:
    heights = np.array([40.0, 10.0, 90.0])
    assert np.allclose(spread(heights, 5.0, 0.0, 100.0), heights)
    assert np.allclose(spread(np.array([50.0, 50.0]), 10.0, 0.0, 100.0), [45.0, 55.0])
    assert np.allclose(spread(np.array([1.0, 1.0, 1.0]), 80.0, 0.0, 100.0), [0.0, 50.0, 100.0])
