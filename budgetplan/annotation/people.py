"""Annotators' names replaced by pseudonyms.

Invariant: under one key the same name always gets the same pseudonym, and without the key no name can be checked
against one.
"""

import hmac
import json
import re
from typing import Any

_PERSONAL = frozenset(
    """annotator annotators completed_by updated_by created_by last_created_by created_username email first_name
    last_name username user_id user users _annotator_id _session_id sessions reviewed_by""".split()
)
_PSEUDONYM = re.compile("annotator-[0-9a-f]{10}")


def is_pseudonym(name: str) -> bool:
    """Whether a name is one that `pseudonym` gave."""
    return _PSEUDONYM.fullmatch(name) is not None


def pseudonym(name: str, key: bytes) -> str:
    """Replace a name; a pseudonym stays as it is."""
    if is_pseudonym(name):
        return name
    return "annotator-" + hmac.digest(key, name.encode(), "sha256").hex()[:10]


def without_names(raw: str) -> str:
    """Take what names a person out of a record (JSON), at any depth."""
    return json.dumps(_cleaned(json.loads(raw)), ensure_ascii=False)


def _cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _cleaned(inner) for key, inner in value.items() if not _names_someone(key)}
    if isinstance(value, list):
        return [_cleaned(inner) for inner in value]
    return value


def _names_someone(key: str) -> bool:
    return key.strip().lower().replace(" ", "_") in _PERSONAL or key.endswith(".users")
