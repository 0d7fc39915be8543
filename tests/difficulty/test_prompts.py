import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from budgetplan.difficulty import prompts as module
from budgetplan.difficulty.prompts import N_COMPONENTS, N_NEAR, PROMPT_CHARACTERS, PromptFeatures, prompt_features

TOPICS = ("swap the red ball with", "how many apples are left of", "which date is one week after", "solve the equation")

words = st.sampled_from(["apple", "ball", "x", "5", "今", "天", "???", "Zug", "é"])
pools = st.lists(st.lists(words, max_size=6).map(" ".join), max_size=30)


def features(texts: list[str]) -> PromptFeatures:
    return prompt_features(pa.array(texts, pa.string()))


def topical(n: int) -> list[str]:
    """Prompts of four topics in turn, each with words of its own."""
    return [f"{TOPICS[i % 4]} u{i} v{i % 7}" for i in range(n)]


@pytest.fixture
def as_a_large_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pools of more than 20 items count as large, and 100 of their items are neighbours."""
    monkeypatch.setattr(module, "EXACT_ITEMS", 20)
    monkeypatch.setattr(module, "REFERENCE_ITEMS", 100)


@settings(deadline=None, max_examples=60)
@given(pools)
def test_any_pool_gets_finite_rows_and_neighbours_that_are_others(texts: list[str]) -> None:
    found = features(texts)
    n = len(texts)
    assert found.components.shape[0] == n
    assert found.components.shape[1] <= N_COMPONENTS
    assert np.isfinite(found.components).all()
    assert found.near.shape == (n, N_NEAR)
    assert (found.near < n).all()
    for row, near in enumerate(found.near.tolist()):
        others = [place for place in near if place >= 0]
        assert row not in others
        assert len(set(others)) == len(others)
        assert near[len(others) :] == [-1] * (N_NEAR - len(others))
        assert all(set(texts[row].split()) & set(texts[place].split()) for place in others)


def test_neighbours_are_those_of_the_greatest_cosine() -> None:
    texts = topical(60)
    weights = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+").fit_transform(texts).toarray()
    cosine = weights @ weights.T
    np.fill_diagonal(cosine, -1)
    found = np.take_along_axis(cosine, features(texts).near, axis=1)
    np.testing.assert_allclose(found, -np.sort(-cosine, axis=1)[:, :N_NEAR], atol=1e-5)


def test_components_are_the_truncated_svd_of_tf_idf() -> None:
    texts = topical(60)
    weights = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+").fit_transform(texts).toarray()
    left, singular, _ = np.linalg.svd(weights)
    expected = left[:, :4] * singular[:4]
    found = features(texts).components
    assert found.shape == (60, N_COMPONENTS)
    np.testing.assert_allclose(np.abs(found[:, :4]), np.abs(expected), atol=1e-3)


@pytest.mark.parametrize("large", [False, True])
def test_features_go_with_the_prompt_whatever_the_row_order(large: bool, request: pytest.FixtureRequest) -> None:
    if large:
        request.getfixturevalue("as_a_large_pool")
    texts = topical(300)
    shuffle = np.random.default_rng(3).permutation(300)
    straight, shuffled = features(texts), features([texts[i] for i in shuffle])
    np.testing.assert_array_equal(straight.components[shuffle], shuffled.components)
    np.testing.assert_array_equal(straight.near[shuffle], np.where(shuffled.near < 0, -1, shuffle[shuffled.near]))


@pytest.mark.usefixtures("as_a_large_pool")
def test_a_large_pool_finds_neighbours_of_the_same_topic_among_a_part_of_it() -> None:
    found = features(topical(300))
    assert len(np.unique(found.near)) <= 100
    assert (found.near % 4 == np.arange(300)[:, None] % 4).all()
    assert (found.near != np.arange(300)[:, None]).all()
    assert found.components.shape == (300, N_COMPONENTS)


@pytest.mark.usefixtures("as_a_large_pool")
@pytest.mark.parametrize("text", ["same words", "???", ""])
def test_a_large_pool_of_one_text(text: str) -> None:
    found = features([text] * 150)
    assert np.isfinite(found.components).all()
    assert (found.near >= 0).all() == ("words" in text)
    assert (found.near != np.arange(150)[:, None]).all()


@pytest.mark.usefixtures("as_a_large_pool")
def test_wordless_prompts_of_a_large_pool_have_zeros_and_are_nobodys_neighbours() -> None:
    found = features(["?!" if i % 5 == 4 else text for i, text in enumerate(topical(300))])
    wordless = np.arange(300) % 5 == 4
    assert not found.components[wordless].any()
    assert (found.near[wordless] == -1).all()
    assert (found.near[~wordless] % 5 != 4).all()
    assert (found.near[~wordless] >= 0).all()


@pytest.mark.parametrize("texts", [[], [""], ["???"] * 3, ["", " \n", "+"]])
def test_without_a_word_there_is_no_component_and_no_neighbour(texts: list[str]) -> None:
    found = features(texts)
    assert found.components.shape == (len(texts), 0)
    assert (found.near == -1).all()


def test_pools_of_one_and_two_items() -> None:
    assert features(["one prompt"]).near.tolist() == [[-1] * N_NEAR]
    assert features(["one prompt", "another prompt"]).near[:, 0].tolist() == [1, 0]
    assert features(["one", "other"]).near[:, 0].tolist() == [-1, -1]


def test_equal_prompts_have_equal_rows_and_are_each_others_neighbours() -> None:
    found = features(["the same words"] * 30)
    assert found.components.shape == (30, 1)
    assert len(np.unique(found.components)) == 1
    assert (found.near >= 0).all()
    assert (found.near != np.arange(30)[:, None]).all()


def test_of_a_long_prompt_the_beginning_is_read() -> None:
    beginning = "many words " * (PROMPT_CHARACTERS // 11 + 1)
    found = features([beginning + "green" * 200_000, beginning + "blue " * 200_000, "green blue"])
    np.testing.assert_array_equal(found.components[0], found.components[1])
    assert found.near[:, 0].tolist() == [1, 0, -1]


def test_scripts_without_blanks_are_read_by_character() -> None:
    found = features(["今天天气很好", "明天天气不好", "数学题目", "วันนี้ฝนตก", "ฝนตกหนัก", "きょうは", "हिन्दी में"])
    assert found.near[:, 0].tolist() == [1, 0, -1, 4, 3, -1, -1]
    assert found.components.any(axis=1).all()


def test_single_letters_and_digits_are_words() -> None:
    assert features(["3+4=?", "x*y", "4-1"]).near[:, 0].tolist() == [2, -1, 0]


def test_real_prompts_that_share_a_template_are_near_each_other(shared_data: Path) -> None:
    names = ("mot_date_llama2_13b_cot1", "esc_lastletters_gpt3.5_k40", "ref_shuffleobj_qwen3_4b_train_k10")
    files = [shared_data / "rollouts" / f"{name}.jsonl" for name in names]
    texts = [[json.loads(line)["prompt"] for line in file.read_text("utf-8").splitlines()] for file in files]
    source = np.repeat(np.arange(len(texts)), [len(part) for part in texts])
    near = features([text for part in texts for text in part]).near
    assert (source[near] == source[:, None]).mean() > 0.99
