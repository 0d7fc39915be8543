"""Why rows cannot be read: the first bad one, with its place, its value and the fix."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from budgetplan.errors import PoolError
from budgetplan.pool.broken import broken_json, shorten
from budgetplan.pool.chats import NotAChat
from budgetplan.pool.fields import Fields
from budgetplan.pool.sources import Source, unreadable
from budgetplan.pool.workspace import pointer

_MEDIA = ("tools", "images", "image")


@dataclass(frozen=True, slots=True)
class BadRow:
    """The first of `count` rows with the same fault, and the JSON that shows it."""

    row: int
    shown: str | None
    count: int

    @property
    def others(self) -> str:
        """How many more there are, for the end of a message."""
        return f" ({self.count - 1:,} more like it)" if self.count > 1 else ""


def first_bad(con: duckdb.DuckDBPyConnection, source: Source, condition: str, shown: str) -> BadRow | None:
    """Find the first row that meets a SQL condition on `row` and `doc`, with the value of another expression."""
    query = f"SELECT min(row), arg_min({shown}, row), count(*) FROM {source.view} WHERE {condition}"
    row, value, count = con.sql(query).fetchall()[0]
    return BadRow(row, value, count) if count else None


def why_unreadable(con: duckdb.DuckDBPyConnection, source: Source, fields: Fields, error: duckdb.Error) -> PoolError:
    """Name the row that made a query fail; where there is none, what the query said."""
    if bad := first_bad(con, source, "NOT json_valid(doc)", "doc"):
        _, reason, excerpt = broken_json((bad.shown or "").strip())
        return PoolError(
            f"{source.place(bad.row)}: broken JSON: {reason}: {excerpt}{bad.others}", hint=_mend(source, bad)
        )
    if fields.answer:
        answer = f"json_extract(doc, {pointer(fields.answer)})"
        if bad := first_bad(con, source, f"is_unreadable_answer({answer})", answer):
            return PoolError(
                f"{source.place(bad.row)}: the answer is an object without 'ground_truth': "
                f"{shorten(bad.shown or '')}{bad.others}",
                hint="Name the field that holds the answer itself with --answer-field NAME.",
            )
    return unreadable(source.name, error)


def refuse_empty(con: duckdb.DuckDBPyConnection, source: Source) -> None:
    """Raise PoolError where no row has any field: there are no rows, or they are no objects."""
    if not con.sql(f"SELECT 1 FROM {source.view} LIMIT 1").fetchall():
        raise PoolError(f"{source.name} is empty: it has no rows.", hint="A pool has one prompt per row.")
    if bad := first_bad(con, source, "json_type(doc) <> 'OBJECT'", "doc"):
        raise _not_an_object(source, bad)


def refuse_media(con: duckdb.DuckDBPyConnection, source: Source, names: Sequence[str]) -> None:
    """Raise PoolError at the first row that brings images or tools beside its prompt."""
    for name in names:
        value = f"json_extract(doc, {pointer(name)})"
        is_filled = f"""coalesce({value}, 'null') NOT IN ('null', '[]', '""', '{{}}')"""
        if name.lower() in _MEDIA and (bad := first_bad(con, source, is_filled, value)):
            raise PoolError(
                f"{source.place(bad.row)}: the prompt comes with '{name}': {shorten(bad.shown or '')}{bad.others}",
                hint=f"Only text can be probed: leave such rows out, or drop '{name}' if the prompt does without it.",
            )


def refuse_promptless(con: duckdb.DuckDBPyConnection, source: Source, part: int, fields: Fields) -> None:
    """Raise PoolError at the first row that has no identity, since it has no prompt."""
    if not con.sql(f"SELECT 1 FROM pool_row WHERE part = {part} AND item_id IS NULL LIMIT 1").fetchall():
        return
    nameless = f"row IN (SELECT row FROM pool_row WHERE part = {part} AND item_id IS NULL)"
    if bad := first_bad(con, source, f"{nameless} AND json_type(doc) <> 'OBJECT'", "doc"):
        raise _not_an_object(source, bad)
    if bad := first_bad(con, source, nameless, f"json_extract(doc, {pointer(fields.prompt or '')})"):
        what = {None: "is missing", "null": "is null"}.get(bad.shown, f"is no text: {shorten(bad.shown or '')}")
        what = "is empty" if (bad.shown or "").startswith('"') else what
        raise PoolError(
            f"{source.place(bad.row)}: no prompt: '{fields.prompt}' {what}{bad.others}", hint=_mend(source, bad)
        )


def bad_chat(source: Source, row: int, why: NotAChat) -> PoolError:
    """Build the error for a chat that cannot be sampled."""
    return PoolError(
        f"{source.place(row)}: the prompt {why}.",
        hint="A chat is a list of {'role': …, 'content': …} that ends with the user's turn.",
    )


def _not_an_object(source: Source, bad: BadRow) -> PoolError:
    return PoolError(
        f"{source.place(bad.row)}: not an object with named fields: {shorten(bad.shown or '')}{bad.others}",
        hint='Each row looks like {"prompt": "…"}.',
    )


def _mend(source: Source, bad: BadRow) -> str:
    delete = f": sed -i {bad.row}d {shlex.quote(source.name)}" if source.by_line else "."
    return f"Mend that row or delete it{delete}"
