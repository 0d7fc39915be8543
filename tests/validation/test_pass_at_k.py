from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetplan.validation.pass_at_k import pass_at_k


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, 70))))
def test_equals_the_binomial_coefficients(case):
    n, c, k = case
    found = pass_at_k(np.array([n]), np.array([c]), k)[0]
    if n < k:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(1 - comb(n - c, k) / comb(n, k), rel=1e-12, abs=1e-15)


def test_is_unbiased_where_a_plug_in_estimate_is_not():
    rng, p, k = np.random.default_rng(0), 0.1, 8
    c = rng.binomial(16, p, 100_000)
    assert pass_at_k(np.full(len(c), 16), c, k).mean() == pytest.approx(1 - (1 - p) ** k, abs=0.005)


def test_keeps_its_digits_with_a_million_samples():
    found = pass_at_k(np.array([10**6, 10**6]), np.array([1, 10**6 - 7]), 8)
    assert found == pytest.approx([8e-6, 1.0], rel=1e-9)


def test_keeps_the_shape_of_the_counts():
    n, c = np.full((2, 3), 8), np.array([[0, 1, 8], [0, 4, 8]])
    assert pass_at_k(n, c, 8).tolist() == [[0, 1, 1], [0, 1, 1]]
    assert pass_at_k(n, c, 1) == pytest.approx(c / 8)


def test_no_samples_to_draw_is_an_error():
    with pytest.raises(ValueError, match="k is 0"):
        pass_at_k(np.array([8]), np.array([1]), 0)
