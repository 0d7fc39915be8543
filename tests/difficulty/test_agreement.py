from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.difficulty.agreement import agreement


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from(["7", "8", "9", None]), max_size=8), min_size=1, max_size=12))
def test_it_is_the_share_of_the_most_frequent_answer_among_all_counted_samples(pool):
    rows = [(i, n) for i, answers in enumerate(pool) for a, n in Counter(answers).items() if a is not None]
    item, samples = (np.array([row[c] for row in rows], dtype=np.int64) for c in (0, 1))
    result = agreement(item, samples, np.array([len(answers) for answers in pool]))
    for i, answers in enumerate(pool):
        given_answers = Counter(a for a in answers if a is not None)
        if answers:
            assert result[i] == max(given_answers.values(), default=0) / len(answers)
        else:
            assert np.isnan(result[i])


def test_more_equal_answers_than_samples_are_refused():
    with pytest.raises(ValueError, match="more samples"):
        agreement(np.array([0]), np.array([5]), np.array([4]))
