"""Probe runs: one resolved configuration each. K, pool, verifier and role are no part of its identity."""

import json
from dataclasses import dataclass
from typing import Any, Literal

import duckdb

from budgetplan.errors import NothingToDo

IMPORTED = "import"
"""The engine of runs whose samples were made elsewhere."""

Role = Literal["base", "reference", "evaluation"]
BASE: Role = "base"
"""The role of a run whose difficulty is looked for."""
REFERENCE: Role = "reference"
"""The role of a run of another model, whose answers the base run's are compared with."""
EVALUATION: Role = "evaluation"
"""The role of a run that measures a trained model, or the base model beside it; never one to rank by."""


@dataclass(frozen=True, slots=True)
class ProbeRun:
    """One resolved configuration and what it was last used on.

    `verifier` is what was asked for (`auto`, a name, `path.py:function`), `verdicts_by` the name and version it meant,
    empty before the first verdict. `role` is `base`, `reference` or `evaluation`.
    """

    run_id: str
    pool_id: str
    model: str
    revision: str
    engine: str
    config: dict[str, Any]
    k: int
    verifier: str
    verdicts_by: str
    role: str = BASE

    @property
    def judged_by(self) -> str:
        """The name of the verifier that made the verdicts, without its version."""
        return self.verdicts_by.rpartition("@")[0]


_COLUMNS = "run_id, pool_id, model, revision, engine, config, k, verifier, verdicts_by, role"


def save_run(connection: duckdb.DuckDBPyConnection, run: ProbeRun) -> None:
    """Insert a run, or bring the pool, target, verifier and role of a known one up to date."""
    connection.execute(
        f"""INSERT INTO probe_run ({_COLUMNS}, created_at, used_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, now(), now())
            ON CONFLICT DO UPDATE SET pool_id = excluded.pool_id, k = excluded.k, verifier = excluded.verifier,
                                      verdicts_by = excluded.verdicts_by, role = excluded.role, used_at = now()""",
        [
            run.run_id,
            run.pool_id,
            run.model,
            run.revision,
            run.engine,
            json.dumps(run.config),
            run.k,
            run.verifier,
            run.verdicts_by,
            run.role,
        ],
    )


def mark_used(connection: duckdb.DuckDBPyConnection, run_id: str) -> None:
    """Make a run the last used one."""
    connection.execute("UPDATE probe_run SET used_at = now() WHERE run_id = ?", [run_id])


def all_runs(connection: duckdb.DuckDBPyConnection) -> list[ProbeRun]:
    """Every run of a probe: base runs before references, and of each the last used first."""
    rows = connection.execute(
        f"""SELECT {_COLUMNS} FROM probe_run WHERE role <> '{EVALUATION}'
            ORDER BY role = '{REFERENCE}', used_at DESC, run_id"""
    ).fetchall()
    return [_run_of(row) for row in rows]


def find_any_run(connection: duckdb.DuckDBPyConnection, run_id: str) -> ProbeRun | None:
    """The run with this id, whatever its role."""
    rows = connection.execute(f"SELECT {_COLUMNS} FROM probe_run WHERE run_id = ?", [run_id]).fetchall()
    return _run_of(rows[0]) if rows else None


def _run_of(row: tuple[Any, ...]) -> ProbeRun:
    run_id, pool_id, model, revision, engine, config, k, verifier, verdicts_by, role = row
    return ProbeRun(run_id, pool_id, model, revision, engine, json.loads(config), k, verifier, verdicts_by, role)


def find_run(connection: duckdb.DuckDBPyConnection, wanted: str | None) -> ProbeRun:
    """The run with this id (or a unique beginning of it), or the last used base run."""
    runs = all_runs(connection)
    if not runs:
        raise NothingToDo("the store holds no samples yet.", hint="Sample the model: budgetplan probe POOL")
    if wanted is None:
        if runs[0].role == REFERENCE:
            raise NothingToDo(
                f"the store holds only samples of a reference model ({runs[0].model}).",
                hint="Sample the base model, whose difficulty is looked for: budgetplan probe POOL --model MODEL",
            )
        return runs[0]
    matching = [run for run in runs if run.run_id.startswith(wanted)]
    if len(matching) != 1:
        known = ", ".join(f"{run.run_id} ({run.model}, K={run.k})" for run in runs)
        raise NothingToDo(f"no single probe run is called {wanted!r}.", hint=f"The store holds {known}.")
    return matching[0]
