import numpy as np
import pyarrow as pa
import pytest

from budgetplan.selection.candidates import SIGNALS, VERIFIED, Candidates


def _pool(p_hat=(), agreement=(), k=10, first_correct=None, eligible=None, available=None, nothing=0):
    """Items with p̂ first, then items with agreement only, then `nothing` items with neither."""
    n_known, n_signals = len(p_hat), len(agreement)
    items = n_known + n_signals + nothing
    p = np.concatenate([np.asarray(p_hat, float), np.full(items - n_known, np.nan)])
    counted = np.where(np.isnan(p), 0, k)
    p_mean = (0.6 + np.rint(np.nan_to_num(p) * k)) / (k + 1.1)
    p_mean[np.isnan(p)] = np.nan
    first = np.full(items, -1) if first_correct is None else np.asarray(first_correct)
    return Candidates(
        item_id=pa.array([f"bp-{i:016x}" for i in range(items)]),
        p_hat=p,
        p_mean=p_mean,
        learnable=1 - p_mean**8 - (1 - p_mean) ** 8,
        learnable_horizon=1 - p_mean**2 - (1 - p_mean) ** 12,
        k=counted.astype(np.int64),
        first_correct=first.astype(np.int8),
        place=np.concatenate([np.full(n_known, np.nan), np.asarray(agreement, float), np.full(nothing, np.nan)]),
        source=np.array([VERIFIED] * n_known + [SIGNALS] * n_signals + [""] * nothing, dtype=np.str_),
        eligible=np.ones(items, np.bool_) if eligible is None else np.asarray(eligible, np.bool_),
        available=np.ones(items, np.bool_) if available is None else np.asarray(available, np.bool_),
    )


def _take(pool, rows):
    """The same items in another row order."""
    columns = {name: getattr(pool, name) for name in Candidates.__dataclass_fields__}
    rows = np.asarray(rows)
    return Candidates(**{name: c.take(pa.array(rows)) if name == "item_id" else c[rows] for name, c in columns.items()})


@pytest.fixture(scope="session")
def pool_of():
    return _pool


@pytest.fixture(scope="session")
def reordered():
    return _take


@pytest.fixture(scope="session")
def ids_of():
    """The picked item_ids, in rank order."""
    return lambda pool, choice: pool.item_id.take(pa.array(choice.order)).to_pylist()
