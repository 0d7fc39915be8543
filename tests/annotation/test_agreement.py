import krippendorff
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.annotation.agreement import annotator_agreement

# The worked examples of Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), sections A, B and C, and the
# one of the Wikipedia article on alpha: one string per observer, one letter per unit, * where nothing was said.
PUBLISHED = [
    (["0100000010", "1110010000"], 0.095),
    (["aabbdcccedda", "babbbccceddd"], 0.692),
    (["123321412***", "1233224125*3", "*3332342251*", "12332441251*"], 0.743),
    (["*****34121133*3", "1*213343*******", "**21344*21133*4"], 0.691),
]


def agreement_of(observers):
    labels = [
        (f"bp-{unit}", f"observer {observer}", value)
        for observer, values in enumerate(observers)
        for unit, value in enumerate(values)
        if value != "*"
    ]
    return alpha_of(labels)


def alpha_of(labels):
    columns = [pa.chunked_array([[label[place] for label in labels]], pa.string()) for place in range(3)]
    return annotator_agreement(*columns)


@pytest.mark.parametrize(("observers", "alpha"), PUBLISHED)
def test_published_examples(observers, alpha):
    assert len({len(values) for values in observers}) == 1
    assert agreement_of(observers) == pytest.approx(alpha, abs=5e-4)


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcd*"), min_size=3, max_size=3), min_size=1, max_size=12))
def test_it_is_the_librarys_alpha(units):
    observers = ["".join(values) for values in zip(*units, strict=True)]
    counts = np.array([[unit.count(letter) for letter in "abcd"] for unit in units])
    paired = counts[counts.sum(axis=1) > 1]
    if (paired.sum(axis=0) > 0).sum() < 2:  # the library raises, or divides by zero
        assert agreement_of(observers) is None
    else:
        expected = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
        assert agreement_of(observers) == pytest.approx(expected, abs=1e-9)


def test_nothing_to_compare_gives_no_number():
    assert alpha_of([]) is None
    assert alpha_of([("bp-a", "ana", "1"), ("bp-b", "ben", "2")]) is None
    assert alpha_of([("bp-a", "ana", "1"), ("bp-a", "ana", "2"), ("bp-b", "ana", "3")]) is None
    assert alpha_of([("bp-a", "ana", "1"), ("bp-a", "ben", "1")]) is None


def test_an_annotator_counts_once_and_only_where_known():
    labels = [("bp-a", "ana", "1"), ("bp-a", "ben", "1"), ("bp-b", "ana", "2"), ("bp-b", "ben", "2")]
    assert alpha_of(labels) == 1.0
    assert alpha_of([*labels, ("bp-a", None, "7"), ("bp-b", "cem", None)]) == 1.0
    assert alpha_of([("bp-b", "ben", "9"), *labels]) == 1.0
    assert alpha_of([*labels, ("bp-b", "ben", "9")]) < 1.0


def test_many_labels_with_free_answers():
    items, pairs = 60_000, 20_000
    first = [(f"bp-{i}", "ana", f"answer {i}") for i in range(items)]
    second = [(f"bp-{i}", "ben", f"answer {i if i % 10 else -i - 1}") for i in range(pairs)]
    assert alpha_of(first + second) == pytest.approx(0.9, abs=1e-4)
