"""Chats keep their turns; what cannot be sampled as text is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pool.pool_files import write_parquet

from budgetplan.errors import PoolError
from budgetplan.pool.reader import read_pool
from budgetplan.pool.templates import messages_of
from budgetplan.records import Message, item_id_of

CHAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Two and"}, {"type": "text", "text": "two?"}]},
    {"role": "assistant", "content": "4", "tool_calls": None},
    {"role": "user", "content": " Sure?\r\n"},
]
TURNS = (
    Message("system", "Be brief."),
    Message("user", "Two and\ntwo?"),
    Message("assistant", "4"),
    Message("user", "Sure?"),
)


@pytest.mark.parametrize("field", ["messages", "prompt"])
def test_a_chat_keeps_its_turns(lines: Callable[..., str], field: str) -> None:
    row = read_pool(lines({field: CHAT, "answer": 4})).table.to_pylist()[0]
    assert messages_of(row["prompt"], row["messages"]) == TURNS
    assert row["item_id"] == item_id_of(TURNS)
    assert row["prompt"] == "system: Be brief.\n\nuser: Two and\ntwo?\n\nassistant: 4\n\nuser: Sure?"


def test_chats_from_parquet_and_from_text_cells() -> None:
    chat = [{"role": turn.role, "content": turn.content} for turn in TURNS]
    write_parquet("pool.parquet", [{"messages": chat}])
    cell = json.dumps(chat).replace('"', '""')
    Path("pool.csv").write_text(f'messages,answer\n"{cell}",4\n')
    for name in ("pool.parquet", "pool.csv"):
        assert read_pool(name).table["item_id"].to_pylist() == [item_id_of(TURNS)]


def test_text_and_chats_stand_side_by_side(lines: Callable[..., str]) -> None:
    table = read_pool(lines({"prompt": "plain"}, {"prompt": CHAT}, {"prompt": "last"})).table
    assert [messages is None for messages in table["messages"].to_pylist()] == [True, False, True]
    assert table["row"].to_pylist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("chat", "why"),
    [
        (
            [{"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}],
            "ends with the turn of 'assistant'",
        ),
        ([], "has no messages"),
        (
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
            "type 'image_url' in message 1",
        ),
        ([{"role": "user", "content": [{"type": "image", "text": None}]}], "images and other media"),
        ([{"role": "tool", "content": "x"}, {"role": "user", "content": "y"}], "uses tools in message 1"),
        (
            [{"role": "assistant", "content": None, "tool_calls": [{"id": 1}]}, {"role": "user", "content": "y"}],
            "tools",
        ),
        ([{"role": "human", "content": "x"}], "the role 'human' in message 1"),
        ([{"from": "human", "value": "x"}], "a message 1 without 'role' and 'content'"),
        ([{"role": "user", "content": " \n"}], "an empty message 1"),
        ([{"role": "user", "content": 7}], "a message 1 whose content is no text"),
        ("no chat", "is text, but no list of messages"),
        ({"role": "user", "content": "x"}, "is not a list of messages"),
    ],
)
def test_what_is_no_chat_is_refused_with_its_place(lines: Callable[..., str], chat: Any, why: str) -> None:
    name = lines({"messages": CHAT}, {"messages": chat})
    with pytest.raises(PoolError) as caught:
        read_pool(name)
    assert caught.value.message.startswith("pool.jsonl:2: ")
    assert why in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("column", "value"), [("tools", [{"name": "f"}]), ("image", {"bytes": "x"}), ("Images", ["a.png"])]
)
def test_images_and_tools_beside_the_prompt_are_refused(lines: Callable[..., str], column: str, value: Any) -> None:
    name = lines({"prompt": "a", column: None}, {"prompt": "b", column: []}, {"prompt": "c", column: value})
    with pytest.raises(PoolError, match=rf"pool.jsonl:3: the prompt comes with '{column}'"):
        read_pool(name)
