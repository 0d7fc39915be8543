"""Sampling with transformers: reads requests ahead, has them decoded, and turns tokens into completions.

Every sample asked for comes back exactly once; one that cannot be drawn comes back as an error, not as an exception.
"""

import math
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from budgetplan.errors import ModelError
from budgetplan.probing.engine import failed_sample
from budgetplan.probing.models import ResolvedModel, context_length, load_tokenizer
from budgetplan.probing.rendering import decode_batch, render_batch
from budgetplan.records import Completion, SampleRequest, Sampling

if TYPE_CHECKING:
    from budgetplan.probing.rows import Decoded, Prompt

LOOK_AHEAD = 2048


class Decoder(Protocol):
    """How prompts become tokens; `slots` samples at a time."""

    slots: int

    def decode(self, prompts: "Iterable[Prompt]") -> "Iterator[list[Decoded]]":
        """Yield every sample of every prompt once, in any order."""


class TransformersEngine:
    """One model loaded with transformers; implements `Engine`.

    `mean_logprob` is the mean over all `n_tokens` drawn tokens, the end token included, under the model's own
    distribution: at temperature 1, before top-p.
    """

    name = "transformers"

    def __init__(
        self,
        resolved: ResolvedModel,
        sampling: Sampling,
        *,
        slots: int | None = None,
        device: str | None = None,
        dtype: str | None = None,
        trust_remote_code: bool = False,
    ) -> None:
        """Load the model; float32 on the CPU, bfloat16 on a GPU unless `dtype` says otherwise.

        `slots` samples are decoded side by side, by default as many as memory is likely to hold.
        """
        from budgetplan.probing import loading
        from budgetplan.probing.decoding import SlotDecoder
        from budgetplan.probing.suitability import suits_slots
        from budgetplan.probing.whole_batches import BatchDecoder

        model = loading.load_model(resolved, device=device, dtype=dtype, trust_remote_code=trust_remote_code)
        self.identity = resolved.identity
        self.sampling = sampling
        self.tokenizer = load_tokenizer(resolved, trust_remote_code=trust_remote_code)
        self.on_gpu = model.device.type != "cpu"
        self.context_tokens = context_length(model.config)
        self.ends = frozenset(loading.end_tokens(model, self.tokenizer))
        decoder = SlotDecoder if suits_slots(model) else BatchDecoder
        self.decoder: Decoder | None = decoder(
            model, sampling, sorted(self.ends), slots or loading.default_slots(model, sampling)
        )

    def sample(self, requests: Iterable[SampleRequest], *, max_tokens: int | None = None) -> Iterator[list[Completion]]:
        """Yield completions in small lists as they finish; reads at most 2,048 requests ahead."""
        assert self.decoder is not None, "the engine is closed"
        cap = min(max_tokens or self.sampling.max_tokens, self.sampling.max_tokens)
        refused: list[Completion] = []
        for decoded in self.decoder.decode(self._prompts(requests, cap, refused)):
            yield [*refused, *map(self._completion, decoded)]
            refused.clear()
        if refused:
            yield refused

    def close(self) -> None:
        """Free the model."""
        import gc

        import torch

        self.decoder = None
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _prompts(self, requests: Iterable[SampleRequest], cap: int, refused: list[Completion]) -> "Iterator[Prompt]":
        """Prompts of like length together: each window is sorted, every other one backwards."""
        stream = iter(requests)
        longest_first = True
        while window := list(islice(stream, LOOK_AHEAD)):
            prompts = list(self._admit(window, cap, refused))
            yield from sorted(prompts, key=lambda prompt: len(prompt.tokens), reverse=longest_first)
            longest_first = not longest_first

    def _admit(self, window: list[SampleRequest], cap: int, refused: list[Completion]) -> "Iterator[Prompt]":
        from budgetplan.probing.rows import Prompt

        for request, tokens in zip(window, self._render(window), strict=True):
            if isinstance(tokens, str):
                refused.extend(failed_sample(request, offset, tokens) for offset in range(request.count))
            else:
                yield Prompt(request, tokens, min(cap, self.context_tokens - len(tokens)))

    def _render(self, window: list[SampleRequest]) -> list[list[int] | str]:
        """Token ids of each prompt, or why it cannot be sampled."""
        try:
            rendered = render_batch(
                self.tokenizer, [request.messages for request in window], thinking=self.sampling.thinking
            )
        except ModelError as error:
            if len(window) == 1:
                return [error.message]
            return [tokens for request in window for tokens in self._render([request])]
        return [self._complaint(tokens) or tokens for tokens in rendered]

    def _complaint(self, tokens: list[int]) -> str | None:
        if not tokens:
            return "the prompt has no tokens"
        if len(tokens) >= self.context_tokens:
            return f"the prompt has {len(tokens)} tokens, the model's context holds {self.context_tokens}"
        return None

    def _completion(self, decoded: "Decoded") -> Completion:
        request, offset = decoded.ticket.prompt.request, decoded.ticket.offset
        if decoded.error is not None:
            return failed_sample(request, offset, decoded.error)
        if not math.isfinite(decoded.logprob):
            return failed_sample(request, offset, "the model's probabilities are not finite")
        stopped = decoded.tokens[-1] in self.ends
        return Completion(
            item_id=request.item_id,
            sample_index=request.first_index + offset,
            seed=request.seed + offset,
            text=decode_batch(self.tokenizer, [decoded.tokens[: -1 if stopped else None]])[0],
            n_tokens=len(decoded.tokens),
            finish_reason="stop" if stopped else "length",
            mean_logprob=decoded.logprob / len(decoded.tokens),
        )
