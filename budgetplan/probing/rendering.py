"""From messages to the token ids a model reads, and back to text; both engines come here, so both see the same.

A model with a chat template reads the chat; one without reads plain text. No prompt ever starts with two BOS tokens.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from budgetplan.errors import ModelError
from budgetplan.records import Message

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

ROLE_NAMES = {"user": "User", "assistant": "Assistant", "system": "System"}


def render_tokens(tokenizer: "PreTrainedTokenizerBase", messages: Sequence[Message], *, thinking: bool) -> list[int]:
    """Token ids of one prompt, ready for the model to continue."""
    return render_batch(tokenizer, [messages], thinking=thinking)[0]


def render_batch(
    tokenizer: "PreTrainedTokenizerBase", prompts: Sequence[Sequence[Message]], *, thinking: bool
) -> list[list[int]]:
    """Token ids of many prompts in one call of the tokenizer.

    Raises ModelError where the model's chat template refuses a prompt.
    """
    if not prompts:
        return []
    texts = [render_text(tokenizer, messages, thinking=thinking) for messages in prompts]
    # A chat template writes its own special tokens; plain text gets those that the tokenizer adds.
    encoded = tokenizer(texts, add_special_tokens=not tokenizer.chat_template, padding=False, verbose=False)
    return [_without_second_bos(ids, tokenizer.bos_token_id) for ids in encoded["input_ids"]]


def render_text(tokenizer: "PreTrainedTokenizerBase", messages: Sequence[Message], *, thinking: bool) -> str:
    """The prompt as text: through the chat template where the tokenizer has one."""
    if not tokenizer.chat_template:
        return plain_text(messages)
    if messages[0].role != "system":
        return _apply_template(tokenizer, messages, thinking)
    try:
        text = _apply_template(tokenizer, messages, thinking)
    except ModelError:
        return _apply_template(tokenizer, fold_system(messages), thinking)
    if messages[0].content.strip() in text:
        return text
    return _apply_template(tokenizer, fold_system(messages), thinking)  # the template dropped it silently


def decode_batch(tokenizer: "PreTrainedTokenizerBase", completions: Sequence[Sequence[int]]) -> list[str]:
    """Texts of sampled tokens: special tokens left out, white space as it was sampled."""
    return [
        tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False) for tokens in completions
    ]


def plain_text(messages: Sequence[Message]) -> str:
    """What a model without a chat template reads.

    A single question is its bare text (after the system message and a blank line); a longer chat is a transcript that
    ends where the assistant speaks.
    """
    head = [message.content for message in messages[:1] if message.role == "system"]
    turns = messages[len(head) :]
    if len(turns) == 1 and turns[0].role == "user":
        return "\n\n".join([*head, turns[0].content])
    lines = [f"{ROLE_NAMES.get(turn.role, turn.role.capitalize())}: {turn.content}" for turn in turns]
    return "\n\n".join([*head, "\n".join([*lines, "Assistant:"])])


def fold_system(messages: Sequence[Message]) -> list[Message]:
    """Put the leading system message into the first user turn, for templates that know no system role."""
    system, rest = messages[0], list(messages[1:])
    if not rest or rest[0].role != "user":
        return [Message("user", system.content), *rest]
    return [Message("user", f"{system.content}\n\n{rest[0].content}"), *rest[1:]]


def _apply_template(tokenizer: "PreTrainedTokenizerBase", messages: Sequence[Message], thinking: bool) -> str:
    from jinja2 import TemplateError

    turns = [{"role": message.role, "content": message.content} for message in messages]
    try:
        text = tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=True, enable_thinking=thinking
        )
    except TemplateError as error:
        roles = ", ".join(message.role for message in messages)
        raise ModelError(
            f"the model's chat template refuses a prompt with the roles {roles}: {error}",
            hint="Give the prompt as one text or as alternating user and assistant turns.",
        ) from error
    return str(text)


def _without_second_bos(ids: list[int], bos: int | None) -> list[int]:
    return ids[1:] if bos is not None and ids[:2] == [bos, bos] else ids
