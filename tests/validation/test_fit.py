import numpy as np
import pytest

from budgetplan.validation.fit import r_squared


def test_is_the_share_of_variance_that_the_fitted_line_explains():
    rng = np.random.default_rng(0)
    x = rng.normal(size=50)
    y = 2 - 3 * x + rng.normal(size=50)
    residuals = y - np.polyval(np.polyfit(x, y, 1), x)
    assert r_squared(x, y) == pytest.approx(1 - residuals.var() / y.var())


def test_what_was_not_measured_is_left_out():
    assert r_squared([1, 2, 3, np.nan, 9], [2, 4, 6, 100, np.nan]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("x", "y"),
    [([], []), ([1, 2], [1, 2]), ([1, 2, np.nan], [1, 2, 3]), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [5, 5, 5])],
)
def test_too_little_to_fit_gives_nan(x, y):
    assert np.isnan(r_squared(x, y))
