"""What a training has the model read and judges of it: the same as the probe."""

import json
from functools import partial

import pyarrow as pa
import pytest
from tiny_models import CHAT_TEMPLATE, SPECIALS
from training_folders import spec

from budgetplan.errors import TrainingError
from budgetplan.probing.models import load_tokenizer, resolve_model
from budgetplan.probing.rendering import decode_batch, render_batch
from budgetplan.records import Message
from budgetplan.steps.train_worker import training_set, trl_tokens
from budgetplan.verifying.reward import ProbeReward

CHATS = [
    [Message("user", "What is 2 + 3?")],
    [Message("system", "Be short."), Message("user", "What is 2 + 3?")],
    [Message("user", "Hello."), Message("assistant", "Hello!"), Message("user", "What is 2 + 3?")],
    [Message("user", f"{SPECIALS[2]}What begins like this?")],
]
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}" + CHAT_TEMPLATE
DROPS_SYSTEM = (
    "{% for message in messages if message['role'] != 'system' %}{{ message['content'] }}{% endfor %}"
    "{% if enable_thinking %}<think>{% endif %}"
)


def _items(chats):
    messages = [json.dumps([{"role": turn.role, "content": turn.content} for turn in chat]) for chat in chats]
    n = len(chats)
    return pa.table(
        {"item_id": [f"bp-{i}" for i in range(n)], "messages": messages, "answer": ["5"] * n, "columns": ["{}"] * n}
    )


@pytest.mark.parametrize("thinking", [True, False])
@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize("template", [None, CHAT_TEMPLATE, NO_SYSTEM, DROPS_SYSTEM])
@pytest.mark.parametrize("family", ["qwen3", "llama", "phi3"])
def test_the_model_reads_the_tokens_that_it_read_in_the_probe(tiny_model, family, template, bos, thinking):
    from dataclasses import replace

    folder = tiny_model(family, bos=bos)
    tokenizer = load_tokenizer(resolve_model(str(folder)))
    tokenizer.chat_template = template
    settings = replace(spec(folder, "math"), thinking=thinking)
    training = training_set(_items(CHATS), tokenizer, settings, context=2048)
    # As GRPOTrainer tokenizes, which reads lists of messages as chats and strings as they are.
    assert all(isinstance(prompt, str) == (template is None) for prompt in training.prompt)
    read = trl_tokens(tokenizer, training.prompt, thinking=thinking)
    assert read == render_batch(tokenizer, CHATS, thinking=thinking)


def test_a_prompt_that_leaves_too_little_context_is_named_with_what_would_fit(tiny_model):
    folder = tiny_model("qwen3")
    tokenizer = load_tokenizer(resolve_model(str(folder)))
    with pytest.raises(
        TrainingError, match=r"bp-0: its 14 tokens and 12 sampled.*context of 20.*--max-tokens 6 at most"
    ):
        training_set(_items(CHATS), tokenizer, spec(folder, "math"), context=20)


@pytest.fixture
def probe_reward(tiny_model):
    tokenizer = load_tokenizer(resolve_model(str(tiny_model("qwen3"))))

    def build(verifier="math"):
        return ProbeReward(verifier, partial(decode_batch, tokenizer)), tokenizer

    return build


def test_a_completion_is_judged_as_the_text_that_the_probe_would_have_stored(probe_reward):
    reward, tokenizer = probe_reward()
    end = tokenizer.eos_token_id
    texts = ["The answer is 15.", "The answer is 15", "The answer is 1", "no idea"]
    ids = [tokenizer(text)["input_ids"] for text in texts]
    rewards = reward(
        completion_ids=[[*ids[0], end], ids[1], [*ids[2], end], [*ids[3], end]],
        truncated=[False, True, False, False],
        answer=["15", "1", "1", "1"],
        columns=["{}"] * 4,
        completions=["TRL's own"] * 4,
    )
    # The second was cut off in the middle of a number: 15 might have become 150, so it is no answer.
    assert rewards == [1.0, 0.0, 1.0, 0.0]
    assert reward(completion_ids=[[*ids[0], end]], truncated=[False], answer=[None], columns=["{}"]) == [None]
