"""From the rows of a source to the table `pool_row`: one row each, with its identity."""

import json

import duckdb
import pyarrow as pa

from budgetplan.pool.chats import NotAChat, messages_json, parse_chat, transcript
from budgetplan.pool.diagnosis import bad_chat, refuse_empty, refuse_media, refuse_promptless, why_unreadable
from budgetplan.pool.fields import Fields, Request, detect_fields
from budgetplan.pool.sources import Source
from budgetplan.pool.workspace import literal, pointer
from budgetplan.records import item_id_of

POOL_ROW = """CREATE TABLE pool_row (
    place BIGINT, part INTEGER, row BIGINT, item_id VARCHAR, prompt VARCHAR, messages VARCHAR,
    id VARCHAR, answer VARCHAR, columns VARCHAR, model VARCHAR, content VARCHAR)"""
"""`part` counts the sources, `place` orders all rows; `content` is the digest of a row's list of completions.

A chat waits in `prompt`, as JSON, until it has its item_id.
"""

_ROWS_PER_PART = 1 << 40

_CHAT_SCHEMA = pa.schema(
    [("row", pa.int64()), ("item_id", pa.string()), ("prompt", pa.string()), ("messages", pa.string())]
)


def read_rows(con: duckdb.DuckDBPyConnection, source: Source, part: int, request: Request) -> Fields:
    """Add the rows of a source to `pool_row`; return the names of the fields in use."""
    names = _names(con, source)
    fields = detect_fields(names, request, source.name)
    refuse_media(con, source, names)
    try:
        con.execute(_insert(source, part, fields, names))
    except duckdb.Error as error:
        raise why_unreadable(con, source, fields, error) from error
    _identify_chats(con, source, part, fields)
    refuse_promptless(con, source, part, fields)
    return fields


def _names(con: duckdb.DuckDBPyConnection, source: Source) -> list[str]:
    try:
        names = con.sql(f"SELECT DISTINCT unnest(json_keys(doc)) AS name FROM {source.view} ORDER BY name").fetchall()
    except duckdb.Error as error:
        raise why_unreadable(con, source, Fields(), error) from error
    if not names:
        refuse_empty(con, source)
    return [name for (name,) in names]


def _insert(source: Source, part: int, fields: Fields, names: list[str]) -> str:
    is_text = "false" if _holds_chats(fields) else "is_string(prompt)"
    return f"""
        INSERT INTO pool_row
        WITH picked AS ({_picked(source, fields, names)}),
        lines AS (
            SELECT *, CASE WHEN {is_text} THEN newlines(prompt->>'$') END AS lines, answer_text(answer) AS given
            FROM picked),
        normal AS (SELECT *, nfc(lines) AS normal, stripped(given) AS whole_answer FROM lines),
        canonical AS (SELECT *, trimmed(normal) AS text FROM normal)
        SELECT {part * _ROWS_PER_PART} + row, {part}, row, CASE WHEN text <> '' THEN text_item_id(text) END,
            coalesce(text, prompt::VARCHAR), NULL, stripped(id->>'$'), final_answer(whole_answer), columns,
            stripped(model->>'$'), CASE WHEN is_list(completions) THEN md5(completions) END
        FROM canonical"""


def _picked(source: Source, fields: Fields, names: list[str]) -> str:
    """Parse each row once for its fields, and once more if it has columns of the user's own."""
    wanted = {"prompt": fields.prompt, "answer": fields.answer, "id": fields.id, "completions": fields.completions}
    wanted["model"] = "model" if fields.completions else None
    used = {field: name for field, name in wanted.items() if name}
    paths = ", ".join(pointer(name) for name in used.values())
    picks = ", ".join(f"picked[{index}] AS {field}" for index, field in enumerate(used, start=1))
    blanks = "".join(f", NULL::JSON AS {field}" for field in wanted if field not in used)
    own = set(names).difference(used.values())
    columns = f"json_merge_patch(doc, {literal(json.dumps(dict.fromkeys(used.values())))})" if own else "'{}'"
    return f"""
        SELECT row, {picks}{blanks}, columns
        FROM (SELECT row, json_extract(doc, [{paths}]) AS picked, {columns} AS columns FROM {source.view})"""


def _holds_chats(fields: Fields) -> bool:
    """A column called `messages` holds chats even where its cells are text, as in a CSV file."""
    return (fields.prompt or "").lower() == "messages"


def _identify_chats(con: duckdb.DuckDBPyConnection, source: Source, part: int, fields: Fields) -> None:
    """Give the chats of a source their identity, turn by turn in Python."""
    is_chat = "prompt <> 'null'" if _holds_chats(fields) else "is_list(prompt)"
    waiting = con.sql(
        f"SELECT row, prompt FROM pool_row WHERE part = {part} AND item_id IS NULL AND {is_chat} ORDER BY row"
    )
    batches = [_identified(batch, source) for batch in waiting.to_arrow_reader(4096)]
    if not batches:
        return
    con.register("chat", pa.Table.from_batches(batches))
    con.execute(f"""
        UPDATE pool_row SET item_id = chat.item_id, prompt = chat.prompt, messages = chat.messages
        FROM chat WHERE part = {part} AND pool_row.row = chat.row""")
    con.unregister("chat")


def _identified(batch: pa.RecordBatch, source: Source) -> pa.RecordBatch:
    rows = batch.column(0).to_pylist()
    found = [_identify(source, row, value) for row, value in zip(rows, batch.column(1).to_pylist(), strict=True)]
    return pa.RecordBatch.from_pylist(
        [{"row": row, **one} for row, one in zip(rows, found, strict=True)], schema=_CHAT_SCHEMA
    )


def _identify(source: Source, row: int, value: str) -> dict[str, str | None]:
    try:
        chat = parse_chat(value)
    except NotAChat as error:
        raise bad_chat(source, row, error) from None
    if len(chat) == 1:  # one user turn is the same item as its text
        return {"item_id": item_id_of(chat), "prompt": chat[0].content, "messages": None}
    return {"item_id": item_id_of(chat), "prompt": transcript(chat), "messages": messages_json(chat)}
