import math

import numpy as np
import pytest

from budgetplan.validation.places import places


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3.49, 26.69, 34.19, 29.49], [4, 3, 1, 2]),
        ([29.6, 28.8, 32.8, 28.8], [2, 3, 1, 3]),
        ([5.0, 5.0, 4.0], [1, 1, 2]),
        ([-3.2, -1.6], [2, 1]),
        ([math.nan, 1.0, math.nan], [0, 1, 0]),
        ([], []),
    ],
)
def test_best_is_1_second_best_2_and_ties_share(values, expected):
    assert places(values) == expected


def test_what_prints_alike_is_placed_alike():
    assert places([4.12, 4.08, 3.96]) == [1, 1, 2]
    assert places([4.12, 4.08, 3.96], decimals=2) == [1, 2, 3]
    assert places([-0.04, 0.04]) == [1, 1]
    # Read as numpy rounds, 0.35 would be 0.4; printed it is 0.3.
    assert places(np.array([0.35, 0.3, 0.4])) == [2, 2, 1]
