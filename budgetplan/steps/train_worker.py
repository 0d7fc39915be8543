"""The process that trains: `python -m budgetplan.steps.train_worker FOLDER`, started by `steps/train_arm.py`.

It reads the folder's spec and items, builds reward and prompts from the stages that know them, and trains. What fails
is written to the folder, for the process that started it.
"""

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from budgetplan.errors import BudgetplanError, TrainingError
from budgetplan.probing.loading import silence
from budgetplan.probing.models import context_length, fetch_weights, load_config, load_tokenizer, resolve_model
from budgetplan.probing.rendering import decode_batch, fold_system, plain_text, render_batch, render_text
from budgetplan.records import Message
from budgetplan.validation.memory import KNOBS
from budgetplan.validation.progress_file import Failure, write_failure
from budgetplan.validation.recorder import Recorder
from budgetplan.validation.spec import ITEMS_FILE, TrainSpec, read_spec
from budgetplan.validation.training import TrainingSet, train
from budgetplan.verifying.reward import ProbeReward

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Chat = Sequence[Message]


def main() -> None:
    """Train the folder that is the first argument; what fails is written there, and raised for the log."""
    import torch

    folder = Path(sys.argv[1])
    try:
        train_folder(folder)
    except BudgetplanError as error:
        write_failure(folder, Failure(error.message, error.hint))
        raise
    except (torch.OutOfMemoryError, MemoryError) as error:
        write_failure(folder, Failure(f"there is too little memory: {str(error).splitlines()[0]}", KNOBS))
        raise


def train_folder(folder: Path) -> None:
    """Train what the folder describes."""
    silence()
    spec = read_spec(folder)
    resolved = fetch_weights(resolve_model(spec.model, spec.revision))
    tokenizer = load_tokenizer(resolved, trust_remote_code=spec.trust_remote_code)
    reward = ProbeReward(spec.verifier, partial(decode_batch, tokenizer))
    context = context_length(load_config(resolved, trust_remote_code=spec.trust_remote_code))
    items = training_set(pq.read_table(folder / ITEMS_FILE), tokenizer, spec, context)
    recorder = Recorder(reward, lambda: reward.first_error, folder, spec.recipe.group_size)
    train(spec, items, folder, Path(resolved.location), tokenizer, recorder)


def training_set(items: pa.Table, tokenizer: "PreTrainedTokenizerBase", spec: TrainSpec, context: int) -> TrainingSet:
    """Write the items' prompts as TRL takes them.

    Raises TrainingError where TRL would have the model read other tokens than the probe had it read, or where a prompt
    leaves too little of the model's context.
    """
    ids = items["item_id"].to_pylist()
    chats = [[Message(**turn) for turn in json.loads(messages)] for messages in items["messages"].to_pylist()]
    prompts = [trl_prompt(tokenizer, chat, thinking=spec.thinking) for chat in chats]
    as_probed = render_batch(tokenizer, chats, thinking=spec.thinking)
    as_trained = trl_tokens(tokenizer, prompts, thinking=spec.thinking)
    for item_id, probed, trained in zip(ids, as_probed, as_trained, strict=True):
        if probed != trained:
            raise TrainingError(f"TRL has the model read the prompt of {item_id} in other tokens than the probe did.")
        if len(probed) + spec.max_tokens > context:
            raise _too_long(item_id, len(probed), spec.max_tokens, context)
    longest = max(map(len, as_probed))
    return TrainingSet(ids, prompts, items["answer"].to_pylist(), items["columns"].to_pylist(), longest)


def trl_prompt(tokenizer: "PreTrainedTokenizerBase", chat: Chat, *, thinking: bool) -> str | list[dict[str, str]]:
    """Write one prompt as TRL takes it: a chat where the model has a chat template, else a text."""
    if not tokenizer.chat_template:
        return _without_bos(tokenizer, plain_text(chat))
    text = render_text(tokenizer, chat, thinking=thinking)
    turns = _turns(chat)
    if chat[0].role == "system" and _templated(tokenizer, turns, thinking) != text:
        return _turns(fold_system(chat))
    return turns


def trl_tokens(tokenizer: "PreTrainedTokenizerBase", prompts: Sequence[Any], *, thinking: bool) -> list[list[int]]:
    """Return what the model reads of prompts that TRL is given."""
    if not tokenizer.chat_template:
        return list(tokenizer(text=list(prompts))["input_ids"])
    encoded = tokenizer.apply_chat_template(
        conversation=list(prompts),
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
        enable_thinking=thinking,
    )
    return list(encoded["input_ids"])


def _turns(chat: Chat) -> list[dict[str, str]]:
    return [{"role": turn.role, "content": turn.content} for turn in chat]


def _templated(tokenizer: "PreTrainedTokenizerBase", turns: list[dict[str, str]], thinking: bool) -> str | None:
    from jinja2 import TemplateError

    try:
        return str(
            tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, enable_thinking=thinking)
        )
    except TemplateError:
        return None


def _without_bos(tokenizer: "PreTrainedTokenizerBase", text: str) -> str:
    """Leave out a BOS token that the text begins with and the tokenizer would write again."""
    bos = tokenizer.bos_token
    twice = bos and text.startswith(bos) and tokenizer(text)["input_ids"][:2] == [tokenizer.bos_token_id] * 2
    return text.removeprefix(bos) if twice else text


def _too_long(item_id: str, n_tokens: int, max_tokens: int, context: int) -> TrainingError:
    room = context - n_tokens
    return TrainingError(
        f"item {item_id}: its {n_tokens} tokens and {max_tokens} sampled ones exceed the model's context of {context}.",
        hint=f"Probe with --max-tokens {room} at most." if room > 0 else "Leave the item out of the pool.",
    )


if __name__ == "__main__":
    main()
