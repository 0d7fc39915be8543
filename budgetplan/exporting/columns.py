"""The columns of a training set: chats as lists of messages, and everything else that travels along.

Invariant: no column is lost, and none takes the place of one that the framework fills in itself.
"""

import json
from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

_CHAT = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))


def chats(messages: pa.ChunkedArray) -> pa.Array:
    """Read chats, JSON [{"role", "content"}, ...], into lists of messages."""
    return pa.array([json.loads(chat) for chat in messages.to_pylist()], _CHAT)


def beside(rows: pa.Table, replaced: Collection[str], taken: Collection[str]) -> dict[str, pa.ChunkedArray]:
    """Take all columns but the `replaced` ones, nan as missing.

    The user's columns that are named like one of the framework's own (`taken`) get `user_` in front.
    """
    columns = {name: _finite(rows[name]) for name in rows.column_names if name not in replaced}
    names = {name: name for name in columns}
    for name in columns:
        while names[name] in taken or (names[name] != name and names[name] in columns):
            names[name] = f"user_{names[name]}"
    return {names[name]: column for name, column in columns.items()}


def _finite(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.if_else(pc.is_finite(column), column, None) if pa.types.is_floating(column.type) else column
