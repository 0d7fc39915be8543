"""The scratch DuckDB in which a file is read: in memory, spilling to a folder of its own, gone when closed.

Its macros compute identity as `records.item_id_of` does, for a whole column at once: `newlines`, `nfc` and `trimmed`
are `canonical_text`. The two agree on every text of characters that Python's Unicode tables know; DuckDB's are newer.
An argument of a macro is computed as often as it is written, so callers pass columns, one stage after another.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

# nfc_normalize stops at a NUL; nothing composes across one, so the pieces are normalised one by one. trim walks a text
# from its start, so it is spared the texts that need none.
_MACROS = r"""
CREATE MACRO nfc(t) AS CASE
    WHEN contains(t, chr(0))
    THEN array_to_string(list_transform(string_split(t, chr(0)), lambda piece: nfc_normalize(piece)), chr(0))
    ELSE nfc_normalize(t) END;
CREATE MACRO newlines(t) AS replace(replace(t, chr(13) || chr(10), chr(10)), chr(13), chr(10));
CREATE MACRO trimmed(t) AS CASE
    WHEN starts_with(t, ' ') OR starts_with(t, chr(9)) OR starts_with(t, chr(10))
        OR ends_with(t, ' ') OR ends_with(t, chr(9)) OR ends_with(t, chr(10))
    THEN trim(t, ' ' || chr(9) || chr(10)) ELSE t END;
CREATE MACRO text_item_id(canonical) AS
    'bp-' || left(sha256('user:' || strlen(canonical) || ':' || canonical), 16);
CREATE MACRO is_string(json) AS starts_with(json, '"');
CREATE MACRO is_list(json) AS starts_with(json, '[');
CREATE MACRO is_object(json) AS starts_with(json, '{');
CREATE MACRO stripped(t) AS nullif(trim(t, ' ' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13)), '');
CREATE MACRO is_unreadable_answer(json) AS is_object(json) AND NOT json_exists(json, '/ground_truth');
CREATE MACRO answer_text(json) AS
    CASE WHEN is_unreadable_answer(json) THEN error('answer')
         WHEN is_object(json) THEN json_extract_string(json, '/ground_truth')
         WHEN json <> 'NaN' THEN json_extract_string(json, '$') END;
CREATE MACRO final_answer(t) AS coalesce(stripped(regexp_extract(t, '####([^\n#]+)$', 1)), t);
"""


@contextmanager
def workspace() -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a scratch database; nothing of it outlives the block."""
    with tempfile.TemporaryDirectory(prefix="budgetplan-") as folder:
        connection = duckdb.connect(
            ":memory:", config={"temp_directory": folder, "autoinstall_known_extensions": False}
        )
        try:
            connection.execute(_MACROS)
            yield connection
        finally:
            connection.close()


def literal(text: str) -> str:
    """Write a text as a SQL string."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Write a name as a SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def pointer(key: str) -> str:
    """Write a key as a JSON pointer in a SQL string, whatever characters it has."""
    return literal("/" + key.replace("~", "~0").replace("/", "~1"))


def every(*keys: str) -> str:
    """Write the JSON path, in a SQL string, to each element of the list under the first key, and the keys below it."""
    quoted = ['."' + key.replace("\\", "\\\\").replace('"', '\\"') + '"' for key in keys]
    return literal("$" + quoted[0] + "[*]" + "".join(quoted[1:]))
