import numpy as np
import pytest

from budgetplan.validation.scores import Scores


def test_items_count_where_every_seed_of_both_arms_measured_them():
    hard = np.array([[0.5, np.nan, 1.0, 0.0], [0.5, 0.5, 1.0, 0.0]])
    random = np.array([[0.5, 0.5, np.nan, 0.0]])
    scores = Scores(np.full(4, np.nan), {"hard": hard, "random": random, "easy": np.full((1, 4), np.nan)}, 4)
    assert scores.n_measured("hard", "random") == 2
    assert [scores.n_seeds(arm) for arm in ("hard", "random", "middle")] == [2, 1, 0]


def test_arms_over_other_items_than_the_base_are_refused():
    with pytest.raises(ValueError, match=r"hard: shape \(2, 3\), expected \(seeds, 4\)"):
        Scores(np.zeros(4), {"hard": np.zeros((2, 3))}, 1)
