"""The decoding loop: many samples side by side, each place given to the next sample soon after one ends.

A sample is decoded alike whatever runs beside it: it has its own positions, its own mask and its own dice.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from budgetplan.probing.draws import draw, uniforms
from budgetplan.probing.prefill import Prefill, Start, is_out_of_memory
from budgetplan.probing.rows import Decoded, Prompt, Rows
from budgetplan.probing.slots import SlotCache, next_logits
from budgetplan.records import Sampling

REFILL_SHARE = 16  # new samples wait until one slot in so many is free: starting them one by one costs more


class SlotDecoder:
    """Decodes prompts on a fixed number of slots; for models that `suits_slots`."""

    def __init__(self, model: Any, sampling: Sampling, ends: Sequence[int], slots: int) -> None:
        self.model = model
        self.sampling = sampling
        self.ends = np.array(ends, dtype=np.int64)
        self.slots = slots

    @torch.inference_mode()
    def decode(self, prompts: Iterable[Prompt]) -> Iterator[list[Decoded]]:
        """Yield samples as they end, in any order. Out of memory, it goes on with half the slots."""
        yield from _Run(self, prompts).decode()


class _Run:
    """One pass over some prompts: the queue before the slots, and the slots."""

    def __init__(self, decoder: SlotDecoder, prompts: Iterable[Prompt]) -> None:
        self.decoder = decoder
        self.model = decoder.model
        self.sampling = decoder.sampling
        self.queue = Prefill(decoder.model, prompts)
        self._open()

    def decode(self) -> Iterator[list[Decoded]]:
        while True:
            if failed := self._refill():
                yield failed
            if not self.rows.live.any():
                return
            if ended := self._advance():
                yield ended

    def _open(self) -> None:
        """Start with empty slots that hold no memory yet."""
        slots = self.decoder.slots
        self.dry = False
        self.rows = Rows(slots, self.sampling.max_tokens)
        self.cache = SlotCache(slots)
        self.tokens = torch.zeros(slots, dtype=torch.long, device=self.model.device)

    def _refill(self) -> list[Decoded]:
        failed: list[Decoded] = []
        free = self.rows.free()
        if self.rows.live.any() and len(free) < max(1, self.cache.slots // REFILL_SHARE):
            return failed
        while len(free) and not self.dry:
            try:
                start = self.queue.take(len(free))
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                if self.rows.live.any():
                    break  # memory comes back as samples end
                failed += self._make_room(error)
            else:
                failed += self._seat(start, free)
            free = self.rows.free()
        return failed

    def _seat(self, start: Start | None, free: NDArray[np.int64]) -> list[Decoded]:
        if start is None:
            self.dry = True
            return []
        slots = free[: len(start.tickets)]
        try:
            self.cache.admit(start.cache, self._on_device(start.source), self._on_device(slots))
        except RuntimeError as error:
            self.queue.put_back(start.tickets)
            return self._retreat(error)
        for slot, ticket in zip(slots.tolist(), start.tickets, strict=True):
            self.rows.seat(slot, ticket)
        lasts = np.array([ticket.prompt.tokens[-1] for ticket in start.tickets], dtype=np.int64)
        self.tokens[self._on_device(slots)] = self._on_device(lasts)
        return []

    def _advance(self) -> list[Decoded]:
        try:
            if self.dry:
                self._close_gaps()
            return self._step()
        except RuntimeError as error:
            return self._retreat(error)

    def _close_gaps(self) -> None:
        source, target = self.rows.settle()
        if len(source):
            moved, gaps = self._on_device(source), self._on_device(target)
            self.cache.move(moved, gaps)
            self.tokens[gaps] = self.tokens[moved]

    def _step(self) -> list[Decoded]:
        rows, used = self.rows, self.rows.used
        positions = self._on_device(rows.positions[:used])
        width = int(rows.positions[:used].max()) + 1
        logits = next_logits(self.model, self.cache, self.tokens[:used], positions, width)
        numbers = uniforms(rows.seeds[:used], rows.drawn[:used]).astype(np.float32)
        drawn = draw(logits, self._on_device(numbers), temperature=self.sampling.temperature, top_p=self.sampling.top_p)
        self.tokens[:used] = drawn.tokens
        return rows.record(drawn.tokens.cpu().numpy(), drawn.logprobs.cpu().numpy(), self.decoder.ends)

    def _retreat(self, error: RuntimeError) -> list[Decoded]:
        """Out of memory: start all samples in flight again on half the slots; a lone one has failed."""
        if not is_out_of_memory(error):
            raise error
        self.queue.put_back(ticket for ticket in self.rows.tickets if ticket is not None)
        lone = self.cache.slots == 1
        self.decoder.slots = max(1, self.cache.slots // 2)
        self._open()
        return self._give_up(error) if lone else []

    def _make_room(self, error: RuntimeError) -> list[Decoded]:
        """A prompt does not fit beside empty slots: free those; a prompt that does not fit alone has failed."""
        if not self.cache.layers:
            return self._give_up(error)
        self._open()
        return []

    def _give_up(self, error: RuntimeError) -> list[Decoded]:
        reason = f"out of memory: {str(error).splitlines()[0]}"
        return [Decoded(ticket, [], error=reason) for ticket in self.queue.give_up()]

    def _on_device(self, values: NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(values).to(self.model.device)
