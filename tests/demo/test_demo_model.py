from collections import Counter
from typing import Any, NamedTuple

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from budgetplan.demo.files import demo_model_path
from budgetplan.demo.task import MOVES, make_pool, training_texts

N_ITEMS, K, MAX_TOKENS = 100, 4, 64


class Sample(NamedTuple):
    item: int
    text: str
    ended: bool


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return AutoTokenizer.from_pretrained(demo_model_path(), local_files_only=True)


@pytest.fixture(scope="module")
def samples(tokenizer) -> list[Sample]:
    model = AutoModelForCausalLM.from_pretrained(demo_model_path(), local_files_only=True).eval()
    prompts = [row["prompt"] for row in make_pool(N_ITEMS)]
    inputs = tokenizer(prompts, return_tensors="pt", padding=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        token_ids = model.generate(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            do_sample=True,
            top_k=0,
            num_return_sequences=K,
            max_new_tokens=MAX_TOKENS,
        )
    generated = token_ids[:, inputs["input_ids"].shape[1] :]
    return [
        Sample(place // K, tokenizer.decode(row, skip_special_tokens=True), bool((row == tokenizer.eos_token_id).any()))
        for place, row in enumerate(generated)
    ]


def test_every_text_of_the_task_round_trips_without_an_unknown_word(tokenizer):
    texts = [part for text in training_texts(300) for part in text]
    for text in texts + [row["prompt"] for row in make_pool(300)]:
        token_ids = tokenizer(text)["input_ids"]
        assert tokenizer.unk_token_id not in token_ids
        assert tokenizer.decode(token_ids) == text


def test_a_prompt_and_its_solution_are_the_same_tokens_together_and_apart(tokenizer):
    for prompt, completion in training_texts(100):
        apart = tokenizer(prompt)["input_ids"] + tokenizer(completion)["input_ids"]
        assert tokenizer(prompt + completion)["input_ids"] == apart


def test_other_words_become_the_unknown_token(tokenizer):
    assert tokenizer.tokenize("State: a élan\n水 Moves") == ["State", ":", " a", "<unk>", "\n", "<unk>", " Moves"]


def test_prompts_are_plain_text(tokenizer):
    assert tokenizer.chat_template is None


def test_difficulty_is_broad(samples):
    pool = make_pool(N_ITEMS)
    correct = Counter(s.item for s in samples if s.text.rsplit("#### ", 1)[-1] == pool[s.item]["answer"])
    n_correct = [correct[item] for item in range(N_ITEMS)]
    never, always = n_correct.count(0), n_correct.count(K)
    assert never >= 10 and always >= 10 and N_ITEMS - never - always >= 20


def test_samples_end_soon_and_with_an_answer(samples):
    ended = [sample for sample in samples if sample.ended]
    answered = [s for s in ended if s.text.splitlines()[-1].startswith("#### ")]
    assert len(ended) > 0.95 * len(samples) and len(answered) > 0.95 * len(samples)


def test_a_solution_names_the_moves_it_makes(samples):
    steps = [line.split(":")[0] for sample in samples for line in sample.text.splitlines() if ":" in line]
    assert sum(step in MOVES for step in steps) > 0.95 * len(steps) > 0
