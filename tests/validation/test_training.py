import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from training_folders import spec

from budgetplan.errors import TrainingError
from budgetplan.validation.recorder import Recorder
from budgetplan.validation.records_of_training import groups
from budgetplan.validation.training import _adapter, _quantization, order

ATTENTION = {"q_proj", "k_proj", "v_proj", "o_proj"}
GATED = {"gate_proj", "up_proj", "down_proj"}


@given(n_items=st.integers(1, 50), n_prompts=st.integers(1, 200), seed=st.integers(0, 9))
def test_every_item_comes_equally_often(n_items, n_prompts, seed):
    places = order(n_items, n_prompts, seed)
    counts = np.bincount(places, minlength=n_items)
    assert len(places) == n_prompts
    assert counts.max() - counts.min() <= 1
    np.testing.assert_array_equal(places, order(n_items, n_prompts, seed))


def test_seeds_and_passes_have_their_own_order():
    places = order(50, 100, seed=0)
    assert (places[:50] != places[50:]).any()
    assert (places != order(50, 100, seed=1)).any()
    np.testing.assert_array_equal(places[:70], order(50, 70, seed=0))


@pytest.mark.parametrize(
    ("family", "names"),
    [
        ("qwen3", ATTENTION | GATED),
        ("llama", ATTENTION | GATED),
        ("phi3", {"qkv_proj", "o_proj", "gate_up_proj", "down_proj"}),
    ],
)
def test_the_adapter_is_on_every_linear_layer_but_the_head(tiny_model, family, names):
    from peft import get_peft_model
    from transformers import AutoModelForCausalLM

    folder = tiny_model(family)
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(folder), _adapter(spec(folder, "math")))
    adapted = {name.split(".lora_A")[0].split(".")[-1] for name, _ in model.named_parameters() if "lora_A" in name}
    assert adapted == names
    assert model.peft_config["default"].r == 32


def test_full_weights_have_no_adapter(tmp_path):
    assert _adapter(spec(tmp_path, "math", lora=False)) is None


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what happens without a GPU")
def test_four_bits_without_a_gpu_say_what_is_needed(tmp_path):
    from dataclasses import replace

    with pytest.raises(TrainingError, match=r"needs a GPU.*pip install"):
        _quantization(replace(spec(tmp_path, "math"), four_bit=True))
    with pytest.raises(TrainingError, match="4 bits cannot be trained"):
        _quantization(replace(spec(tmp_path, "math", lora=False), four_bit=True))
    assert _quantization(spec(tmp_path, "math")) is None


class State:
    global_step = 4


def _record(recorder, rewards, tokens):
    ids = [[5] * (length - 1) + [end] for length, end in tokens]
    return recorder(
        completion_ids=ids,
        item_id=["a", "a", "b", "b"],
        trainer_state=State(),
        answer=["1"] * 4,
        columns=["{}"] * 4,
        prompts=rewards,
    )


def test_groups_are_kept_as_the_verifier_saw_them(tmp_path):
    seen = []

    def verify(*, truncated, prompts, **columns):
        seen.append((truncated, sorted(columns)))
        return prompts

    recorder = Recorder(verify, lambda: None, tmp_path, group_size=2)
    recorder.ends = frozenset({9})
    assert _record(recorder, [1.0, None, 0.0, 1.0], [(2, 9), (4, 5), (1, 9), (1, 9)]) == [1.0, None, 0.0, 1.0]
    assert seen == [([False, True, False, False], ["answer", "columns", "completion_ids", "item_id", "trainer_state"])]
    assert groups(tmp_path).to_pylist() == [
        {"step": 5, "position": 0, "item_id": "a", "rewards": [1.0, None], "n_truncated": 1, "mean_tokens": 3.0},
        {"step": 5, "position": 1, "item_id": "b", "rewards": [0.0, 1.0], "n_truncated": 0, "mean_tokens": 1.0},
    ]


def test_a_verifier_that_fails_on_everything_stops_the_training(tmp_path):
    recorder = Recorder(lambda **_: [None] * 4, lambda: "LookupError: no rubric", tmp_path, group_size=2)
    with pytest.raises(TrainingError, match=r"no reward for any.*LookupError: no rubric.*--verifier"):
        _record(recorder, None, [(2, 9)] * 4)
