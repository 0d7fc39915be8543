"""Text that a spreadsheet would run as a formula, made plain.

Invariant: reversible. A cell starting with one of = + - @ tab CR, also behind quotes, gets one ' in front, so taking
one ' off every cell that starts with quotes and one of these gives the original back.
"""

import re

import pyarrow as pa
import pyarrow.compute as pc

_FORMULA = r"^'*[=+\-@\t\r]"
_GUARDED = re.compile(r"'(?='*[=+\-@\t\r])")


def guarded(text: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Put ' before every string that would be read as a formula; null stays null."""
    return pc.if_else(pc.match_substring_regex(text, _FORMULA), pc.binary_join_element_wise("'", text, ""), text)


def unguarded(text: str) -> str:
    """Take the ' of `guarded` off again."""
    return text[1:] if _GUARDED.match(text) else text
