"""What a training folder says of its updates: the rewards of whole groups, and the trainer's metrics.

Invariant: every update is in there once, however often the training was killed and resumed.
"""

import io
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from budgetplan.validation.checkpoints import checkpoints, drop_partial

GROUPS_FILE = "groups.jsonl"

GROUPS_SCHEMA = pa.schema(
    [
        ("step", pa.int64()),  # 1-based update
        ("position", pa.int64()),  # of the group in its update
        ("item_id", pa.string()),
        ("rewards", pa.list_(pa.float64())),  # null: the sample got no reward
        ("n_truncated", pa.int64()),
        ("mean_tokens", pa.float64()),
    ]
)
METRICS_SCHEMA = pa.schema([("step", pa.int64()), ("name", pa.string()), ("value", pa.float64())])

METRIC_NAMES = {
    "reward": "reward",
    "reward_std": "reward_deviation",
    "entropy": "entropy",
    "kl": "kl",
    "completions/mean_length": "mean_tokens",
    "completions/clipped_ratio": "truncated_share",
    "learning_rate": "learning_rate",
    "grad_norm": "grad_norm",
    "loss": "loss",
    "step_time": "seconds",
}
"""The trainer's name to ours."""

_LINES = pa.schema(
    [
        ("step", pa.int64()),
        ("item_id", pa.list_(pa.string())),
        ("rewards", pa.list_(pa.list_(pa.float64()))),
        ("n_truncated", pa.list_(pa.int64())),
        ("mean_tokens", pa.list_(pa.float64())),
    ]
)


def append_groups(folder: Path, step: int, columns: Mapping[str, list[object]]) -> None:
    """Add one update as one line; `columns` holds item_id, rewards, n_truncated and mean_tokens, one per group."""
    with (folder / GROUPS_FILE).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"step": step, **columns}) + "\n")


def rewind(folder: Path) -> None:
    """Put the folder of a killed training back to its last whole checkpoint: what came later is trained again."""
    drop_partial(folder)
    found = checkpoints(folder)
    _forget_after(folder, found[-1].step if found else 0)


def _forget_after(folder: Path, step: int) -> None:
    """Drop the groups of updates after a step, and a line that a kill left torn."""
    path = folder / GROUPS_FILE
    if not path.exists():
        return
    kept = [line for line in _whole_lines(path) if json.loads(line)["step"] <= step]
    partial = path.with_suffix(".partial")
    partial.write_bytes(b"".join(kept))
    partial.replace(path)


def groups(folder: Path) -> pa.Table:
    """Read every group with its rewards, in order (`GROUPS_SCHEMA`)."""
    path = folder / GROUPS_FILE
    lines = _whole_lines(path) if path.exists() else []
    if not lines:
        return GROUPS_SCHEMA.empty_table()
    from pyarrow import json as arrow_json

    options = arrow_json.ParseOptions(explicit_schema=_LINES)
    updates = arrow_json.read_json(io.BytesIO(b"".join(lines)), parse_options=options).combine_chunks()
    return _exploded(updates)


def rewards_by_update(folder: Path) -> list[NDArray[np.float64]]:
    """Read the rewards of each update, groups × samples, nan where a sample has none."""
    table = groups(folder)
    steps = table["step"].to_numpy()
    flat = pc.list_flatten(table["rewards"]).to_numpy().astype(np.float64)
    matrix = flat.reshape(table.num_rows, -1) if table.num_rows else np.empty((0, 0))
    return [matrix[steps == step] for step in np.unique(steps)]


def metrics(folder: Path) -> pa.Table:
    """Read the trainer's metrics up to the last complete checkpoint, under our names (`METRICS_SCHEMA`)."""
    found = checkpoints(folder)
    if not found:
        return METRICS_SCHEMA.empty_table()
    history = json.loads((found[-1].folder / "trainer_state.json").read_text(encoding="utf-8"))["log_history"]
    rows = [
        (entry["step"], name, float(entry[theirs]))
        for entry in history
        for theirs, name in METRIC_NAMES.items()
        if entry.get(theirs) is not None
    ]
    columns = [pa.array([row[place] for row in rows], field.type) for place, field in enumerate(METRICS_SCHEMA)]
    return pa.table(columns, schema=METRICS_SCHEMA)


def _whole_lines(path: Path) -> list[bytes]:
    return [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


def _exploded(updates: pa.Table) -> pa.Table:
    """Turn one row per update into one row per group."""
    parents = pc.list_parent_indices(updates["item_id"]).combine_chunks()
    lengths = pc.list_value_length(updates["item_id"]).to_numpy()
    position = np.arange(len(parents)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    flat = {name: pc.list_flatten(updates[name]) for name in ("item_id", "rewards", "n_truncated", "mean_tokens")}
    table = pa.table({"step": updates["step"].take(parents), "position": pa.array(position), **flat})
    return table.select(GROUPS_SCHEMA.names).cast(GROUPS_SCHEMA)
