import inspect
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    LlamaConfig,
    LlamaForCausalLM,
    MambaConfig,
    MistralConfig,
    Phi3Config,
    PreTrainedConfig,
    Qwen3Config,
)

from budgetplan.probing import loading, suitability
from budgetplan.probing.attention import use_decoding_attention
from budgetplan.probing.loading import default_slots
from budgetplan.probing.suitability import suits_slots
from budgetplan.records import Sampling

SHAPE: dict[str, Any] = {
    "vocab_size": 300,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "initializer_range": 0.2,
    "pad_token_id": 0,
}
GPT2 = GPT2Config(vocab_size=300, n_embd=64, n_layer=2, n_head=4, initializer_range=0.2)


def random_model(config: PreTrainedConfig) -> Any:
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()


class LeftPadded(LlamaForCausalLM):  # type: ignore[misc]
    """A model that makes its own mask, as code from elsewhere may."""

    def forward(self, *args: Any, attention_mask: Any = None, **kwargs: Any) -> Any:
        return super().forward(*args, **kwargs)

    forward.__signature__ = inspect.signature(LlamaForCausalLM.forward)  # type: ignore[attr-defined]


@pytest.mark.parametrize("ours", [False, True], ids=["stock attention", "our attention"])
@pytest.mark.parametrize(
    "config",
    [
        Qwen3Config(head_dim=32, **SHAPE),
        LlamaConfig(**SHAPE | {"num_key_value_heads": 1}),
        LlamaConfig(**SHAPE | {"num_key_value_heads": 4}),
        Phi3Config(sliding_window=None, **SHAPE),
        MistralConfig(sliding_window=None, head_dim=24, **SHAPE),
        GPT2,
    ],
    ids=["qwen3", "one key head", "llama", "phi3", "mistral", "gpt2"],
)
def test_models_that_see_everything_give_on_slots_what_they_give_alone(
    config: PreTrainedConfig, ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suitability, "TOLERANCE", 1e-5)
    model = random_model(config)
    assert model.config._attn_implementation == "sdpa"
    if ours:
        use_decoding_attention(model)
    assert suits_slots(model)


@pytest.mark.parametrize(
    "config",
    [
        MistralConfig(sliding_window=256, **SHAPE),
        Qwen3Config(
            layer_types=["full_attention", "sliding_attention"], use_sliding_window=True, sliding_window=256, **SHAPE
        ),
        MambaConfig(vocab_size=300, hidden_size=64, num_hidden_layers=2),
    ],
    ids=["sliding windows", "some sliding windows", "recurrent"],
)
def test_models_that_forget_do_not_suit(config: PreTrainedConfig) -> None:
    assert not suits_slots(random_model(config))


def test_a_model_that_ignores_the_mask_is_found_out() -> None:
    torch.manual_seed(0)
    assert not suits_slots(LeftPadded(LlamaConfig(**SHAPE)).eval())


def test_a_model_that_refuses_the_call_does_not_suit(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(LlamaConfig(**SHAPE))
    assert suits_slots(model)
    monkeypatch.setattr(model.model.layers[0], "forward", lambda *args, **kwargs: 1 / 0)
    assert not suits_slots(model)


class TestDefaultSlots:
    def test_they_are_256_where_memory_is_plenty(self) -> None:
        assert default_slots(random_model(LlamaConfig(**SHAPE)), Sampling()) == 256

    def test_they_follow_the_memory_and_are_at_least_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model = random_model(LlamaConfig(**SHAPE))
        # 512 tokens (the context) of keys and values, 2 layers x 2 heads x 16 float32 each, and 4 rows of logits
        per_slot = 512 * 2 * 2 * 2 * 16 * 4 + 4 * 300 * 4
        monkeypatch.setattr(loading, "MEMORY_SHARE", 1.0)
        for slots in (10, 1):
            monkeypatch.setattr(loading, "_free_bytes", lambda device, slots=slots: slots * per_slot + 1)
            assert default_slots(model, Sampling()) == slots
        monkeypatch.setattr(loading, "_free_bytes", lambda device: 0)
        assert default_slots(model, Sampling()) == 1

    def test_the_memory_of_this_machine_is_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        meminfo = tmp_path / "meminfo"
        meminfo.write_text(
            "MemTotal:       24000000 kB\nMemFree:  1000 kB\nMemAvailable:    2048 kB\nHugePages_Total:  0\n"
        )
        monkeypatch.setattr(loading, "MEMINFO", meminfo)
        assert loading._free_bytes(torch.device("cpu")) == 2048 * 1024
        monkeypatch.setattr(loading, "MEMINFO", tmp_path / "none")
        assert loading._free_bytes(torch.device("cpu")) == 4 * 2**30
