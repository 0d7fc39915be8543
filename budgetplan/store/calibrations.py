"""Calibrations as they were fitted, one after the other, as JSON.

Invariant: a run's newest calibration is the last that was fitted, whenever labels came or went; one that is the same as
the newest is not stored again.
"""

import json
from typing import Any

import duckdb


def save_calibration(connection: duckdb.DuckDBPyConnection, run_id: str, pool_id: str, model: dict[str, Any]) -> None:
    """Add a calibration, unless it is the one stored last."""
    if model != last_calibration(connection, run_id, pool_id):
        connection.execute(
            "INSERT INTO calibration VALUES (?, ?, now(), ?)", [run_id, pool_id, json.dumps(model, allow_nan=False)]
        )


def last_calibration(connection: duckdb.DuckDBPyConnection, run_id: str, pool_id: str) -> dict[str, Any] | None:
    """The calibration of a run on a pool that was stored last."""
    rows = connection.execute(
        "SELECT model FROM calibration WHERE run_id = ? AND pool_id = ? ORDER BY fitted_at DESC LIMIT 1",
        [run_id, pool_id],
    ).fetchall()
    return json.loads(rows[0][0]) if rows else None
