import numpy as np
import pyarrow as pa
import pytest

from budgetplan.selection.candidates import Candidates

TABLE = pa.table(
    {
        "item_id": pa.chunked_array([["bp-a", "bp-b"], ["bp-c"]]),
        "p_hat": [0.5, None, None],
        "p_mean": [0.5, None, None],
        "learnable": [0.9, None, None],
        "learnable_horizon": [0.8, None, None],
        "k": [2, 0, 0],
        "first_correct": [1, None, None],
        "place": [1.0, 0.25, None],
        "source": ["verified", "signals", None],
        "eligible": [True, True, None],
    }
)


def test_a_table_with_nulls_becomes_columns():
    pool = Candidates.from_table(TABLE)
    assert pool.first_correct.tolist() == [1, -1, -1]
    assert pool.source.tolist() == ["verified", "signals", ""]
    assert pool.eligible.all()
    assert pool.verified.tolist() == [True, False, False]
    np.testing.assert_array_equal(pool.location, [0.5, 0.25, np.nan])
    np.testing.assert_array_equal(pool.learnable_horizon, [0.8, np.nan, np.nan])
    assert len(pool) == 3


def test_without_a_column_every_item_is_available_and_null_means_the_same():
    assert Candidates.from_table(TABLE).available.tolist() == [True, True, True]
    told = TABLE.append_column("available", pa.array([False, None, True]))
    assert Candidates.from_table(told).available.tolist() == [False, True, True]


def test_columns_of_different_length_are_refused():
    pool = Candidates.from_table(TABLE)
    columns = {name: getattr(pool, name) for name in Candidates.__dataclass_fields__}
    with pytest.raises(ValueError, match="different length"):
        Candidates(**columns | {"k": np.array([1])})
