"""How many completions go through the model side by side in training, by what memory is likely to hold.

It depends on the model, the recipe and the machine only, never on the arm or on what is free just now: a training that
is resumed must cut its updates as it did before.
"""

import os
from pathlib import Path
from typing import Any

TYPICAL_PROMPT_TOKENS = 512
SHARE = 0.25
MAX_SIDE_BY_SIDE = 128
ACTIVATIONS_PER_LAYER = 17
"""Numbers kept per token and hidden dimension in one layer (Korthikanti et al. 2022, without the attention matrix)."""

VLLM_LEAST, VLLM_MOST = 0.2, 0.6

RECOMPUTE_ABOVE_PARAMETERS = 50_000_000
KNOBS = (
    "Lower --group-size or --prompts-per-update, or add --four-bit; or probe again with a lower --max-tokens, which "
    "trainings take over, or with a smaller --model."
)


def completions_side_by_side(config: Any, *, per_process: int, max_tokens: int, recompute: bool) -> int:
    """Return the largest divisor of `per_process` completions that is likely to fit.

    `recompute`: activations of one layer are kept at a time (gradient checkpointing).
    """
    text = config.get_text_config()
    layers = text.num_hidden_layers
    itemsize = 2 if _gpu_bytes() else 4
    kept = (layers + ACTIVATIONS_PER_LAYER) if recompute else layers * ACTIVATIONS_PER_LAYER
    one = (max_tokens + TYPICAL_PROMPT_TOKENS) * text.hidden_size * itemsize * kept
    fitting = min(MAX_SIDE_BY_SIDE, max(1, int(SHARE * _total_bytes() // one)))
    return max(size for size in range(1, min(fitting, per_process) + 1) if per_process % size == 0)


def vllm_share(model: Path) -> float:
    """Return the share of the GPU that vLLM gets beside the training: its own copy of the weights and room for keys."""
    weights = sum(path.stat().st_size for path in model.glob("*.safetensors"))
    return min(VLLM_MOST, VLLM_LEAST + weights / max(_gpu_bytes(), 1))


def peak_bytes() -> int:
    """Return the most memory this process has held: on the GPU where there is one."""
    import resource

    import torch

    if torch.cuda.is_available():
        return int(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _total_bytes() -> int:
    return _gpu_bytes() or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _gpu_bytes() -> int:
    import torch

    return int(torch.cuda.get_device_properties(0).total_memory) if torch.cuda.is_available() else 0
