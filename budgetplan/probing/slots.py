"""Where the keys and values of the samples in flight lie: one slot per sample, each with its own length.

A slot's columns hold its own tokens from column 0 on, without padding, so a new sample moves into a freed slot without
touching its neighbours. What lies behind a slot's length is finite rubbish, and the mask hides it. The memory of the
slots in use has no gaps: on a CPU, attention reads it about three times as fast.
"""

from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer

COLUMN_STEP = 8  # GPU kernels want masks of aligned width
SPARE_SHARE = 8  # one column in so many is spare, so that growing stays rare
SHRINK_BELOW = 0.6


class SlotLayer(DynamicLayer):  # type: ignore[misc]  # transformers comes without types
    """Keys and values of one attention layer, each (slots, heads, columns, head_dim), written in place."""

    keys: torch.Tensor
    values: torch.Tensor

    def __init__(self, filled: DynamicLayer, slots: int) -> None:
        super().__init__()
        self.keys = filled.keys.new_zeros(slots, filled.keys.shape[1], 0, filled.keys.shape[3])
        self.values = filled.values.new_zeros(slots, filled.values.shape[1], 0, filled.values.shape[3])
        self.is_initialized = True
        self.used = 0
        self.places = torch.empty(0)

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write one token per row, (rows, heads, 1, head_dim), where the cache aims; return the rows, all columns."""
        return self._write(self.keys, key_states), self._write(self.values, value_states)

    def _write(self, store: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        size = store.shape[3]
        store.view(-1, size).index_copy_(0, self.places, states.reshape(-1, size))
        return store[: self.used]


class SlotCache:
    """The layers of one model, with the moves the decoding loop needs; `cache` is what the model is called with."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.columns = 0
        self.layers: list[SlotLayer] = []
        self.cache: Cache | None = None

    def admit(self, prefix: DynamicCache, source: torch.Tensor, slots: torch.Tensor) -> None:
        """Copy row `source[i]` of a prefilled cache into slot `slots[i]`."""
        if not self.layers:
            self.layers = [SlotLayer(filled, self.slots) for filled in prefix.layers]
            self.cache = Cache(layers=self.layers)
        width = prefix.layers[0].keys.shape[2]
        if width > self.columns:
            self._resize(width)
        for layer, filled in zip(self.layers, prefix.layers, strict=True):
            layer.keys[slots, :, :width] = filled.keys[source]
            layer.values[slots, :, :width] = filled.values[source]

    def aim(self, positions: torch.Tensor, width: int) -> None:
        """Let the next forward call write row i at column `positions[i]`, and its attention read at least `width`."""
        if not SHRINK_BELOW * self.columns <= width <= self.columns:
            self._resize(width)
        places: dict[int, torch.Tensor] = {}
        for layer in self.layers:
            heads = layer.keys.shape[1]
            if heads not in places:
                rows = torch.arange(len(positions) * heads, device=positions.device).view(-1, heads)
                places[heads] = (rows * self.columns + positions[:, None]).flatten()
            layer.used, layer.places = len(positions), places[heads]

    def move(self, source: torch.Tensor, target: torch.Tensor) -> None:
        """Copy slots `source` over slots `target`; the two do not overlap."""
        for layer in self.layers:
            layer.keys[target] = layer.keys[source]
            layer.values[target] = layer.values[source]

    def _resize(self, width: int) -> None:
        columns = -(-(width + width // SPARE_SHARE + 1) // COLUMN_STEP) * COLUMN_STEP
        if columns == self.columns:
            return
        self.columns = columns
        for layer in self.layers:
            layer.keys = _resized(layer.keys, self.columns)
            layer.values = _resized(layer.values, self.columns)


def next_logits(
    model: Any, cache: SlotCache, tokens: torch.Tensor, positions: torch.Tensor, width: int
) -> torch.Tensor:
    """Let row i read `tokens[i]` at `positions[i]`, the largest of which is `width` - 1; logits (rows, vocabulary)."""
    cache.aim(positions, width)
    hidden = torch.arange(cache.columns, device=positions.device) > positions[:, None]
    mask = torch.zeros(hidden.shape, dtype=model.dtype, device=hidden.device).masked_fill_(hidden, -torch.inf)
    logits: torch.Tensor = model(
        input_ids=tokens[:, None],
        attention_mask=mask[:, None, None],
        position_ids=positions[:, None],
        past_key_values=cache.cache,
        use_cache=True,
        logits_to_keep=1,
    ).logits
    return logits[:, -1]


def _resized(store: torch.Tensor, columns: int) -> torch.Tensor:
    # Zeros, not empty memory: a masked NaN would still spoil the sum.
    new = store.new_zeros(store.shape[0], store.shape[1], columns, store.shape[3])
    kept = min(columns, store.shape[2])
    new[:, :, :kept] = store[:, :, :kept]
    return new
