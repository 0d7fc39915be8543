"""Owns where the embedded example lies on disk: the shipped model's folder, and a pool file written on demand."""

import json
from pathlib import Path
from typing import Any

from budgetplan.demo.task import make_pool


def demo_model_path() -> Path:
    """Return the folder of the shipped model, which any engine loads as a local path."""
    return Path(__file__).parent / "model"


def write_demo_pool(path: Path, n: int = 1000, seed: int = 0, *, answers: bool = True) -> Path:
    """Write the demo's pool as JSONL, replacing the file in one step, and return its path."""
    rows: list[dict[str, Any]] = [dict(row) for row in make_pool(n, seed)]
    if not answers:
        for row in rows:
            del row["answer"]
    return _write_rows(path, rows)


def _write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    partial = path.with_name(path.name + ".partial")
    partial.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return partial.replace(path)


def write_unanswered_pool(path: Path, *, answers: bool = False) -> Path:
    """Write the prompts that the demo buys labels for; with their answers only to judge by them what was done."""
    return write_demo_pool(path, n=400, seed=1, answers=answers)


def write_demo_test(path: Path, n: int = 200) -> Path:
    """Write held-out prompts with their answers; none of them is in a pool."""
    return _write_rows(path, [dict(row) for row in make_pool(n, seed=2, split="test")])


def demo_settings() -> dict[str, Any]:
    """Return what the example is probed with: its own model, its prompts as they are, K = 8."""
    return {
        "model": str(demo_model_path()),
        "template": "none",
        "k": 8,
        "max_tokens": 64,
        "seed": 0,
    }
