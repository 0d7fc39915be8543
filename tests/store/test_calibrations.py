from typing import Any

import duckdb
import pytest

from budgetplan.store.calibrations import last_calibration, save_calibration
from budgetplan.store.connection import Store, scalar


def n_stored(connection: duckdb.DuckDBPyConnection) -> int:
    return int(scalar(connection, "SELECT count(*) FROM calibration"))


def save(store: Store, model: dict[str, Any], run: str = "run-1", pool: str = "pool-1") -> None:
    with store.writing() as connection:  # of its own, since a transaction has one time
        save_calibration(connection, run, pool, model)


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store") / "store.duckdb")


def test_the_newest_is_read_back_as_it_was_written(store: Store) -> None:
    model = {"weights": {"score": 0.1 + 0.2, "agreement": -1e-17}, "losses": [], "reference": None}
    save(store, {"weights": {}})
    save(store, model)
    with store.reading() as connection:
        assert last_calibration(connection, "run-1", "pool-1") == model


def test_the_same_twice_is_stored_once_and_a_change_back_is_a_change(store: Store) -> None:
    for intercept in (1.0, 1.0, 2.0, 1.0, 1.0):
        save(store, {"intercept": intercept})
    with store.reading() as connection:
        assert n_stored(connection) == 3
        assert last_calibration(connection, "run-1", "pool-1") == {"intercept": 1.0}


def test_runs_and_pools_have_their_own(store: Store) -> None:
    save(store, {"intercept": 1.0})
    save(store, {"intercept": 2.0}, pool="pool-2")
    save(store, {"intercept": 3.0}, run="run-2")
    with store.reading() as connection:
        assert last_calibration(connection, "run-1", "pool-1") == {"intercept": 1.0}
        assert last_calibration(connection, "run-2", "pool-2") is None


def test_what_is_no_number_is_never_stored(store: Store) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        save(store, {"intercept": float("nan")})
    with store.reading() as connection:
        assert n_stored(connection) == 0
