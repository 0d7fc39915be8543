"""Batches for the judge, and a place for users' verifiers."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest


@pytest.fixture
def batch() -> Callable[..., pa.Table]:
    """Build a batch from texts and golds (a gold alone stands for every row)."""

    def build(
        texts: Sequence[str],
        gold: str | Sequence[str | None] | None,
        finish_reason: str | None = None,
        columns: Sequence[str | None] | None = None,
    ) -> pa.Table:
        golds = [gold] * len(texts) if gold is None or isinstance(gold, str) else list(gold)
        return pa.table(
            {
                "text": pa.array(texts, pa.string()),
                "finish_reason": pa.array([finish_reason] * len(texts), pa.string()),
                "gold": pa.array(golds, pa.string()),
                "columns": pa.array(columns or [None] * len(texts), pa.string()),
            }
        )

    return build


@pytest.fixture
def users_file(tmp_path: Path) -> Callable[[str], str]:
    """Write a user's `mine.py` and return the verifier `.../mine.py:f`."""

    def write(source: str) -> str:
        path = tmp_path / "mine.py"
        path.write_text(source)
        return f"{path}:f"

    return write
