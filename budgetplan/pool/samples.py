"""Completions sampled elsewhere, as columns. A sample is known by its row's content, whatever the order."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import duckdb
import pyarrow as pa

from budgetplan.errors import PoolError
from budgetplan.pool.broken import shorten
from budgetplan.pool.diagnosis import first_bad
from budgetplan.pool.fields import DETECTED, Fields, Request
from budgetplan.pool.merging import ROWS_PER_BATCH, Conflicts
from budgetplan.pool.reader import Pool, load_rows, merged_pool
from budgetplan.pool.sources import Source, unreadable
from budgetplan.pool.workspace import every, pointer, workspace
from budgetplan.records import SAMPLES_SCHEMA

# Rows of equal content are told apart by how often it came before, so that it does not matter which is which.
_SAMPLE_ROW = """
CREATE TABLE sample_row AS
SELECT part, row, item_id, model, md5(concat_ws(' ', item_id, model, content,
    row_number() OVER (PARTITION BY item_id, model, content ORDER BY place))) AS source
FROM pool_row SEMI JOIN item USING (item_id)"""

_MACROS = """
CREATE MACRO finish_reason(given) AS CASE
    WHEN lower(given) IN ('stop', 'eos', 'eos_token', 'end_turn', 'stop_sequence') THEN 'stop'
    WHEN lower(given) IN ('length', 'max_tokens', 'max_length', 'max_new_tokens') THEN 'length'
    WHEN lower(given) IN ('error', 'abort', 'content_filter') THEN 'error' END;
CREATE MACRO completion_fields(json) AS CASE WHEN is_object(json) THEN from_json(json, '{
    "text": "JSON", "finish_reason": "VARCHAR", "mean_logprob": "VARCHAR", "n_tokens": "VARCHAR", "model": "VARCHAR"
}') END;
CREATE MACRO completion_fault(json, f) AS CASE
    WHEN is_string(json) OR json = 'null' THEN NULL
    WHEN NOT is_object(json) THEN 'is neither text nor an object'
    WHEN f.text IS NULL AND NOT json_exists(json, '/text') AND finish_reason(f.finish_reason) IS DISTINCT FROM 'error'
    THEN 'has no text'
    WHEN f.text <> 'null' AND NOT is_string(f.text) THEN 'has a text that is no text'
    WHEN f.n_tokens IS NOT NULL AND try_cast(f.n_tokens AS INTEGER) IS NULL THEN 'has an n_tokens that is no number'
    WHEN f.mean_logprob IS NOT NULL AND try_cast(f.mean_logprob AS DOUBLE) IS NULL
    THEN 'has a mean_logprob that is no number' END;
"""

_LISTS = "CREATE MACRO listed(given, items) AS items;"
_SINGLES = """
CREATE MACRO listed(given, items) AS CASE
    WHEN is_list(given) THEN items WHEN coalesce(given, 'null') IN ('null', '""') THEN []
    WHEN is_string(given) OR is_object(given) THEN [given] ELSE [to_json(given::VARCHAR)] END;"""
"""The completions in what a row gives, whose elements are `items` if it is a list."""


class Samples(NamedTuple):
    """What `read_samples` found: the pool, and a table of SAMPLES_SCHEMA in no particular order."""

    pool: Pool
    table: pa.Table


def read_samples(
    sources: Sequence[str], *, fields: Fields = DETECTED, conflicts: Conflicts | None = None, reference: bool = False
) -> Samples:
    """Read one or several files of rows that bring their completions, as one pool and one table of samples.

    A completion is a text, or an object with `text` and any of `finish_reason`, `mean_logprob`, `n_tokens`, `model`;
    null, or a null text, is a sample that failed. A row may have no completions, and may name the `model` of all.
    A file named twice is read once.
    Samples of items that `conflicts="drop"` leaves out are left out too. Raises PoolError.

    Of a `reference` model, rows may bring one text instead of a list (a number is a text too, an empty text is none),
    and what they call an answer is the model's, never a known one.
    """
    given = replace(fields, answer="") if reference else fields
    request = Request(given, "budgetplan import-samples", samples=True, singles=reference)
    with workspace() as con:
        opened, used = load_rows(con, list(dict.fromkeys(sources)), request)
        pool = merged_pool(con, opened, used[0], conflicts)
        con.execute(_MACROS + (_SINGLES if reference else _LISTS))
        for part, source in enumerate(opened):
            if reference:
                _add_singles(con, source, part, used[part])
            _refuse_unlisted(con, source, part, used[part])
        con.execute(_SAMPLE_ROW)
        tables = [_samples(con, source, part, used[part]) for part, source in enumerate(opened)]
    return Samples(pool, pa.concat_tables(tables))


def _add_singles(con: duckdb.DuckDBPyConnection, source: Source, part: int, fields: Fields) -> None:
    """Let rows with one text, or none, stand beside those with a list."""
    con.execute(f"""
        UPDATE pool_row SET content = md5(coalesce(given, 'null'))
        FROM (SELECT row, json_extract(doc, {pointer(fields.completions or "")}) AS given FROM {source.view}) AS single
        WHERE part = {part} AND content IS NULL AND pool_row.row = single.row""")


def _refuse_unlisted(con: duckdb.DuckDBPyConnection, source: Source, part: int, fields: Fields) -> None:
    if not con.sql(f"SELECT 1 FROM pool_row WHERE part = {part} AND content IS NULL LIMIT 1").fetchall():
        return
    unlisted = f"row IN (SELECT row FROM pool_row WHERE part = {part} AND content IS NULL)"
    bad = first_bad(con, source, unlisted, f"json_extract(doc, {pointer(fields.completions or '')})")
    if bad:
        found = "is missing" if bad.shown is None else f"is no list: {shorten(bad.shown)}"
        raise PoolError(
            f"{source.place(bad.row)}: no completions: '{fields.completions}' {found}{bad.others}",
            hint="A row without samples has an empty list: [].",
        )


def _samples(con: duckdb.DuckDBPyConnection, source: Source, part: int, fields: Fields) -> pa.Table:
    query = f"""
        SELECT item_id, source, position::INTEGER AS position, coalesce(stripped(f.model), model) AS model,
            CASE WHEN fault IS NOT NULL THEN error(fault) WHEN is_string(json) THEN json->>'$'
                 ELSE coalesce(f.text->>'$', '') END AS text,
            try_cast(f.n_tokens AS INTEGER) AS n_tokens,
            CASE WHEN json = 'null' OR (is_object(json) AND f.text IS NULL) THEN 'error'
                 ELSE finish_reason(f.finish_reason) END AS finish_reason,
            CASE WHEN isfinite(try_cast(f.mean_logprob AS DOUBLE)) THEN f.mean_logprob::DOUBLE END AS mean_logprob
        FROM ({_completions(source, fields)}) JOIN sample_row USING (row) WHERE part = {part}"""
    try:
        return con.sql(query).to_arrow_reader(ROWS_PER_BATCH).read_all().cast(SAMPLES_SCHEMA)
    except duckdb.Error as error:
        raise _faulty(con, source, fields) or unreadable(source.name, error) from error


def _completions(source: Source, fields: Fields) -> str:
    """One row per completion, with what is wrong with it, if anything is."""
    name = fields.completions or ""
    return f"""
        SELECT *, completion_fault(json, f) AS fault FROM (
        SELECT *, completion_fields(json) AS f FROM (
        SELECT row, unnest(completions) AS json, unnest(range(len(completions))) AS position
        FROM (SELECT row, listed(json_extract(doc, {pointer(name)}), json_extract(doc, {every(name)})) AS completions
              FROM {source.view})))"""


def _faulty(con: duckdb.DuckDBPyConnection, source: Source, fields: Fields) -> PoolError | None:
    found = con.sql(f"""
        SELECT row, position, json, fault FROM ({_completions(source, fields)}) WHERE fault IS NOT NULL
        ORDER BY row, position LIMIT 1""").fetchall()
    if not found:
        return None
    row, position, value, fault = found[0]
    return PoolError(
        f"{source.place(row)}: completion {position + 1} {fault}: {shorten(value)}",
        hint='A completion is a text, or an object such as {"text": "…", "finish_reason": "stop"}.',
    )
