"""A causal language model in memory: how it is loaded, where its answers end, and how many samples fit beside it."""

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from budgetplan.errors import ConfigError
from budgetplan.probing.attention import use_decoding_attention
from budgetplan.probing.models import ResolvedModel, context_length, load_failure
from budgetplan.records import Sampling

MAX_SLOTS = 256
TYPICAL_PROMPT = 512
MEMORY_SHARE = 0.6
MEMINFO = Path("/proc/meminfo")
UNKNOWN_MEMORY = 4 * 2**30
DTYPES = ("float32", "bfloat16", "float16")


def load_model(resolved: ResolvedModel, *, device: str | None, dtype: str | None, trust_remote_code: bool) -> Any:
    """Load the weights: float32 on the CPU, bfloat16 on a GPU unless `dtype` says otherwise.

    Raises ConfigError for a dtype or device that does not exist, ModelError where the weights do not load.
    """
    silence()
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = dtype or ("bfloat16" if device.startswith("cuda") else "float32")
    if dtype not in DTYPES:
        raise ConfigError(f"dtype {dtype} is not known.", hint=f"Use one of {', '.join(DTYPES)}.")
    try:
        model = AutoModelForCausalLM.from_pretrained(
            resolved.location,
            revision=resolved.hub_revision,
            dtype=getattr(torch, dtype),
            trust_remote_code=trust_remote_code,
        )
        model = model.to(device).eval()
    except Exception as error:  # transformers raises anything from OSError to KeyError here
        raise load_failure(resolved, "its weights cannot be loaded", error) from error
    if model.config._attn_implementation == "sdpa":
        use_decoding_attention(model)
    return model


def silence() -> None:
    """Keep the libraries' progress bars and warnings off the screen; errors still reach us as exceptions."""
    from huggingface_hub.utils import disable_progress_bars
    from transformers.utils import logging

    disable_progress_bars()
    logging.disable_progress_bar()
    logging.set_verbosity_error()


def end_tokens(model: Any, tokenizer: Any) -> list[int]:
    """All tokens that end an answer: those of the generation settings and the tokenizer's own."""
    configured = model.generation_config.eos_token_id
    ends = set(configured if isinstance(configured, list) else [configured]) | {tokenizer.eos_token_id}
    return sorted(token for token in ends if token is not None)


def default_slots(model: Any, sampling: Sampling) -> int:
    """How many samples fit side by side into the free memory, at most `MAX_SLOTS`."""
    config = model.config.get_text_config()
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    tokens = min(context_length(model.config), TYPICAL_PROMPT + sampling.max_tokens)
    keys_and_values = 2 * config.num_hidden_layers * heads * head_dim * model.dtype.itemsize * tokens
    logits = 4 * config.vocab_size * torch.float32.itemsize  # the draw holds about four copies
    return int(min(MAX_SLOTS, max(1, MEMORY_SHARE * _free_bytes(model.device) // (keys_and_values + logits))))


def _free_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    if MEMINFO.is_file():
        lines = dict(line.split(":", 1) for line in MEMINFO.read_text().splitlines())
        return int(lines["MemAvailable"].split()[0]) * 1024
    return UNKNOWN_MEMORY
