"""Whether a model can be decoded on slots, where each row has its own length and a place of its own in the cache.

Models differ in ways their configuration does not tell, so the answer comes from trying: a wrong one would be silent.
"""

import inspect
from typing import Any

import torch
from transformers.cache_utils import DynamicCache, DynamicLayer

from budgetplan.probing.prefill import read
from budgetplan.probing.slots import SlotCache, next_logits

PARAMETERS = {"position_ids", "past_key_values", "attention_mask", "logits_to_keep"}
TRIAL_LENGTHS = (13, 5)
TOLERANCE = 0.1  # of the spread of the logits; bfloat16 alone makes for 0.01 to 0.03, a wrong mask for far more


def suits_slots(model: Any) -> bool:
    """Whether every layer keeps all its keys, and prompts of unlike length side by side give what each gives alone."""
    if not PARAMETERS.issubset(inspect.signature(model.forward).parameters):
        return False
    try:
        return _keeps_all_keys(model) and _gives_the_same(model)
    except Exception:  # whatever a foreign model objects to, whole batches do not ask for it
        return False


def _keeps_all_keys(model: Any) -> bool:
    config = model.config.get_text_config()
    layers = DynamicCache(config=config).layers
    return len(layers) == config.num_hidden_layers and all(type(layer) is DynamicLayer for layer in layers)


@torch.inference_mode()
def _gives_the_same(model: Any) -> bool:
    vocabulary = model.config.get_text_config().vocab_size
    prompts = [[(7919 * place + length) % vocabulary for place in range(length)] for length in TRIAL_LENGTHS]
    alone = torch.cat([model(input_ids=_tensor(model, [prompt])).logits[:, -1] for prompt in prompts]).float()
    cache = SlotCache(len(prompts))
    rows = _tensor(model, range(len(prompts)))
    cache.admit(read(model, [prompt[:-1] for prompt in prompts]), rows, rows)
    lasts, positions = _tensor(model, [prompt[-1] for prompt in prompts]), _tensor(model, TRIAL_LENGTHS) - 1
    together = next_logits(model, cache, lasts, positions, max(TRIAL_LENGTHS)).float()
    return bool(((together - alone).std(dim=-1) <= TOLERANCE * alone.std(dim=-1)).all())


def _tensor(model: Any, values: Any) -> torch.Tensor:
    return torch.tensor(list(values), dtype=torch.long, device=model.device)
