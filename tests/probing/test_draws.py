import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from budgetplan.probing.draws import draw, nucleus, uniforms

ALMOST_ONE = 1 - 2.0**-53
chances_of = st.lists(st.floats(0.01, 1.0), min_size=2, max_size=12).map(lambda raw: np.array(raw) / sum(raw))


def drawn(chances: list[float], number: float, temperature: float = 1.0, top_p: float = 1.0) -> int:
    logits = torch.tensor([chances], dtype=torch.float64).log().float()
    numbers = torch.from_numpy(np.array([number], dtype=np.float32))
    return int(draw(logits, numbers, temperature=temperature, top_p=top_p).tokens)


class TestUniforms:
    def test_a_seed_and_step_always_give_the_same_number(self) -> None:
        numbers = uniforms(np.array([0, 0, 1, 2**62 + 5]), np.array([0, 1, 0, 7]))
        # The first two are the first outputs of SplitMix64 seeded with 0: 0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4.
        assert numbers[:2].tolist() == [(0xE220A8397B1DCDAF >> 11) / 2**53, (0x6E789E6AA1B965F4 >> 11) / 2**53]
        assert numbers[2:].tolist() == [0.6524484863740322, 0.4047681227680058]

    def test_numbers_are_uniform_along_seeds_and_along_steps(self) -> None:
        many, none = np.arange(20_000), np.zeros(20_000, dtype=np.int64)
        assert kstest(uniforms(many + 2**40, none), "uniform").pvalue > 0.01
        assert kstest(uniforms(none + 2**40, many), "uniform").pvalue > 0.01

    def test_neighbouring_seeds_are_unrelated_and_do_not_repeat_each_other_a_step_later(self) -> None:
        steps = np.arange(5_000)
        one, next_one = uniforms(np.full(5_000, 7), steps), uniforms(np.full(5_000, 8), steps)
        assert abs(np.corrcoef(one, next_one)[0, 1]) < 0.05
        assert not set(one.tolist()) & set(next_one.tolist())


class TestDraw:
    @given(chances_of, st.floats(0.001, 0.999))
    def test_the_number_picks_the_token_by_the_cumulative_distribution(
        self, chances: np.ndarray, number: float
    ) -> None:
        edges = np.cumsum(chances)
        if np.abs(edges - number).min() > 1e-5:
            assert drawn(chances.tolist(), number) == int(np.searchsorted(edges, number))

    @pytest.mark.parametrize("number", [0.0, ALMOST_ONE])
    @pytest.mark.parametrize("top_p", [1.0, 0.9])
    def test_the_extreme_numbers_never_pick_a_token_of_probability_zero(self, number: float, top_p: float) -> None:
        assert drawn([0.0, 0.5, 0.5, 0.0, 0.0], number, top_p=top_p) in {1, 2}

    def test_temperature_zero_takes_the_likeliest(self) -> None:
        assert drawn([0.2, 0.5, 0.3], 0.99, temperature=0.0) == 1

    def test_temperature_sharpens_the_draw_but_not_the_logprob(self) -> None:
        logits = torch.tensor([[0.8, 0.2]]).log()
        hot = draw(logits, torch.tensor([0.9]), temperature=1.0, top_p=1.0)
        cold = draw(logits, torch.tensor([0.9]), temperature=0.5, top_p=1.0)  # 0.64 : 0.04
        assert (int(hot.tokens), int(cold.tokens)) == (1, 0)
        assert cold.logprobs.exp().item() == pytest.approx(0.8)

    def test_logits_that_are_not_numbers_stay_inside_the_vocabulary(self) -> None:
        result = draw(torch.full((1, 4), torch.nan), torch.tensor([0.5]), temperature=1.0, top_p=0.9)
        assert 0 <= int(result.tokens) < 4
        assert result.logprobs.isnan().all()


class TestNucleus:
    @given(chances_of, st.floats(0.05, 1.0))
    def test_it_is_the_smallest_set_of_likeliest_tokens_that_reaches_top_p(
        self, chances: np.ndarray, top_p: float
    ) -> None:
        kept = nucleus(torch.from_numpy(chances)[None], top_p)[0].numpy()
        inside = kept > 0
        assert np.array_equal(kept[inside], chances[inside])
        assert chances[inside].sum() >= top_p - 1e-9
        assert chances[inside].sum() - chances[inside].min() < top_p + 1e-9
        assert (~inside).sum() == 0 or chances[~inside].max() <= chances[inside].min()
