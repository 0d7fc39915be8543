"""What to show of a piece of text that cannot be read: where it breaks, why, and how it begins."""

import json


def broken_json(text: str) -> tuple[int, str, str]:
    """Say on which line JSON breaks, why, and how that line begins."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        line, reason = error.lineno, f"{error.msg} (column {error.colno})"
    else:
        line, reason = 1, "half of a surrogate pair (\\ud800 to \\udfff) is no character"
    return line, reason, shorten(text.split("\n")[line - 1])


def shorten(text: str, width: int = 60) -> str:
    """The start of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"
