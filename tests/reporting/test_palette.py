"""Arms can be told apart, by colour-blind readers too."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from budgetplan.reporting.palette import LOOKS, look, model_markers

# What a reader without one kind of cone sees, in linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
SEEN_BY = {
    "most": np.eye(3),
    "deuteranopes": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    "protanopes": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.0888])


def lab(colour: str, sight: NDArray[np.float64]) -> NDArray[np.float64]:
    """CIELAB of a colour as this reader sees it."""
    rgb = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(TO_XYZ @ np.clip(sight @ linear, 0, 1) / WHITE)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("reader", SEEN_BY)
def test_no_two_arms_look_alike(reader: str) -> None:
    seen = {arm: lab(known.colour, SEEN_BY[reader]) for arm, known in LOOKS.items()}
    for one, other in combinations(seen, 2):
        assert np.linalg.norm(seen[one] - seen[other]) > 15, (one, other)  # about 2 can just be told apart


def test_every_arm_has_a_marker_of_its_own() -> None:
    assert len({known.marker for known in LOOKS.values()}) == len(LOOKS)


def test_a_look_follows_from_the_name() -> None:
    assert look("hard") == LOOKS["hard"]
    assert look("another") == look("another")
    assert model_markers(["b", "a", "b"]) == model_markers(["a", "b"])
    assert len(set(model_markers("abcdefgh").values())) == 8
    assert model_markers("abcdefghi")["i"] == model_markers("abcdefghi")["a"]
