"""The samples in flight, one row per slot, as columns on the host: who sits where, how far along, with which dice.

Rows that hold nobody stay at position 0 and never end.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from budgetplan.records import SampleRequest


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request as the model reads it, and how many tokens each of its samples may have."""

    request: SampleRequest
    tokens: list[int]
    limit: int

    def tickets(self) -> "list[Ticket]":
        """One ticket per sample of the request."""
        return [Ticket(self, offset) for offset in range(self.request.count)]


@dataclass(frozen=True, slots=True)
class Ticket:
    """One sample to decode: the `offset`-th of its request."""

    prompt: Prompt
    offset: int

    @property
    def seed(self) -> int:
        """The sample's own seed."""
        return self.prompt.request.seed + self.offset


@dataclass(frozen=True, slots=True)
class Decoded:
    """What became of one sample: its tokens, the end token included, or the error that stopped it."""

    ticket: Ticket
    tokens: list[int]
    logprob: float = 0.0
    error: str | None = None


class Rows:
    """Columns over the slots. `used` counts the slots from 0 up to the last one ever taken since the last `settle`."""

    def __init__(self, slots: int, longest: int) -> None:
        self.used = 0
        self.tickets: list[Ticket | None] = [None] * slots
        self.live = np.zeros(slots, dtype=bool)
        self.seeds = np.zeros(slots, dtype=np.int64)
        self.positions = np.zeros(slots, dtype=np.int64)
        self.drawn = np.zeros(slots, dtype=np.int64)
        self.limits = np.zeros(slots, dtype=np.int64)
        self.logprobs = np.zeros(slots, dtype=np.float64)
        self.history = np.zeros((slots, longest), dtype=np.int32)

    def free(self) -> NDArray[np.int64]:
        """Slots that hold nobody, lowest first."""
        return np.flatnonzero(~self.live)

    def seat(self, slot: int, ticket: Ticket) -> None:
        """Start a sample; the last token of its prompt is the first it reads."""
        self.tickets[slot] = ticket
        self.live[slot] = True
        self.seeds[slot] = ticket.seed
        self.positions[slot] = len(ticket.prompt.tokens) - 1
        self.limits[slot] = ticket.prompt.limit
        self.logprobs[slot] = 0.0
        self.used = max(self.used, slot + 1)

    def record(
        self, tokens: NDArray[np.int64], logprobs: NDArray[np.float64], ends: NDArray[np.int64]
    ) -> list[Decoded]:
        """Note the token each used row has drawn and hand out the samples that ended with it."""
        used = slice(self.used)
        live = self.live[used]
        self.history[np.arange(self.used), self.drawn[used]] = tokens
        self.logprobs[used] += logprobs
        self.drawn[used] += live
        self.positions[used] += live
        ended = live & ((tokens[:, None] == ends).any(axis=1) | (self.drawn[used] >= self.limits[used]))
        return [self._finish(int(slot)) for slot in np.flatnonzero(ended)]

    def leave(self, slot: int) -> Ticket:
        """Free a slot."""
        ticket = self.tickets[slot]
        assert ticket is not None
        self.tickets[slot] = None
        self.live[slot] = False
        self.positions[slot] = self.drawn[slot] = 0
        return ticket

    def settle(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Move the last rows into the gaps before them and shorten `used`; return the slots (from, to)."""
        count = int(self.live.sum())
        source = count + np.flatnonzero(self.live[count : self.used])
        target = np.flatnonzero(~self.live[:count])
        for column in (self.live, self.seeds, self.positions, self.drawn, self.limits, self.logprobs, self.history):
            column[target] = column[source]
        for old, new in zip(source.tolist(), target.tolist(), strict=True):
            self.tickets[new] = self.tickets[old]
            self.leave(old)
        self.used = count
        return source, target

    def _finish(self, slot: int) -> Decoded:
        tokens = self.history[slot, : self.drawn[slot]].tolist()
        logprob = float(self.logprobs[slot])
        return Decoded(self.leave(slot), tokens, logprob)
