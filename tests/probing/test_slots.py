import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.cache_utils import DynamicCache

from budgetplan.probing.rows import Prompt, Rows, Ticket
from budgetplan.probing.slots import SlotCache
from budgetplan.records import ItemId, SampleRequest

HEADS, SIZE = 2, 3


def prefix(rows: int, width: int) -> DynamicCache:
    """A prefilled cache of one layer, whose numbers say where they come from."""
    numbers = torch.arange(rows * HEADS * width * SIZE, dtype=torch.float32).view(rows, HEADS, width, SIZE)
    cache = DynamicCache()
    cache.update(numbers, -numbers, 0)
    return cache


def write(cache: SlotCache, positions: list[int], mark: float) -> tuple[torch.Tensor, torch.Tensor]:
    cache.aim(torch.tensor(positions), max(positions) + 1)
    states = torch.full((len(positions), HEADS, 1, SIZE), mark)
    return cache.layers[0].update(states, -states)


class TestSlotCache:
    def test_a_row_keeps_its_columns_while_others_come_and_the_store_grows_and_shrinks(self) -> None:
        cache, filled = SlotCache(4), prefix(3, 10)
        cache.admit(filled, torch.tensor([2]), torch.tensor([1]))
        kept = filled.layers[0].keys[2]
        for width in (10, 100, 300, 12):
            write(cache, [0, 10, 0, width - 1], 7.0)
            assert torch.equal(cache.layers[0].keys[1, :, :10], kept)
            assert torch.equal(cache.layers[0].values[1, :, :10], -kept)
            assert width <= cache.columns <= 2 * width + 8
        cache.admit(prefix(1, 11), torch.tensor([0]), torch.tensor([0]))
        assert torch.equal(cache.layers[0].keys[1, :, :10], kept)

    def test_each_row_writes_at_its_own_column(self) -> None:
        cache = SlotCache(3)
        cache.admit(prefix(1, 4), torch.tensor([0, 0, 0]), torch.tensor([0, 1, 2]))
        before = cache.layers[0].keys.clone()
        keys, values = write(cache, [4, 0], 99.0)
        assert keys.shape[0] == values.shape[0] == 2
        assert keys.is_contiguous()
        assert (keys[0, :, 4] == 99).all()
        assert (keys[1, :, 0] == 99).all()
        assert (values[0, :, 4] == -99).all()
        untouched = torch.ones_like(before, dtype=torch.bool)
        untouched[0, :, 4] = untouched[1, :, 0] = False
        assert torch.equal(cache.layers[0].keys[untouched], before[untouched])

    def test_what_lies_behind_a_row_is_finite(self) -> None:
        cache = SlotCache(2)
        cache.admit(prefix(1, 2), torch.tensor([0]), torch.tensor([0]))
        write(cache, [2, 0], 1.0)
        cache.aim(torch.tensor([200, 0]), 201)
        assert cache.layers[0].keys.isfinite().all()

    def test_moving_copies_whole_rows(self) -> None:
        cache = SlotCache(4)
        cache.admit(prefix(2, 5), torch.tensor([0, 1]), torch.tensor([0, 3]))
        cache.move(torch.tensor([3]), torch.tensor([1]))
        assert torch.equal(cache.layers[0].keys[1], cache.layers[0].keys[3])
        assert torch.equal(cache.layers[0].values[1], cache.layers[0].values[3])


def ticket(number: int, tokens: int, limit: int = 9) -> Ticket:
    request = SampleRequest(ItemId(f"bp-{number}"), (), 0, 1, seed=number)
    return Ticket(Prompt(request, list(range(tokens)), limit), 0)


class TestRows:
    @given(st.lists(st.booleans(), min_size=1, max_size=12))
    def test_settling_leaves_no_gap_and_loses_nobody(self, leaving: list[bool]) -> None:
        rows = Rows(len(leaving), 9)
        for slot in range(len(leaving)):
            rows.seat(slot, ticket(slot, tokens=slot + 1))
        stays = {slot for slot, leaves in enumerate(leaving) if not leaves}
        for slot in set(range(len(leaving))) - stays:
            rows.leave(slot)
        source, target = rows.settle()
        assert rows.used == len(stays)
        assert rows.live.tolist() == [True] * rows.used + [False] * (len(leaving) - rows.used)
        assert set(rows.seeds[: rows.used].tolist()) == stays
        assert all(rows.positions[slot] == rows.seeds[slot] == rows.tickets[slot].seed for slot in range(rows.used))
        assert set(source.tolist()) <= stays
        assert not set(source.tolist()) & set(target.tolist())

    def test_a_sample_ends_with_an_end_token_or_at_its_limit(self) -> None:
        rows = Rows(3, 9)
        for slot, limit in enumerate((9, 2, 9)):
            rows.seat(slot, ticket(slot, tokens=4, limit=limit))
        ends, ones = np.array([50, 51]), np.full(3, -0.5)
        assert rows.record(np.array([1, 2, 3]), ones, ends) == []
        first, second = rows.record(np.array([4, 5, 51]), ones, ends)
        assert (first.ticket.seed, first.tokens, first.logprob) == (1, [2, 5], pytest.approx(-1.0))
        assert (second.ticket.seed, second.tokens) == (2, [3, 51])
        assert rows.live.tolist() == [True, False, False]

    def test_a_slot_that_is_taken_again_starts_afresh(self) -> None:
        rows = Rows(1, 9)
        rows.seat(0, ticket(0, tokens=4, limit=1))
        rows.record(np.array([1]), np.array([-3.0]), np.array([50]))
        rows.seat(0, ticket(1, tokens=2, limit=1))
        (ended,) = rows.record(np.array([8]), np.array([-1.0]), np.array([50]))
        assert (ended.ticket.seed, ended.tokens, ended.logprob) == (1, [8], -1.0)
