"""Prompts that are chats: a list of {"role", "content"} that ends with the user's turn, text only."""

import json
from collections.abc import Sequence
from typing import Any

from budgetplan.records import Message, canonical_text

ROLES = ("system", "user", "assistant")


class NotAChat(ValueError):
    """Why a value is no chat that can be sampled; the reader adds the place."""


def parse_chat(value: str) -> tuple[Message, ...]:
    """Read a chat from JSON (a list, or a string that holds one) with each turn's text in canonical form."""
    turns = json.loads(value)
    if isinstance(turns, str):
        turns = _parse_inner(turns)
    if not isinstance(turns, list):
        raise NotAChat("is not a list of messages")
    if not turns:
        raise NotAChat("has no messages")
    messages = tuple(_message(turn, number) for number, turn in enumerate(turns, start=1))
    if messages[-1].role != "user":
        raise NotAChat(
            f"ends with the turn of '{messages[-1].role}'; the model samples the turn after the user's last one"
        )
    return messages


def transcript(messages: Sequence[Message]) -> str:
    """The chat as a person reads it."""
    return "\n\n".join(f"{message.role}: {message.content}" for message in messages)


def messages_json(messages: Sequence[Message]) -> str:
    """The chat as it is stored."""
    return json.dumps([{"role": m.role, "content": m.content} for m in messages], ensure_ascii=False)


def _parse_inner(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise NotAChat(f"is text, but no list of messages ({error.msg})") from None


def _message(turn: Any, number: int) -> Message:
    if not isinstance(turn, dict) or "role" not in turn:
        raise NotAChat(f"has a message {number} without 'role' and 'content'")
    role = turn["role"]
    if role in ("tool", "function") or turn.get("tool_calls") or turn.get("function_call"):
        raise NotAChat(f"uses tools in message {number}; only text can be probed")
    if role not in ROLES:
        raise NotAChat(f"has the role {role!r} in message {number}; roles are {', '.join(ROLES)}")
    content = canonical_text(_text(turn.get("content"), number))
    if not content and role != "system":
        raise NotAChat(f"has an empty message {number}")
    return Message(role, content)


def _text(content: Any, number: int) -> str:
    """Join the text parts of a message, one a line; anything but text is refused."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if not isinstance(content, list):
        raise NotAChat(f"has a message {number} whose content is no text")
    return "\n".join(_part(part, number) for part in content)


def _part(part: Any, number: int) -> str:
    if isinstance(part, str):
        return part
    kind = part.get("type") if isinstance(part, dict) else None
    text = part.get("text") if isinstance(part, dict) else None
    if kind != "text" or not isinstance(text, str):
        raise NotAChat(
            f"has a part of type {kind!r} in message {number}; images and other media cannot be probed, only text"
        )
    return text
