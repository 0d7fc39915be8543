"""Reading prompts: each one once, however many samples are drawn from it.

A prompt is read up to its last token; that token is what its samples start from, so every draw happens in one place.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers.cache_utils import DynamicCache

from budgetplan.probing.rows import Prompt, Ticket

MAX_PROMPTS = 32
MAX_TOKENS = 8192


@dataclass(frozen=True, slots=True)
class Start:
    """Samples to start now: sample i continues row `source[i]` of `cache`."""

    cache: Any
    source: NDArray[np.int64]
    tickets: list[Ticket]


class Prefill:
    """A queue of samples whose prompts have been read; reads on when it runs dry."""

    def __init__(self, model: Any, prompts: Iterable[Prompt]) -> None:
        self.model = model
        self.max_prompts = MAX_PROMPTS
        self.again: deque[list[Ticket]] = deque()
        self.groups: Iterator[list[Ticket]] = (prompt.tickets() for prompt in prompts)
        self.cache: Any = None
        self.waiting: deque[tuple[int, Ticket]] = deque()

    def take(self, count: int) -> Start | None:
        """Up to `count` samples to start, or None when there are no more.

        Raises the error of a prompt that does not fit into memory even alone; the prompt stays first in the queue.
        """
        if not self.waiting:
            self._read_on()
        if not self.waiting:
            return None
        taken = [self.waiting.popleft() for _ in range(min(count, len(self.waiting)))]
        return Start(self.cache, np.array([row for row, _ in taken]), [ticket for _, ticket in taken])

    def put_back(self, tickets: Iterable[Ticket]) -> None:
        """Let samples start again from their prompts."""
        groups: dict[int, list[Ticket]] = {}
        for ticket in tickets:
            groups.setdefault(id(ticket.prompt), []).append(ticket)
        self.again.extendleft(groups.values())

    def give_up(self) -> list[Ticket]:
        """Remove the first prompt of the queue and return its samples."""
        return self.again.popleft()

    def _read_on(self) -> None:
        self.cache = None
        while batch := self._next_batch():
            try:
                self.cache = read(self.model, [tickets[0].prompt.tokens[:-1] for tickets in batch])
            except RuntimeError as error:
                self.again.extendleft(reversed(batch))
                if not is_out_of_memory(error) or len(batch) == 1:
                    raise
                self.max_prompts = len(batch) // 2
            else:
                self.waiting.extend((row, ticket) for row, tickets in enumerate(batch) for ticket in tickets)
                return

    def _next_batch(self) -> list[list[Ticket]]:
        batch: list[list[Ticket]] = []
        longest = 0
        while len(batch) < self.max_prompts and (tickets := self._next_group()):
            longest = max(longest, len(tickets[0].prompt.tokens))
            if batch and longest * (len(batch) + 1) > MAX_TOKENS:
                self.again.appendleft(tickets)
                break
            batch.append(tickets)
        return batch

    def _next_group(self) -> list[Ticket] | None:
        return self.again.popleft() if self.again else next(self.groups, None)


def read(model: Any, prompts: list[list[int]]) -> Any:
    """Cache of prompts padded on the right (at least one column), which causal attention keeps out of sight."""
    width = max(1, *map(len, prompts))
    padded = torch.zeros(len(prompts), width, dtype=torch.long)
    for row, tokens in zip(padded, prompts, strict=True):
        row[: len(tokens)] = torch.tensor(tokens, dtype=torch.long)
    cache = DynamicCache()
    model(
        input_ids=padded.to(model.device),
        position_ids=torch.arange(width, device=model.device)[None],
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    return cache


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether torch ran out of memory, on a GPU or on the CPU."""
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)
