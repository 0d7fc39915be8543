"""Templates wrap the last thing the user said, and leave every other brace alone."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from budgetplan.errors import ConfigError
from budgetplan.pool.templates import TEMPLATES, apply_template, chats_as_json, messages_of, resolve_template
from budgetplan.records import Message

CHAT = (
    Message("system", "old"),
    Message("user", "1+1?"),
    Message("assistant", "2"),
    Message("user", "{prompt} + {x}?"),
)


def test_shipped_templates() -> None:
    assert set(TEMPLATES) == {"paper", "cot", "none"}
    for name in TEMPLATES:
        (asked,) = apply_template(messages_of("Why?", None), resolve_template(name), None)
        assert asked.role == "user"
        assert asked.content.startswith("Why?")
    assert resolve_template("none") == "{prompt}"
    assert "\\boxed{}" in resolve_template("paper")


def test_a_users_own_text_or_file() -> None:
    assert resolve_template("Q: {prompt}\nA: \\boxed{}") == "Q: {prompt}\nA: \\boxed{}"
    Path("mine.txt").write_text('{"é"} {prompt}\n', encoding="utf-8")
    assert resolve_template("mine.txt") == '{"é"} {prompt}'


@pytest.mark.parametrize("value", ["papr", "", "missing.txt", "x" * 300, "."])
def test_what_is_no_template(value: str) -> None:
    with pytest.raises(ConfigError, match=r"neither a name \(paper, cot, none\)"):
        resolve_template(value)


def test_a_file_without_a_place_for_the_prompt() -> None:
    Path("mine.txt").write_text("Answer {question}")
    with pytest.raises(ConfigError, match=r"template mine.txt: the file has no \{prompt\}"):
        resolve_template("mine.txt")


def test_only_the_last_user_turn_is_wrapped() -> None:
    asked = apply_template(CHAT, "<{prompt}|{prompt}> {}", None)
    assert asked[:3] == CHAT[:3]
    assert asked[3] == Message("user", "<{prompt} + {x}?|{prompt} + {x}?> {}")


def test_a_system_prompt_comes_first_and_replaces_the_chats_own() -> None:
    none = resolve_template("none")
    assert apply_template(messages_of("Why?", None), none, "new") == (Message("system", "new"), Message("user", "Why?"))
    assert apply_template(CHAT, none, "new") == (Message("system", "new"), *CHAT[1:])


def test_columns_become_chats_as_they_are_asked() -> None:
    stored = [None, json.dumps([{"role": "system", "content": "old"}, {"role": "user", "content": "Où ?"}])]
    prompts, messages = pa.chunked_array([["Why?"], ["Où ?"]]), pa.chunked_array([stored], pa.string())
    chats = chats_as_json(prompts, messages, "Q: {prompt}", "new")
    assert chats.type == pa.string()
    assert [json.loads(chat) for chat in chats.to_pylist()] == [
        [{"role": "system", "content": "new"}, {"role": "user", "content": f"Q: {asked}"}] for asked in ("Why?", "Où ?")
    ]
    assert len(chats_as_json(prompts.slice(2), messages.slice(2), "{prompt}", None)) == 0
