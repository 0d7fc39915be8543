"""Decoding in whole batches, for models whose caches cannot be refilled: sliding windows, recurrent layers.

Samples are the same as on slots, seed for seed; a batch only waits for its slowest member.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList

from budgetplan.probing.draws import draw, uniforms
from budgetplan.probing.prefill import is_out_of_memory
from budgetplan.probing.rows import Decoded, Prompt, Ticket
from budgetplan.records import Sampling


class BatchDecoder:
    """Decodes prompts with the model's own `generate`; only the dice are ours."""

    def __init__(self, model: Any, sampling: Sampling, ends: Sequence[int], slots: int) -> None:
        self.model = model
        self.sampling = sampling
        self.ends = list(ends)
        self.slots = slots
        # Whatever penalties or limits the model ships with would change the samples.
        model.generation_config = GenerationConfig(eos_token_id=self.ends or None, pad_token_id=(self.ends or [0])[0])

    def decode(self, prompts: Iterable[Prompt]) -> Iterator[list[Decoded]]:
        """Yield samples batch by batch. Out of memory, it goes on with half the slots."""
        batch: list[Ticket] = []
        for ticket in (ticket for prompt in prompts for ticket in prompt.tickets()):
            if batch and (len(batch) >= self.slots or ticket.prompt.limit != batch[0].prompt.limit):
                yield from self._decode_batch(batch)
                batch = []
            batch.append(ticket)
        if batch:
            yield from self._decode_batch(batch)

    def _decode_batch(self, batch: list[Ticket]) -> Iterator[list[Decoded]]:
        try:
            yield self._generate(batch)
            return
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            reason = f"out of memory: {str(error).splitlines()[0]}"
        if len(batch) == 1:
            yield [Decoded(batch[0], [], error=reason)]
            return
        self.slots = half = len(batch) // 2
        yield from self._decode_batch(batch[:half])
        yield from self._decode_batch(batch[half:])

    @torch.inference_mode()
    def _generate(self, batch: list[Ticket]) -> list[Decoded]:
        width = max(len(ticket.prompt.tokens) for ticket in batch)
        tokens = torch.zeros(len(batch), width, dtype=torch.long)
        mask = torch.zeros_like(tokens)
        for row, ticket in enumerate(batch):
            tokens[row, width - len(ticket.prompt.tokens) :] = torch.tensor(ticket.prompt.tokens)
            mask[row, width - len(ticket.prompt.tokens) :] = 1
        dice = Dice(self.sampling, [ticket.seed for ticket in batch])
        self.model.generate(
            input_ids=tokens.to(self.model.device),
            attention_mask=mask.to(self.model.device),
            do_sample=False,
            max_new_tokens=batch[0].prompt.limit,
            logits_processor=LogitsProcessorList([dice]),
        )
        return [self._cut(ticket, *drawn) for ticket, drawn in zip(batch, dice.rows(), strict=True)]

    def _cut(self, ticket: Ticket, tokens: list[int], logprobs: list[float]) -> Decoded:
        """Drop what was drawn for a row after its end."""
        length = next((i + 1 for i, token in enumerate(tokens) if token in self.ends), len(tokens))
        return Decoded(ticket, tokens[:length], sum(logprobs[:length]))


class Dice(LogitsProcessor):  # type: ignore[misc]  # transformers comes without types
    """Draws each row's token with its own seed and leaves `generate` no other choice."""

    def __init__(self, sampling: Sampling, seeds: list[int]) -> None:
        self.sampling = sampling
        self.seeds = np.array(seeds, dtype=np.int64)
        self.tokens: list[torch.Tensor] = []
        self.logprobs: list[torch.Tensor] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Scores that are 0 at the drawn token and minus infinity elsewhere."""
        steps = np.full(len(self.seeds), len(self.tokens), dtype=np.int64)
        numbers = torch.from_numpy(uniforms(self.seeds, steps).astype(np.float32)).to(scores.device)
        drawn = draw(scores, numbers, temperature=self.sampling.temperature, top_p=self.sampling.top_p)
        self.tokens.append(drawn.tokens)
        self.logprobs.append(drawn.logprobs)
        return torch.full_like(scores, -torch.inf).scatter_(-1, drawn.tokens[:, None], 0.0)

    def rows(self) -> Iterator[tuple[list[int], list[float]]]:
        """Tokens and log-probabilities of each row."""
        return zip(torch.stack(self.tokens, dim=1).tolist(), torch.stack(self.logprobs, dim=1).tolist(), strict=True)
