"""The manifest beside a shortlist: what was chosen, from what, and how.

Invariant: it holds all that the annotators' files must not show, and valid JSON (no NaN).
"""

import json
import math
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from budgetplan.annotation.json_lines import json_lines
from budgetplan.annotation.landing import Unfinished

FORMAT_VERSION = 1


def write_manifest(settings: Mapping[str, Any], items: pa.Table, path: Unfinished) -> None:
    """Write the settings and `items`, one line each in row order, to a file from `landing`; nan becomes null."""
    head = json.dumps(
        _finite({"format_version": FORMAT_VERSION, **settings}), ensure_ascii=False, indent=1, default=str
    )
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.write(head.removesuffix("\n}") + ',\n "items": [')
        between = "\n  "
        for lines in json_lines(items):
            stream.write(between + ",\n  ".join(lines))
            between = ",\n  "
        stream.write("\n ]\n}\n")


def _finite(value: Any) -> Any:
    """Replace nan and infinity by None, at any depth."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value
