"""What is asked around a prompt: shipped templates by name, a user's own text or file, and the system prompt.

A template is text with `{prompt}` in it; every other brace is literal, so LaTeX needs no escapes.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa

from budgetplan.errors import ConfigError
from budgetplan.records import Message

PLACEHOLDER = "{prompt}"

TEMPLATES = {
    # As the paper asks (section 2.2): a short answer with its end in a box.
    "paper": "{prompt}\n\nAnswer concisely, and put the final answer in \\boxed{}.",
    "cot": "{prompt}\n\nThink step by step. End with a line of its own: The answer is, followed by the final answer.",
    "none": "{prompt}",
}


def resolve_template(value: str) -> str:
    """Read a template from a shipped name, a text with `{prompt}`, or a file that holds one; raise ConfigError."""
    if value in TEMPLATES:
        return TEMPLATES[value]
    if PLACEHOLDER in value:
        return value
    text = _read(value)
    if PLACEHOLDER not in text:
        raise ConfigError(
            f"template {value}: the file has no {PLACEHOLDER}, so the prompt would not be asked.",
            hint=f"Put {PLACEHOLDER} where the prompt belongs.",
        )
    return text


def messages_of(prompt: str, stored: str | None) -> tuple[Message, ...]:
    """The turns of an item from its columns `prompt` and `messages` (null for a plain text prompt)."""
    if stored is None:
        return (Message("user", prompt),)
    return tuple(Message(turn["role"], turn["content"]) for turn in json.loads(stored))


def apply_template(messages: Sequence[Message], template: str, system: str | None) -> tuple[Message, ...]:
    """Wrap the last user turn in the template; a system prompt comes first, in place of those the chat brings."""
    last = max(index for index, message in enumerate(messages) if message.role == "user")
    asked = [
        Message(message.role, template.replace(PLACEHOLDER, message.content)) if index == last else message
        for index, message in enumerate(messages)
    ]
    if system is None:
        return tuple(asked)
    return (Message("system", system), *(message for message in asked if message.role != "system"))


def chats_as_json(
    prompts: pa.ChunkedArray, messages: pa.ChunkedArray, template: str, system: str | None
) -> pa.StringArray:
    """Write the chat of every item as models are asked it, as JSON, from its columns `prompt` and `messages`."""
    chats = (
        apply_template(messages_of(prompt, stored), template, system)
        for prompt, stored in zip(prompts.to_pylist(), messages.to_pylist(), strict=True)
    )
    return pa.array([json.dumps([asdict(turn) for turn in chat]) for chat in chats], pa.string())


def _read(value: str) -> str:
    """Read a template's file without the line end that editors put after the last line."""
    try:
        return Path(value).read_text(encoding="utf-8").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"template '{value}': neither a name ({', '.join(TEMPLATES)}), nor a text with {PLACEHOLDER}, "
            f"nor a file that can be read ({error.__class__.__name__}).",
            hint="Use a name: --template paper",
        ) from error
