import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from transformers import AutoModelForCausalLM

from budgetplan.errors import ConfigError, ModelError
from budgetplan.probing import transformers_engine
from budgetplan.probing.decoding import SlotDecoder
from budgetplan.probing.models import resolve_model
from budgetplan.probing.rows import Decoded, Prompt
from budgetplan.probing.slots import SlotCache
from budgetplan.probing.transformers_engine import LOOK_AHEAD, TransformersEngine
from budgetplan.probing.whole_batches import BatchDecoder
from budgetplan.records import Completion, ItemId, Message, SampleRequest, Sampling, sample_seed

TinyModel = Callable[..., Path]
FAMILIES = ("qwen3", "llama", "phi3")
MAX_TOKENS = 40


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Tiny products are faster on one thread, by far so where other processes want the cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(params=FAMILIES)
def folder(request: pytest.FixtureRequest, tiny_model: TinyModel) -> Path:
    return tiny_model(request.param)


@pytest.fixture
def qwen3(tiny_model: TinyModel) -> Path:
    return tiny_model("qwen3")


@pytest.fixture
def windowed(tiny_model: TinyModel, tmp_path: Path) -> Path:
    """Phi-3 with a sliding window of 24 tokens, shorter than most prompts and answers together."""
    folder = shutil.copytree(tiny_model("phi3"), tmp_path / "windowed")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"sliding_window": 24}))
    return folder


def opened(folder: Path, slots: int = 8, **settings: Any) -> TransformersEngine:
    sampling = Sampling(**({"max_tokens": MAX_TOKENS} | settings))
    return TransformersEngine(resolve_model(str(folder)), sampling, slots=slots)


def ask(number: int, samples: int = 3, text: str | None = None) -> SampleRequest:
    item = ItemId(f"bp-{number:04d}")
    content = f"Question {number}: " + "what is it? " * (number % 7) if text is None else text
    return SampleRequest(item, (Message("user", content),), 0, samples, sample_seed(0, item, 0))


def drawn(engine: TransformersEngine, requests: list[SampleRequest], **options: Any) -> list[Completion]:
    completions = [completion for batch in engine.sample(requests, **options) for completion in batch]
    return sorted(completions, key=lambda completion: (completion.item_id, completion.sample_index))


def texts(completions: list[Completion]) -> list[tuple[str, int, str]]:
    return [(completion.item_id, completion.sample_index, completion.text) for completion in completions]


def next_chances(engine: TransformersEngine, folder: Path, text: str) -> np.ndarray:
    """What the stock model gives the first token after a prompt."""
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = model(**engine.tokenizer(text, return_tensors="pt")).logits[0, -1]
    return logits.double().softmax(-1).numpy()


class TestSamples:
    def test_each_comes_back_once_with_its_own_seed(self, folder: Path) -> None:
        requests = [ask(number, samples=number % 5) for number in range(30)]
        completions = drawn(opened(folder), requests)
        wanted = [(r.item_id, j, r.seed + j) for r in requests for j in range(r.count)]
        assert [(c.item_id, c.sample_index, c.seed) for c in completions] == wanted
        assert {c.finish_reason for c in completions} == {"stop", "length"}
        assert len({c.text for c in completions}) > 0.9 * len(completions)

    def test_each_is_the_same_alone_as_beside_others(self, folder: Path) -> None:
        requests = [ask(number) for number in range(24)]
        engine, lone = opened(folder, slots=16), opened(folder, slots=3)
        together, alone = drawn(engine, requests), [c for r in requests for c in drawn(lone, [r])]
        assert isinstance(engine.decoder, SlotDecoder)
        assert texts(together) == texts(alone)  # by design all but 1 in 100; on these seeds all
        logprobs = [c.mean_logprob for c in alone]
        assert [c.mean_logprob for c in together] == pytest.approx(logprobs, abs=1e-4)

    def test_some_asked_for_later_are_those_of_the_full_request(self, folder: Path) -> None:
        whole = ask(1, samples=8)
        rest = SampleRequest(whole.item_id, whole.messages, first_index=3, count=5, seed=whole.seed + 3)
        engine = opened(folder)
        assert drawn(engine, [ask(2), rest])[:5] != drawn(engine, [whole])[:5]
        assert texts(drawn(engine, [rest])) == texts(drawn(engine, [whole, ask(2)])[3:8])

    def test_greedy_ones_are_those_of_generate(self, folder: Path) -> None:
        engine = opened(folder, temperature=0.0)
        requests = [ask(number, samples=2) for number in range(12)]
        model = AutoModelForCausalLM.from_pretrained(folder).eval()
        expected = []
        for request in requests:
            prompt = engine.tokenizer(request.messages[0].content, return_tensors="pt")
            tokens = model.generate(**prompt, do_sample=False, max_new_tokens=MAX_TOKENS)[0]
            answer = tokens[prompt["input_ids"].shape[1] :]
            expected += 2 * [(engine.tokenizer.decode(answer, skip_special_tokens=True), len(answer))]
        assert [(c.text, c.n_tokens) for c in drawn(engine, requests)] == expected

    def test_first_tokens_follow_the_model(self, qwen3: Path) -> None:
        engine = opened(qwen3, slots=256, max_tokens=1)
        counted = Counter(c.text for c in drawn(engine, [ask(1, samples=4000, text="Tell me")]))
        chances = next_chances(engine, qwen3, "Tell me")
        assert follows(counted, dict(enumerate(chances)), engine)

    @pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 0.6), (0.5, 1.0)])
    def test_top_p_and_temperature_change_the_first_tokens_as_they_should(
        self, qwen3: Path, temperature: float, top_p: float
    ) -> None:
        engine = opened(qwen3, slots=256, max_tokens=1, temperature=temperature, top_p=top_p)
        counted = Counter(c.text for c in drawn(engine, [ask(1, samples=2000, text="Tell me")]))
        chances = next_chances(engine, qwen3, "Tell me") ** (1 / temperature)
        chances /= chances.sum()
        kept, sum_so_far = {}, 0.0
        for token in np.argsort(-chances):
            if sum_so_far < top_p:
                kept[int(token)] = chances[token]
            sum_so_far += chances[token]
        total = sum(kept.values())
        assert follows(counted, {token: chance / total for token, chance in kept.items()}, engine)

    @pytest.mark.parametrize("settings", [{}, {"temperature": 0.9, "top_p": 0.99}])
    def test_the_mean_logprob_is_the_model_s_own_end_token_included(
        self, qwen3: Path, settings: dict[str, float]
    ) -> None:
        engine, request = opened(qwen3, **settings), ask(3, samples=24)
        model = AutoModelForCausalLM.from_pretrained(qwen3).eval()
        prompt = engine.tokenizer(request.messages[0].content)["input_ids"]
        completions = drawn(engine, [request, ask(4)])[:24]
        assert {c.finish_reason for c in completions} == {"stop", "length"}
        for completion in completions:
            ends = [engine.tokenizer.eos_token_id] if completion.finish_reason == "stop" else []
            answer = engine.tokenizer(completion.text)["input_ids"] + ends
            with torch.no_grad():
                logprobs = model(torch.tensor([prompt + answer])).logits[0].log_softmax(-1)
            mean = sum(logprobs[len(prompt) - 1 + i, token].item() for i, token in enumerate(answer)) / len(answer)
            assert completion.n_tokens == len(answer)
            assert completion.mean_logprob == pytest.approx(mean, abs=1e-4)

    def test_prompts_of_one_token_and_of_many_go_together(self, qwen3: Path) -> None:
        requests = [ask(number, text="x" * length) for number, length in enumerate((1, 1, 300, 1, 40))]
        alone = [c for r in requests for c in drawn(opened(qwen3, slots=1), [r])]
        assert texts(drawn(opened(qwen3), requests)) == texts(alone)

    def test_the_number_of_slots_changes_nothing(self, qwen3: Path) -> None:
        requests = [ask(number) for number in range(20)]
        few, many = drawn(opened(qwen3, slots=3), requests), drawn(opened(qwen3, slots=64), requests)
        assert texts(few) == texts(many)


def follows(counted: Counter[str], chances: dict[int, float], engine: TransformersEngine) -> bool:
    """Whether counted first tokens fit the chances (chi-square, rare tokens taken together)."""
    by_text: Counter[str] = Counter()
    for token, chance in chances.items():
        by_text[engine.tokenizer.decode([token], skip_special_tokens=True)] += chance  # type: ignore[assignment]
    assert set(counted) <= set(by_text)
    total = sum(counted.values())
    often = [text for text, chance in by_text.items() if chance * total >= 5]
    seen = [counted[text] for text in often]
    wanted = [by_text[text] * total for text in often]
    if total - sum(wanted) > 1e-6:
        seen.append(total - sum(seen))
        wanted.append(total - sum(wanted))
    return bool(chisquare(seen, wanted).pvalue > 0.01)


class TestEnds:
    def test_every_end_token_of_the_generation_settings_ends(self, qwen3: Path, tmp_path: Path) -> None:
        folder = shutil.copytree(qwen3, tmp_path / "two-ends")
        plain = opened(qwen3)
        letter = Counter("".join(c.text for c in drawn(plain, [ask(1, samples=8)]))).most_common(1)[0][0]
        ends = [257, plain.tokenizer(letter)["input_ids"][0]]
        (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": ends}))
        completions = drawn(opened(folder), [ask(1, samples=8)])
        assert all(letter not in c.text for c in completions)
        for cut, whole in zip(completions, drawn(plain, [ask(1, samples=8)]), strict=True):
            assert cut.text == whole.text.partition(letter)[0]
            if letter in whole.text:
                assert (cut.finish_reason, cut.n_tokens) == ("stop", len(cut.text) + 1)

    def test_the_tokenizer_s_own_end_token_ends_too(self, qwen3: Path, tmp_path: Path) -> None:
        folder = shutil.copytree(qwen3, tmp_path / "other-end")
        (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": 259}))
        assert drawn(opened(folder), [ask(1)]) == drawn(opened(qwen3), [ask(1)])

    def test_the_end_of_the_context_ends(self, tiny_model: TinyModel) -> None:
        engine = opened(tiny_model("qwen3", context=64, eos_logit=-20.0))
        completions = drawn(engine, [ask(0, text="x" * 50), ask(1, text="x" * 63), ask(2, text="x")])
        assert [c.n_tokens for c in completions] == 3 * [14] + 3 * [1] + 3 * [MAX_TOKENS]
        assert {c.finish_reason for c in completions} == {"length"}

    def test_a_cap_below_max_tokens_holds(self, qwen3: Path) -> None:
        engine = opened(qwen3)
        capped, whole = drawn(engine, [ask(1)], max_tokens=5), drawn(engine, [ask(1)])
        assert max(c.n_tokens for c in capped) == 5
        assert all(long.text.startswith(short.text) for short, long in zip(capped, whole, strict=True))
        assert drawn(engine, [ask(1)], max_tokens=10**6) == whole

    def test_think_tags_stay_in_the_text_and_special_tokens_do_not(self, qwen3: Path) -> None:
        engine = opened(qwen3)
        tokens = engine.tokenizer("<think>so</think>4<|im_start|><|endoftext|>")["input_ids"]
        engine.decoder = Fixed(tokens)
        (completion,) = drawn(engine, [ask(1, samples=1)])
        assert (completion.text, completion.finish_reason) == ("<think>so</think>4", "stop")


class Fixed:
    """A decoder that answers every prompt alike."""

    slots = 1

    def __init__(self, tokens: list[int]) -> None:
        self.tokens = tokens

    def decode(self, prompts: Iterator[Prompt]) -> Iterator[list[Decoded]]:
        yield [Decoded(ticket, self.tokens) for prompt in prompts for ticket in prompt.tickets()]


class TestFailures:
    def test_a_prompt_longer_than_the_context_fails_alone(self, tiny_model: TinyModel) -> None:
        engine = opened(tiny_model("qwen3", context=64, eos_logit=-20.0))
        requests = [ask(0), ask(1, text="x" * 64), ask(2)]
        completions = drawn(engine, requests)
        failed = completions[3:6]
        assert {c.error for c in failed} == {"the prompt has 64 tokens, the model's context holds 64"}
        assert {(c.finish_reason, c.text, c.n_tokens, c.mean_logprob) for c in failed} == {("error", "", 0, None)}
        assert [c.seed for c in failed] == [requests[1].seed + j for j in range(3)]
        assert texts(completions[:3] + completions[6:]) == texts(drawn(engine, [ask(0), ask(2)]))

    def test_only_failing_prompts_end_the_stream_too(self, qwen3: Path) -> None:
        completions = drawn(opened(qwen3), [ask(0, text="x" * 5000), ask(1, text="")])
        assert [c.finish_reason for c in completions] == 6 * ["error"]
        assert completions[-1].error == "the prompt has no tokens"

    def test_no_request_is_no_completion(self, qwen3: Path) -> None:
        assert list(opened(qwen3).sample([])) == []

    def test_a_prompt_the_chat_template_refuses_fails_alone(self, tiny_model: TinyModel) -> None:
        engine = opened(tiny_model("qwen3", chat_template=True))
        engine.tokenizer.chat_template = (
            "{% if 'bad' in messages[0]['content'] %}{{ raise_exception('no such word') }}{% endif %}"
            + engine.tokenizer.chat_template
        )
        completions = drawn(engine, [ask(0), ask(1, text="bad"), ask(2)])
        assert [c.finish_reason == "error" for c in completions] == 3 * [False] + 3 * [True] + 3 * [False]
        assert "no such word" in (completions[3].error or "")

    def test_a_model_that_computes_no_numbers_fails_without_an_exception(self, qwen3: Path) -> None:
        engine = opened(qwen3)
        assert engine.decoder is not None
        with torch.no_grad():
            engine.decoder.model.get_output_embeddings().weight.fill_(torch.nan)
        assert {c.error for c in drawn(engine, [ask(1)])} == {"the model's probabilities are not finite"}

    def test_another_error_of_the_model_is_not_swallowed(self, qwen3: Path) -> None:
        engine = opened(qwen3)
        fail_when(engine, lambda ids: True, RuntimeError("device-side assert"))
        with pytest.raises(RuntimeError, match="device-side assert"):
            drawn(engine, [ask(1)])


def fail_when(
    engine: TransformersEngine, condition: Callable[[torch.Tensor], bool], error: RuntimeError | None = None
) -> None:
    """Let the model's forward call fail on some inputs, (rows, tokens), as it does when memory runs out."""
    assert engine.decoder is not None
    model = engine.decoder.model

    def check(module: object, args: object, kwargs: dict[str, Any]) -> None:
        if condition(kwargs["input_ids"]):
            raise error or torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB.")

    model.register_forward_pre_hook(check, with_kwargs=True)


class TestOutOfMemory:
    @pytest.mark.parametrize("whole_batches", [False, True])
    def test_too_many_rows_go_on_with_fewer_and_give_the_same(self, qwen3: Path, whole_batches: bool) -> None:
        requests = [ask(number) for number in range(12)]
        engine, expected = opened(qwen3, slots=16), texts(drawn(opened(qwen3), requests))
        if whole_batches:
            decode_whole_batches(engine)
        fail_when(engine, lambda ids: ids.shape[0] > 5)
        assert texts(drawn(engine, requests)) == expected
        assert engine.decoder is not None
        assert 1 < engine.decoder.slots <= 5

    @pytest.mark.parametrize("whole_batches", [False, True])
    def test_a_prompt_too_long_for_the_memory_fails_alone(self, qwen3: Path, whole_batches: bool) -> None:
        requests = [ask(0), ask(1, text="x" * 200), ask(2)]
        engine, expected = opened(qwen3), texts(drawn(opened(qwen3), [ask(0), ask(2)]))
        if whole_batches:
            decode_whole_batches(engine)
        fail_when(engine, lambda ids: ids.shape[1] > 150)
        completions = drawn(engine, requests)
        assert texts(completions[:3] + completions[6:]) == expected
        assert {c.error for c in completions[3:6]} == {"out of memory: CUDA out of memory. Tried to allocate 2 GiB."}

    def test_slots_that_do_not_fit_are_halved_until_they_do(self, qwen3: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        requests = [ask(number) for number in range(12)]
        expected, admit = texts(drawn(opened(qwen3), requests)), SlotCache.admit

        def admit_few(cache: SlotCache, *args: Any) -> None:
            if cache.slots > 4:
                raise torch.OutOfMemoryError("CUDA out of memory.")
            admit(cache, *args)

        monkeypatch.setattr(SlotCache, "admit", admit_few)
        assert texts(drawn(opened(qwen3, slots=16), requests)) == expected

    def test_a_model_that_fits_no_sample_fails_every_one(self, qwen3: Path) -> None:
        engine = opened(qwen3, slots=4)
        fail_when(engine, lambda ids: ids.shape[1] == 1)
        assert {c.finish_reason for c in drawn(engine, [ask(0), ask(1)])} == {"error"}


def decode_whole_batches(engine: TransformersEngine) -> None:
    decoder = engine.decoder
    assert isinstance(decoder, SlotDecoder)
    engine.decoder = BatchDecoder(decoder.model, decoder.sampling, decoder.ends.tolist(), decoder.slots)


class TestWholeBatches:
    def test_a_sliding_window_is_decoded_in_whole_batches_and_gives_what_generate_gives(self, windowed: Path) -> None:
        engine = opened(windowed, temperature=0.0)
        assert isinstance(engine.decoder, BatchDecoder)
        requests = [ask(number, samples=1) for number in range(10)]
        model = AutoModelForCausalLM.from_pretrained(windowed).eval()
        expected = []
        for request in requests:
            prompt = engine.tokenizer(request.messages[0].content, return_tensors="pt")
            tokens = model.generate(**prompt, do_sample=False, max_new_tokens=MAX_TOKENS)[0]
            expected.append(engine.tokenizer.decode(tokens[prompt["input_ids"].shape[1] :], skip_special_tokens=True))
        assert [c.text for c in drawn(engine, requests)] == expected

    def test_samples_are_the_same_alone(self, windowed: Path) -> None:
        requests = [ask(number) for number in range(15)]
        together = drawn(opened(windowed), requests)
        lone = opened(windowed, slots=3)
        alone = [c for r in requests for c in drawn(lone, [r])]
        assert texts(together) == texts(alone)
        assert {c.finish_reason for c in together} == {"stop", "length"}

    def test_they_are_the_samples_of_the_slots(self, folder: Path) -> None:
        requests = [ask(number) for number in range(15)]
        engine = opened(folder)
        on_slots = drawn(engine, requests)
        decode_whole_batches(engine)
        in_batches = drawn(engine, requests)
        assert texts(in_batches) == texts(on_slots)
        assert [c.n_tokens for c in in_batches] == [c.n_tokens for c in on_slots]
        assert [c.mean_logprob for c in in_batches] == pytest.approx([c.mean_logprob for c in on_slots], abs=1e-4)

    def test_the_model_s_own_penalties_play_no_part(self, windowed: Path) -> None:
        before = texts(drawn(opened(windowed), [ask(1)]))
        settings = {"eos_token_id": 257, "repetition_penalty": 5.0, "min_new_tokens": 30, "do_sample": True, "top_k": 1}
        (windowed / "generation_config.json").write_text(json.dumps(settings))
        assert texts(drawn(opened(windowed), [ask(1)])) == before

    def test_the_end_of_the_context_ends(self, tiny_model: TinyModel, tmp_path: Path) -> None:
        engine = opened(tiny_model("qwen3", context=64, eos_logit=-20.0))
        decode_whole_batches(engine)
        completions = drawn(engine, [ask(0, text="x" * 50), ask(1, text="x" * 63), ask(2, text="x")])
        assert [c.n_tokens for c in completions] == 3 * [14] + 3 * [1] + 3 * [MAX_TOKENS]


class TestReading:
    def test_millions_of_requests_are_read_only_as_needed(self, qwen3: Path) -> None:
        read = 0

        def requests() -> Iterator[SampleRequest]:
            nonlocal read
            for number in count():
                read += 1
                yield ask(number, samples=2)

        stream = opened(qwen3, max_tokens=4).sample(requests())
        first = next(stream)
        assert 0 < len(first) <= 8
        assert read == LOOK_AHEAD
        stream.close()  # type: ignore[attr-defined]

    def test_prompts_of_like_length_go_together(self, qwen3: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(transformers_engine, "LOOK_AHEAD", 4)
        engine = opened(qwen3)
        engine.decoder = Fixed([257])
        lengths = [3, 9, 1, 5, 2, 8, 4, 7, 6]
        drawn_in_turn = [c for batch in engine.sample([ask(n, 1, "x" * n) for n in lengths]) for c in batch]
        assert [int(c.item_id[3:]) for c in drawn_in_turn] == [9, 5, 3, 1, 2, 4, 7, 8, 6]

    def test_samples_come_as_they_end(self, qwen3: Path) -> None:
        batches = list(opened(qwen3, slots=4).sample([ask(number) for number in range(10)]))
        assert max(map(len, batches)) <= 4
        lengths = [max(c.n_tokens for c in batch) for batch in batches]
        assert lengths != sorted(lengths, reverse=True)

    def test_a_stream_left_behind_does_not_disturb_the_next(self, qwen3: Path) -> None:
        engine = opened(qwen3)
        left = engine.sample([ask(number) for number in range(10)])
        next(left)
        stream = engine.sample([ask(1), ask(2)])
        begun = next(stream)
        del left
        rest = [completion for batch in stream for completion in batch]
        assert sorted(texts(begun + rest)) == texts(drawn(engine, [ask(1), ask(2)]))

    def test_the_caller_s_own_computations_keep_their_gradients(self, qwen3: Path) -> None:
        for _ in opened(qwen3).sample([ask(1)]):
            assert not torch.is_inference_mode_enabled()


class TestOpening:
    def test_the_engine_knows_its_model(self, tiny_model: TinyModel) -> None:
        folder = tiny_model("qwen3", context=64, eos_logit=-20.0)
        engine = opened(folder)
        assert (engine.name, engine.context_tokens, engine.on_gpu) == ("transformers", 64, False)
        assert engine.identity == resolve_model(str(folder)).identity

    def test_loading_and_sampling_say_nothing(self, qwen3: Path, capfd: pytest.CaptureFixture[str]) -> None:
        drawn(opened(qwen3), [ask(1)])
        assert capfd.readouterr() == ("", "")

    def test_weights_are_float32_on_the_cpu_unless_asked_otherwise(self, qwen3: Path) -> None:
        resolved, sampling = resolve_model(str(qwen3)), Sampling(max_tokens=4)
        default = TransformersEngine(resolved, sampling)
        half = TransformersEngine(resolved, sampling, dtype="bfloat16")
        assert default.decoder is not None
        assert half.decoder is not None
        assert (default.decoder.model.dtype, half.decoder.model.dtype) == (torch.float32, torch.bfloat16)
        assert default.decoder.slots == 256
        assert {c.finish_reason for c in drawn(half, [ask(1)])} <= {"stop", "length"}

    def test_an_unknown_dtype_is_named(self, qwen3: Path) -> None:
        with pytest.raises(ConfigError, match="int3") as caught:
            TransformersEngine(resolve_model(str(qwen3)), Sampling(), dtype="int3")
        assert "bfloat16" in caught.value.hint

    def test_weights_that_do_not_load_are_a_model_error(self, qwen3: Path, tmp_path: Path) -> None:
        folder = shutil.copytree(qwen3, tmp_path / "broken")
        resolved = resolve_model(str(folder))
        (folder / "model.safetensors").write_bytes(b"not weights")
        with pytest.raises(ModelError, match="broken"):
            TransformersEngine(resolved, Sampling())

    def test_closing_frees_the_model_and_can_be_repeated(self, qwen3: Path) -> None:
        engine = opened(qwen3)
        engine.close()
        engine.close()
        assert engine.decoder is None
