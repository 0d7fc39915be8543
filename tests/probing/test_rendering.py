from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import byte_tokenizer

from budgetplan.errors import ModelError
from budgetplan.probing.models import load_tokenizer, resolve_model
from budgetplan.probing.rendering import decode_batch, plain_text, render_batch, render_tokens
from budgetplan.records import Message

QUESTION = (Message("user", "What is 2+2?"),)
WITH_SYSTEM = (Message("system", "Answer concisely."), *QUESTION)
CHAT = (*WITH_SYSTEM, Message("assistant", "4"), Message("user", "And 3+3?"))

NO_SYSTEM_ROLE = (
    "{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "<|im_start|>{{ m['content'] }}{% endfor %}"
)
DROPS_SYSTEM = "{% for m in messages %}{% if m['role'] != 'system' %}[{{ m['content'] }}]{% endif %}{% endfor %}"

TOKENIZER = byte_tokenizer()


@pytest.fixture(scope="module")
def plain() -> Any:
    return byte_tokenizer()


@pytest.fixture(scope="module")
def with_bos() -> Any:
    return byte_tokenizer(bos=True)


@pytest.fixture(scope="module")
def chat() -> Any:
    return byte_tokenizer(chat_template=True)


def templated(template: str, *, bos: bool = False) -> Any:
    tokenizer = byte_tokenizer(bos=bos)
    tokenizer.chat_template = template
    return tokenizer


def read(tokenizer: Any, messages: tuple[Message, ...], *, thinking: bool = False) -> str:
    return str(tokenizer.decode(render_tokens(tokenizer, messages, thinking=thinking)))


def test_without_a_template_a_question_is_its_bare_text(plain: Any) -> None:
    assert read(plain, QUESTION) == "What is 2+2?"


def test_without_a_template_the_system_message_stands_above(plain: Any) -> None:
    assert read(plain, WITH_SYSTEM) == "Answer concisely.\n\nWhat is 2+2?"


def test_without_a_template_a_chat_is_a_transcript_that_asks_for_the_next_turn(plain: Any) -> None:
    assert read(plain, CHAT) == "Answer concisely.\n\nUser: What is 2+2?\nAssistant: 4\nUser: And 3+3?\nAssistant:"
    assert read(plain, CHAT[1:]).startswith("User: What is 2+2?\nAssistant: 4\n")


def test_a_transcript_names_unusual_roles() -> None:
    assert plain_text([Message("tool", "42"), Message("user", "so?")]) == "Tool: 42\nUser: so?\nAssistant:"


def test_a_chat_template_asks_for_the_answer(chat: Any) -> None:
    text = read(chat, WITH_SYSTEM, thinking=True)
    assert text == (
        "<|im_start|>system\nAnswer concisely.<|im_end|>\n<|im_start|>user\nWhat is 2+2?<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    tokens = render_tokens(chat, WITH_SYSTEM, thinking=True)
    assert tokens[0] == chat.convert_tokens_to_ids("<|im_start|>")  # one token, not its letters


def test_thinking_reaches_the_template(chat: Any) -> None:
    assert read(chat, QUESTION, thinking=False).endswith("<think>\n\n</think>\n\n")
    assert "<think>" not in read(chat, QUESTION, thinking=True)


def test_a_template_that_knows_no_thinking_is_left_alone() -> None:
    tokenizer = templated("{% for m in messages %}{{ m['content'] }}{% endfor %}>")
    assert read(tokenizer, QUESTION, thinking=True) == read(tokenizer, QUESTION, thinking=False) == "What is 2+2?>"


def test_a_system_message_the_template_refuses_moves_into_the_first_question() -> None:
    assert read(templated(NO_SYSTEM_ROLE), WITH_SYSTEM) == "<|im_start|>Answer concisely.\n\nWhat is 2+2?"


def test_a_system_message_the_template_would_drop_is_kept() -> None:
    assert read(templated(DROPS_SYSTEM), CHAT) == "[Answer concisely.\n\nWhat is 2+2?][4][And 3+3?]"
    assert read(templated(DROPS_SYSTEM), WITH_SYSTEM[:1]) == "[Answer concisely.]"


def test_a_template_that_refuses_the_roles_is_a_model_error() -> None:
    tokenizer = templated("{% for m in messages %}{{ raise_exception('roles must alternate') }}{% endfor %}")
    with pytest.raises(ModelError, match=r"user, user.*roles must alternate"):
        render_tokens(tokenizer, (*QUESTION, *QUESTION), thinking=False)


def test_no_prompt_starts_with_two_bos_tokens(with_bos: Any) -> None:
    bos = with_bos.bos_token_id
    assert render_tokens(with_bos, QUESTION, thinking=False)[:2] == [bos, ord("W") - ord("!")]
    own = (Message("user", f"{with_bos.bos_token}What is 2+2?"),)
    assert render_tokens(with_bos, own, thinking=False) == render_tokens(with_bos, QUESTION, thinking=False)

    tokenizer = templated("{{ bos_token }}{% for m in messages %}{{ m['content'] }}{% endfor %}", bos=True)
    assert render_tokens(tokenizer, QUESTION, thinking=False).count(bos) == 1


def test_a_batch_is_its_prompts_one_by_one(chat: Any, plain: Any) -> None:
    prompts = [QUESTION, WITH_SYSTEM, CHAT]
    for tokenizer in (chat, plain):
        one_by_one = [render_tokens(tokenizer, prompt, thinking=False) for prompt in prompts]
        assert render_batch(tokenizer, prompts, thinking=False) == one_by_one
    assert render_batch(chat, [], thinking=False) == []


@given(st.text(max_size=40))
def test_any_text_reaches_the_model_and_comes_back(text: str) -> None:
    tokens = render_tokens(TOKENIZER, (Message("user", text),), thinking=False)
    assert decode_batch(TOKENIZER, [tokens]) == [text]


def test_a_completion_is_read_without_special_tokens_and_with_its_white_space(plain: Any) -> None:
    tokens = plain("  it 's <think> so </think> .\n<|endoftext|>")["input_ids"]
    assert decode_batch(plain, [tokens, []]) == ["  it 's <think> so </think> .\n", ""]


@pytest.mark.parametrize("family", ["qwen3", "llama", "phi3"])
def test_a_saved_tokenizer_renders_like_the_one_that_was_saved(
    tiny_model: Callable[..., Path], family: str, chat: Any
) -> None:
    loaded = load_tokenizer(resolve_model(str(tiny_model(family, chat_template=True))))
    assert render_tokens(loaded, CHAT, thinking=False) == render_tokens(chat, CHAT, thinking=False)
