"""Reports as JSON documents (`--json`): one on stdout, numbers that do not exist as null."""

import dataclasses
import json
import math
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import typer


def print_json(document: dict[str, Any]) -> None:
    """Print one document."""
    typer.echo(json.dumps(plain(document), ensure_ascii=False, indent=2, allow_nan=False))


def plain(value: Any) -> Any:
    """Anything a report holds as what JSON can say."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else float(value)
    if isinstance(value, pa.Table):
        return plain(value.to_pylist())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"no JSON for {type(value).__name__}")
