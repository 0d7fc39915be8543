from pathlib import Path

from made_pools import imported, make_pool

from budgetplan.steps.estimates import ESTIMATE_COLUMNS, SIGNAL_COLUMNS
from budgetplan.store.pools import RESERVED_COLUMNS


def test_every_number_of_ours_has_a_name_that_no_column_of_the_user_takes() -> None:
    assert {*ESTIMATE_COLUMNS, *SIGNAL_COLUMNS} <= RESERVED_COLUMNS


def test_a_column_of_the_user_that_is_called_like_a_signal_stands_beside_it(tmp_path: Path) -> None:
    rows = [row | {"n_answers": "many"} for row in make_pool(6).rows]
    table = imported(tmp_path, rows).rank(out=tmp_path / "ranking.jsonl").table
    assert set(table["user_n_answers"].to_pylist()) == {"many"}
    assert all(isinstance(number, int) for number in table["n_answers"].to_pylist())
