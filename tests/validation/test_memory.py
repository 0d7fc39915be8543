import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import Qwen3Config

from budgetplan.validation.memory import MAX_SIDE_BY_SIDE, completions_side_by_side, peak_bytes

SMALL = Qwen3Config(hidden_size=96, num_hidden_layers=3)
LARGE = Qwen3Config(hidden_size=8192, num_hidden_layers=80)


@given(per_process=st.integers(1, 600))
def test_an_update_is_cut_evenly(per_process):
    size = completions_side_by_side(SMALL, per_process=per_process, max_tokens=64, recompute=False)
    assert per_process % size == 0
    assert 1 <= size <= MAX_SIDE_BY_SIDE


@pytest.mark.parametrize("recompute", [True, False])
def test_long_completions_of_large_models_go_fewer_at_a_time(recompute):
    def fitting(config, max_tokens):
        return completions_side_by_side(config, per_process=128, max_tokens=max_tokens, recompute=recompute)

    assert fitting(SMALL, 1_000_000) < fitting(SMALL, 64)
    assert fitting(LARGE, 16_000) < fitting(SMALL, 16_000)
    assert fitting(LARGE, 10_000_000) == 1


def test_the_peak_is_in_bytes():
    assert peak_bytes() > 50 * 2**20
