from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from budgetplan.difficulty.calibration import FEWEST_ITEMS
from budgetplan.difficulty.features import features_of
from budgetplan.steps.signals import RunSignals
from budgetplan.steps.unanswered import Unanswered, unanswered

K = 4


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Items with random signals, and how often each of K samples was right; k is 0 where nobody knows."""

    agreement: NDArray[np.float64]
    n_correct: NDArray[np.int64]
    k: NDArray[np.int64]

    def seen(self, order: NDArray[np.intp] | None = None) -> Unanswered:
        """What is made of them, in this order of the file."""
        n = len(self.k)
        order = np.arange(n) if order is None else order
        signals = signals_of(pa.table({"agreement": self.agreement}).take(order))
        return unanswered(signals, ids(order), self.n_correct[order], self.k[order])


def signals_of(table: pa.Table) -> RunSignals:
    """Items with these signals and K samples each, no prompt like another."""
    n = table.num_rows
    table = table.append_column("n_samples", pa.array(np.full(n, K)))
    features = features_of(table, np.full((n, 1), -1), np.zeros((n, 0)))
    return RunSignals(table, features, "the verifier math", None, single_pass=False)


def ids(items: NDArray[np.intp]) -> pa.ChunkedArray:
    return pa.chunked_array([[f"bp-{item:016x}" for item in items]])


def known(n_known: int, n_unknown: int = 20, seed: int = 0) -> Known:
    rng = np.random.default_rng(seed)
    agreement = rng.integers(1, K + 1, size=n_known + n_unknown) / K
    k = np.repeat([K, 0], [n_known, n_unknown])
    return Known(agreement, rng.binomial(k, agreement).astype(np.int64), k)


def replaced(before: Known, item: int, n_correct: int) -> Known:
    changed = before.n_correct.copy()
    changed[item] = n_correct
    return Known(before.agreement, changed, before.k)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 39), st.integers(0, K))
def test_no_item_is_predicted_by_its_own_label(item: int, n_correct: int) -> None:
    """Its prediction stays as it is, to the last bit, while others may learn from the new label."""
    before = known(40)
    after = replaced(before, item, n_correct)
    blind_before, blind_after = before.seen().blind, after.seen().blind
    assert blind_before is not None
    assert blind_after is not None
    assert blind_after[item] == blind_before[item]
    if n_correct != before.n_correct[item]:
        assert not np.array_equal(blind_after, blind_before)


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(30)))
def test_the_order_of_the_file_does_not_matter(order: list[int]) -> None:
    items = known(20, 10)
    one, other = items.seen(), items.seen(np.array(order))
    np.testing.assert_allclose(other.place, one.place[order], rtol=1e-9)
    assert one.blind is not None
    assert other.blind is not None
    np.testing.assert_allclose(other.blind, one.blind[order], rtol=1e-6)


def test_too_few_judged_items_calibrate_nothing() -> None:
    assert known(FEWEST_ITEMS - 1).seen().calibrated is None
    assert known(FEWEST_ITEMS - 1).seen().blind is None
    calibrated = known(FEWEST_ITEMS).seen().calibrated
    assert calibrated is not None
    assert calibrated.calibration.n_items == FEWEST_ITEMS
    assert np.isfinite(calibrated.p).all()


def test_blind_predictions_are_held_out_where_there_is_a_label() -> None:
    seen = known(40).seen()
    assert seen.calibrated is not None
    assert seen.blind is not None
    assert np.array_equal(seen.blind[:40], seen.calibrated.held_out[:40])
    assert np.array_equal(seen.blind[40:], seen.calibrated.p[40:])
    assert not np.array_equal(seen.blind[:40], seen.calibrated.p[:40])
