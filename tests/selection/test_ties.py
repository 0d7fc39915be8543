import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.selection.ties import tie_keys, uniform

PINNED = [17173399592813332453, 2953197649072688177]
names = st.lists(st.text(max_size=30), min_size=1, max_size=20, unique=True)


@settings(deadline=None)
@given(names, st.integers(-(2**70), 2**70), st.randoms(use_true_random=False))
def test_a_key_belongs_to_the_item_whatever_stands_beside_it(ids, seed, random):
    together = dict(zip(ids, tie_keys(pa.array(ids), seed, "hard").tolist(), strict=True))
    shuffled = random.sample(ids, len(ids))
    assert dict(zip(shuffled, tie_keys(pa.array(shuffled), seed, "hard").tolist(), strict=True)) == together
    for item, key in together.items():
        assert tie_keys(pa.array(["x" * 40, item, "y"]).slice(1, 1), seed, "hard").tolist() == [key]


def test_keys_are_pinned_so_that_a_shortlist_can_be_made_again_years_later():
    assert tie_keys(pa.array(["bp-0123456789abcdef", "bp-fedcba9876543210"]), 7, "hard").tolist() == PINNED


def test_ids_seeds_and_purposes_all_tell():
    ids = pa.array([f"bp-{i:016x}" for i in range(10_000)])
    columns = [tie_keys(ids, seed, purpose) for seed, purpose in [(0, "hard"), (1, "hard"), (0, "random")]]
    assert len(np.unique(np.concatenate(columns))) == 30_000
    assert len(set(tie_keys(pa.array(["", "a", "a\0"]), 0, "hard").tolist())) == 3


def test_keys_read_as_numbers_are_uniform_and_unrelated():
    ids = pa.array([f"bp-{i:016x}" for i in range(100_000)])
    one, other = uniform(tie_keys(ids, 0, "hard")), uniform(tie_keys(ids, 0, "random"))
    counts = np.histogram(one, bins=20, range=(0, 1))[0]
    assert np.all(np.abs(counts - 5000) < 5 * np.sqrt(5000))
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.02
    assert abs(np.corrcoef(one, np.arange(100_000))[0, 1]) < 0.02


def test_no_items_no_keys():
    assert tie_keys(pa.array([], pa.string()), 0, "hard").size == 0
