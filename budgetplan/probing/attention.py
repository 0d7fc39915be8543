"""Attention of one new token per row, for the decoding loop; everything else goes to the stock implementation.

The stock one copies grouped keys once per query head at every step whenever a mask is given; but the queries of a group
see the same keys under the same mask, so they can be one query of several rows. Its kernel for the CPU is made for long
queries; for a single one two batched products are faster.
"""

from typing import Any

import torch

ATTENTION = "budgetplan_decoding"


def use_decoding_attention(model: Any) -> None:
    """Switch a model that runs on `sdpa` to this attention; the results stay the same up to rounding."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

    AttentionInterface.register(ATTENTION, _attention)
    AttentionMaskInterface.register(ATTENTION, sdpa_mask)
    model.set_attn_implementation(ATTENTION)


def _attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    dropout: float = 0.0,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if query.shape[2] > 1 or attention_mask is None or attention_mask.dtype == torch.bool or "position_bias" in kwargs:
        output: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **kwargs
        )
        return output
    rows, heads, _, size = query.shape
    grouped = query.reshape(rows, key.shape[1], heads // key.shape[1], size)
    if key.is_cpu:
        mixed = _two_products(grouped, key, value, attention_mask, size**-0.5 if scaling is None else scaling)
    else:
        mixed = torch.nn.functional.scaled_dot_product_attention(
            grouped, key, value, attn_mask=attention_mask, scale=scaling
        )
    return mixed.reshape(rows, 1, heads, value.shape[3]), None


def _two_products(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor, scale: float
) -> torch.Tensor:
    scores = torch.matmul(query * scale, key.transpose(2, 3)).add_(mask)
    return torch.matmul(scores.softmax(dim=-1), value)
