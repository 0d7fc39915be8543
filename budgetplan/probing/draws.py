"""The dice: which token a sample draws at each step.

A draw depends only on the sample's seed, the step and the model's probabilities, never on what else is in the batch:
each (seed, step) has one uniform number, which picks a token through the inverse of the cumulative distribution.
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Draw(NamedTuple):
    """One token per row, and its log-probability under the model's own distribution."""

    tokens: torch.Tensor
    logprobs: torch.Tensor


def uniforms(seeds: NDArray[np.int64], steps: NDArray[np.int64]) -> NDArray[np.float64]:
    """One number in [0, 1) per (seed, step): SplitMix64 keyed with the scrambled seed (Steele et al. 2014)."""
    keys = _scramble(seeds.astype(np.uint64) * GOLDEN)
    bits = _scramble(keys + (steps.astype(np.uint64) + np.uint64(1)) * GOLDEN)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def draw(logits: torch.Tensor, numbers: torch.Tensor, *, temperature: float, top_p: float) -> Draw:
    """Draw one token per row of `logits` (rows, vocabulary) with the uniform `numbers` (rows,).

    Temperature 0 takes the likeliest token. The log-probabilities are those at temperature 1 before any truncation.
    """
    logprobs = logits.float().log_softmax(dim=-1)
    if temperature == 0:
        tokens = logprobs.argmax(dim=-1)
    else:
        chances = logprobs.exp() if temperature == 1 else (logprobs / temperature).softmax(dim=-1)
        tokens = _invert(chances if top_p >= 1 else nucleus(chances, top_p), numbers)
    return Draw(tokens, logprobs.gather(-1, tokens[:, None])[:, 0])


def nucleus(chances: torch.Tensor, top_p: float) -> torch.Tensor:
    """Keep, per row, the smallest set of likeliest tokens that holds at least `top_p`; the others become 0."""
    ordered, order = chances.sort(dim=-1, descending=True, stable=True)
    ordered[ordered.cumsum(dim=-1) - ordered >= top_p] = 0
    return torch.zeros_like(chances).scatter_(-1, order, ordered)


def _invert(chances: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    cumulative = chances.cumsum(dim=-1)
    total = cumulative[:, -1:]
    targets = (numbers[:, None] * total).to(cumulative.dtype)
    # Rounding must reach neither the total nor, behind it, a token of probability 0.
    targets = torch.minimum(targets, total.nextafter(torch.zeros_like(total)))
    tokens = torch.searchsorted(cumulative, targets, right=True)[:, 0]
    return tokens.clamp_(max=chances.shape[-1] - 1)  # beyond the end only where the model returned NaN


def _scramble(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
