"""Validations in the store: what was trained on what, what training showed, and which runs measured it.

Invariant: a training is stored whole or not at all, under an id that follows from its configuration and its items, so
that the same training is never stored twice.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

BASE_MODEL = ""
"""The training id under which evaluations of the base model stand."""


@dataclass(frozen=True, slots=True)
class ValidationRow:
    """One resolved validation; `items` are those of each role: "test", "ood" and the name of every arm."""

    validation_id: str
    run_id: str
    pool_id: str
    settings: dict[str, Any]
    items: Mapping[str, Sequence[str]]
    trainings: Mapping[tuple[str, int], str]


@dataclass(frozen=True, slots=True)
class TrainingRow:
    """One finished training; `stopped` says why it ended early, if it did."""

    training_id: str
    config: dict[str, Any]
    last_step: int
    stopped: str
    seconds: float
    peak_memory_bytes: int


def save_validation(connection: duckdb.DuckDBPyConnection, validation: ValidationRow) -> None:
    """Write a validation, replacing what it said before; trainings and evaluations stay."""
    for table in ("validation_item", "validation_arm"):
        connection.execute(f"DELETE FROM {table} WHERE validation_id = ?", [validation.validation_id])
    connection.execute(
        """INSERT INTO validation VALUES (?, ?, ?, ?, now(), NULL)
           ON CONFLICT DO UPDATE SET settings = excluded.settings, created_at = now()""",
        [validation.validation_id, validation.run_id, validation.pool_id, json.dumps(validation.settings)],
    )
    for role, item_ids in validation.items.items():
        _insert_items(connection, validation.validation_id, role, item_ids)
    for (arm, seed), training_id in validation.trainings.items():
        connection.execute(
            "INSERT INTO validation_arm VALUES (?, ?, ?, ?)", [validation.validation_id, arm, seed, training_id]
        )


def _insert_items(
    connection: duckdb.DuckDBPyConnection, validation_id: str, role: str, item_ids: Sequence[str]
) -> None:
    incoming = pa.table({"item_id": pa.array(item_ids, pa.string()), "place": pa.array(range(len(item_ids)))})
    connection.register("incoming", incoming)
    connection.execute(
        "INSERT INTO validation_item SELECT ?, ?, item_id, place::INTEGER FROM incoming", [validation_id, role]
    )
    connection.unregister("incoming")


def save_verdict(connection: duckdb.DuckDBPyConnection, validation_id: str, verdict: dict[str, Any]) -> None:
    """Keep what a validation ended with."""
    connection.execute(
        "UPDATE validation SET verdict = ? WHERE validation_id = ?", [json.dumps(verdict), validation_id]
    )


def find_training(connection: duckdb.DuckDBPyConnection, training_id: str) -> TrainingRow | None:
    """The finished training with this id."""
    rows = connection.execute(
        """SELECT training_id, config, last_step, stopped, seconds, peak_memory_bytes FROM validation_run
           WHERE training_id = ?""",
        [training_id],
    ).fetchall()
    if not rows:
        return None
    found, config, *rest = rows[0]
    return TrainingRow(found, json.loads(config), *rest)


def save_training(
    connection: duckdb.DuckDBPyConnection, training: TrainingRow, groups: pa.Table, metrics: pa.Table
) -> None:
    """Write a finished training with its groups and metrics, in the caller's transaction; replaces an earlier one."""
    for table in ("validation_run", "validation_group", "validation_metric"):
        connection.execute(f"DELETE FROM {table} WHERE training_id = ?", [training.training_id])
    connection.execute(
        "INSERT INTO validation_run VALUES (?, ?, ?, ?, ?, ?, now())",
        [
            training.training_id,
            json.dumps(training.config),
            training.last_step,
            training.stopped,
            training.seconds,
            training.peak_memory_bytes,
        ],
    )
    connection.register("groups", groups)
    connection.execute(
        """INSERT INTO validation_group
           SELECT ?, step, position, item_id, rewards, n_truncated, mean_tokens FROM groups ORDER BY step, position""",
        [training.training_id],
    )
    connection.register("metrics", metrics)
    connection.execute(
        "INSERT INTO validation_metric SELECT ?, step, name, value FROM metrics ORDER BY step, name",
        [training.training_id],
    )
    connection.unregister("groups")
    connection.unregister("metrics")


def training_groups(connection: duckdb.DuckDBPyConnection, training_ids: Sequence[str]) -> pa.Table:
    """The groups of some trainings: training_id, step, position, item_id, rewards (null: no reward)."""
    return connection.sql(
        """SELECT training_id, step, position, item_id, rewards FROM validation_group
           WHERE list_contains(?, training_id) ORDER BY training_id, step, position""",
        params=[list(training_ids)],
    ).to_arrow_table()


def save_evaluation(connection: duckdb.DuckDBPyConnection, training_id: str, step: int, run_id: str) -> None:
    """Say that a run measures a training's model after so many steps; said again, it changes nothing."""
    connection.execute(
        "DELETE FROM evaluation WHERE training_id = ? AND step = ? AND run_id = ?", [training_id, step, run_id]
    )
    connection.execute("INSERT INTO evaluation VALUES (?, ?, ?)", [training_id, step, run_id])


def measured_steps(connection: duckdb.DuckDBPyConnection, training_id: str) -> list[int]:
    """The steps after which a training's model was measured, in order."""
    rows = connection.execute(
        "SELECT DISTINCT step FROM evaluation WHERE training_id = ? ORDER BY step", [training_id]
    ).fetchall()
    return [step for (step,) in rows]


def item_scores(
    connection: duckdb.DuckDBPyConnection, run_id: str, verifier: str, item_ids: Sequence[str], n_samples: int
) -> pa.Table:
    """How a run did on some items, from its first samples of each, in the order asked for.

    Columns: item_id, n (counted samples), n_correct, share (null where none counted), n_truncated, mean_tokens.
    """
    asked = pa.table({"item_id": pa.array(item_ids, pa.string()), "place": pa.array(range(len(item_ids)), pa.int64())})
    connection.register("asked", asked)
    scores = connection.sql(
        """SELECT item_id, count(*) FILTER (counted)::INTEGER AS n,
                  count(*) FILTER (outcome = 'correct')::INTEGER AS n_correct,
                  CASE WHEN n > 0 THEN n_correct / n END AS share,
                  count(*) FILTER (counted AND finish_reason = 'length')::INTEGER AS n_truncated,
                  avg(n_tokens) FILTER (finish_reason IS DISTINCT FROM 'error') AS mean_tokens
           FROM asked LEFT JOIN (
               SELECT item_id, outcome, finish_reason, n_tokens,
                      outcome IN ('correct', 'wrong', 'no_answer', 'truncated') AS counted
               FROM completion JOIN verdict USING (run_id, item_id, sample_index)
               WHERE run_id = ? AND verifier = ? AND sample_index < ?) USING (item_id)
           GROUP BY item_id, place ORDER BY place""",
        params=[run_id, verifier, n_samples],
    ).to_arrow_table()
    connection.unregister("asked")
    return scores


@dataclass(frozen=True, slots=True)
class TrainingGain:
    """What one training gained over the base of its validation, in points."""

    training_id: str
    model: str
    arm: str
    points: float


def all_gains(connection: duckdb.DuckDBPyConnection) -> list[TrainingGain]:
    """Every training of a finished validation, as the last one that measured it says."""
    rows = connection.execute(
        """SELECT verdict, model FROM validation JOIN probe_run USING (run_id)
           WHERE verdict IS NOT NULL ORDER BY validation.created_at"""
    ).fetchall()
    found = {
        gain["training_id"]: TrainingGain(gain["training_id"], model, gain["arm"], gain["points"])
        for verdict, model in rows
        for gain in json.loads(verdict)["gains"]
    }
    return list(found.values())


def item_rows(connection: duckdb.DuckDBPyConnection, item_ids: Sequence[str]) -> pa.Table:
    """What is asked for some items, in the order asked for: item_id, prompt, messages (JSON, null for a text), row."""
    asked = pa.table({"item_id": pa.array(item_ids, pa.string()), "row": pa.array(range(len(item_ids)), pa.int64())})
    connection.register("asked", asked)
    rows = connection.sql(
        "SELECT item_id, prompt, messages, row FROM asked JOIN item USING (item_id) ORDER BY row"
    ).to_arrow_table()
    connection.unregister("asked")
    return rows
