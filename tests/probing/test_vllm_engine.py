import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from budgetplan.errors import ModelError
from budgetplan.probing import vllm_engine
from budgetplan.probing.models import resolve_model
from budgetplan.probing.opening import open_engine
from budgetplan.probing.rendering import render_tokens
from budgetplan.probing.vllm_engine import VllmEngine
from budgetplan.records import Completion, ItemId, Message, SampleRequest, Sampling, sample_seed

TinyModel = Callable[..., Path]
FAMILIES = ("qwen3", "llama", "phi3")
OPTIONS: dict[str, dict[str, Any]] = {"qwen3": {"chat_template": True}, "llama": {"bos": True}, "phi3": {}}
MAX_TOKENS = 24
only_qwen3 = pytest.mark.parametrize("engine", ["qwen3"], indirect=True)

PROGRAM = """
import json, signal, sys, time
from contextlib import closing
from budgetplan.probing.models import resolve_model
from budgetplan.probing.opening import open_engine
from budgetplan.records import ItemId, Message, SampleRequest, Sampling

def requests():
    for i in range(10**9):
        yield SampleRequest(ItemId("bp-1"), (Message("user", str(i)),), 0, 2, 2 * i)

def run():
    with closing(open_engine("vllm", resolve_model(sys.argv[1]), Sampling(max_tokens=16))) as engine:
        stream = engine.sample(requests())
        print(json.dumps([completion.text for completion in next(stream)]), flush=True)
        if sys.argv[2] == "wait":
            time.sleep(1000)
        for batch in stream:
            pass

if __name__ == "__main__":  # vLLM starts its processes by importing this file again
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background processes start with it ignored
    try:
        run()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def ask(number: int, count: int = 8, text: str = "") -> SampleRequest:
    item = ItemId(f"bp-{number:04d}")
    prompt = (Message("user", text or f"Question {number}: how much is {number} and {number}?"),)
    return SampleRequest(item, prompt, 0, count, sample_seed(0, item, 0))


def drawn(engine: VllmEngine, requests: list[SampleRequest], **options: Any) -> list[Completion]:
    completions = [completion for batch in engine.sample(requests, **options) for completion in batch]
    return sorted(completions, key=lambda completion: (completion.item_id, completion.sample_index))


@pytest.fixture(scope="module", params=FAMILIES)
def engine(request: pytest.FixtureRequest, tiny_model: TinyModel) -> Iterator[VllmEngine]:
    model = resolve_model(str(tiny_model(request.param, **OPTIONS[request.param])))
    opened = open_engine("vllm", model, Sampling(max_tokens=MAX_TOKENS))
    assert isinstance(opened, VllmEngine)
    yield opened
    opened.close()
    opened.close()
    assert multiprocessing.active_children() == []


@pytest.mark.slow
@pytest.mark.vllm
class TestEachFamily:
    def test_every_sample_comes_back_once_with_its_own_seed(self, engine: VllmEngine) -> None:
        requests = [ask(number) for number in range(60)]
        completions = drawn(engine, requests)
        expected = [(r.item_id, r.first_index + j, r.seed + j) for r in requests for j in range(r.count)]
        assert [(c.item_id, c.sample_index, c.seed) for c in completions] == expected
        assert {c.finish_reason for c in completions} == {"stop", "length"}
        assert all((c.n_tokens == MAX_TOKENS) or c.finish_reason == "stop" for c in completions)
        assert all(c.error is None and c.mean_logprob is not None and c.mean_logprob < 0 for c in completions)
        assert len({c.text for c in completions}) > 400

    def test_the_mean_logprob_is_the_model_s_own(self, engine: VllmEngine) -> None:
        """Scored again with transformers: the prompt, the tokens, the text and the sum all have to be right."""
        request = ask(1, count=16)
        completions = drawn(engine, [request])
        theirs = [rescored(engine, request, completion) for completion in completions]
        ours = [completion.mean_logprob for completion in completions if completion.mean_logprob is not None]
        assert ours == pytest.approx(theirs, abs=2e-4)

    def test_the_engine_knows_its_model(self, engine: VllmEngine) -> None:
        assert engine.name == "vllm"
        assert engine.context_tokens == 2048
        assert not engine.on_gpu


@pytest.mark.slow
@pytest.mark.vllm
@only_qwen3
class TestOneFamily:
    def test_sample_j_of_a_request_is_the_sample_of_its_seed_plus_j(self, engine: VllmEngine) -> None:
        together = drawn(engine, [ask(3)])
        request = ask(3, count=1)
        alone = [
            drawn(engine, [SampleRequest(request.item_id, request.messages, j, 1, request.seed + j)])[0]
            for j in range(8)
        ]
        assert [c.text for c in together] == [c.text for c in alone]
        assert [(c.sample_index, c.seed) for c in together] == [(c.sample_index, c.seed) for c in alone]

    def test_the_same_request_gives_the_same_text_whatever_runs_beside_it(self, engine: VllmEngine) -> None:
        requests = [ask(number) for number in range(100)]
        first = drawn(engine, requests)
        again = drawn(engine, requests)
        scattered = drawn(engine, random.Random(0).sample([*requests, *map(ask, range(500, 600))], 200))
        texts = [c.text for c in first]
        assert differing(texts, [c.text for c in again]) <= 0.01
        others = {(c.item_id, c.sample_index): c.text for c in scattered}
        assert differing(texts, [others[c.item_id, c.sample_index] for c in first]) <= 0.01

    def test_a_sample_that_has_ended_does_not_wait_for_its_siblings(self, engine: VllmEngine) -> None:
        batches = [[c for c in batch if c.item_id == "bp-0005"] for batch in engine.sample([ask(5, count=32)])]
        assert len(batches) > 4
        assert all(c.n_tokens < MAX_TOKENS for c in batches[0])

    def test_a_million_requests_are_read_only_as_needed(self, engine: VllmEngine) -> None:
        read = 0

        def endless() -> Iterator[SampleRequest]:
            nonlocal read
            for number in range(1_000_000):
                read += 1
                yield ask(number)

        stream = engine.sample(endless())
        for _ in range(3):
            next(stream)
        stream.close()
        in_flight = 3 * engine._llm.llm_engine.vllm_config.scheduler_config.max_num_seqs
        assert 100 < read * 8 < 1.5 * in_flight
        assert len(drawn(engine, [ask(1)])) == 8  # what was in flight is gone, the engine is not

    def test_a_prompt_that_cannot_be_sampled_fails_alone(self, engine: VllmEngine) -> None:
        completions = drawn(engine, [ask(1), ask(2, text="x" * 3000), ask(3)])
        failed = [c for c in completions if c.finish_reason == "error"]
        assert {c.item_id for c in failed} == {"bp-0002"}
        assert [c.sample_index for c in failed] == list(range(8))
        assert all(c.error is not None and "2048" in c.error and c.text == "" for c in failed)
        assert all(c.mean_logprob is None and c.n_tokens == 0 for c in failed)
        assert len(completions) == 24

    def test_only_failing_prompts_end_the_stream_too(self, engine: VllmEngine) -> None:
        refused = [ask(number, count=400, text="x" * 3000) for number in range(5)]
        assert [c.finish_reason for c in drawn(engine, refused)] == ["error"] * 2000
        assert drawn(engine, []) == []

    def test_a_cap_below_max_tokens_holds(self, engine: VllmEngine) -> None:
        completions = drawn(engine, [ask(number) for number in range(10)], max_tokens=4)
        assert max(c.n_tokens for c in completions) == 4
        longer = drawn(engine, [ask(number) for number in range(10)], max_tokens=10_000)
        assert max(c.n_tokens for c in longer) == MAX_TOKENS
        assert all(long.text.startswith(short.text) for short, long in zip(completions, longer, strict=True))

    def test_greedy_samples_of_an_item_are_all_alike(self, engine: VllmEngine) -> None:
        from budgetplan.probing.vllm_queue import SampleQueue

        queue = SampleQueue(engine._llm.llm_engine, engine._tokenizer, Sampling(temperature=0.0), MAX_TOKENS)
        completions = [completion for batch in queue.run([ask(1, count=3)]) for completion in batch]
        assert sorted(c.sample_index for c in completions) == [0, 1, 2]
        assert sorted(c.seed for c in completions) == [ask(1).seed + j for j in range(3)]
        assert len({c.text for c in completions}) == 1


@pytest.mark.slow
@pytest.mark.vllm
def test_an_engine_that_dies_says_so_and_can_still_be_closed(engine: VllmEngine) -> None:
    """The last test of each family: it ends the family's engine."""
    stream = engine.sample(ask(number) for number in range(1_000_000))
    next(stream)
    (core,) = [child for child in multiprocessing.active_children() if child.pid is not None]
    core.kill()
    with pytest.raises(ModelError, match="the vLLM engine stopped"):
        for _ in stream:
            pass


@pytest.mark.slow
@pytest.mark.vllm
def test_nothing_reaches_the_terminal_and_a_kill_leaves_nothing_behind(tiny_model: TinyModel, tmp_path: Path) -> None:
    with program(tmp_path, tiny_model("llama"), "wait") as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())
        family = descendants(process.pid)
        assert len(family) >= 2
        process.kill()
        assert process.communicate() == ("", "")
    assert all_gone(family, seconds=20)


@pytest.mark.slow
@pytest.mark.vllm
def test_ctrl_c_while_sampling_ends_everything(tiny_model: TinyModel, tmp_path: Path) -> None:
    with program(tmp_path, tiny_model("phi3"), "sample") as process:
        assert process.stdout is not None
        process.stdout.readline()
        family = descendants(process.pid)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does it
        assert process.communicate(timeout=60) == ("interrupted\n", "")
    assert process.returncode == 0
    assert all_gone(family, seconds=20)


@pytest.mark.slow
@pytest.mark.vllm
def test_ctrl_c_while_loading_ends_everything(tiny_model: TinyModel, tmp_path: Path) -> None:
    with program(tmp_path, tiny_model("phi3"), "sample") as process:
        while not (family := descendants(process.pid)):
            time.sleep(0.2)
        time.sleep(1)
        os.killpg(process.pid, signal.SIGINT)
        assert process.communicate(timeout=60) == ("interrupted\n", "")
    assert all_gone(family, seconds=20)


@pytest.mark.slow
@pytest.mark.vllm
def test_too_little_memory_is_named(tiny_model: TinyModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "100000")
    with pytest.raises(ModelError, match=r"vLLM does not start: .*memory") as caught:
        VllmEngine(resolve_model(str(tiny_model("qwen3"))), Sampling(max_tokens=4))
    assert caught.value.hint == "Try: --engine transformers"
    assert multiprocessing.active_children() == []


@pytest.mark.slow
@pytest.mark.vllm
def test_a_setting_vllm_refuses_is_named(tiny_model: TinyModel) -> None:
    with pytest.raises(ModelError, match=r"vLLM does not start: .*100000") as caught:
        VllmEngine(resolve_model(str(tiny_model("qwen3"))), Sampling(max_tokens=4), max_model_len=100_000)
    assert "validation error" not in caught.value.message


def test_without_vllm_the_error_says_what_to_install(tiny_model: TinyModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_engine, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match="vllm is not installed") as caught:
        VllmEngine(resolve_model(str(tiny_model("qwen3"))), Sampling())
    assert caught.value.hint == "Run: pip install 'budgetplan[vllm]'"


def rescored(engine: VllmEngine, request: SampleRequest, completion: Completion) -> float:
    import torch
    from transformers import AutoModelForCausalLM

    tokenizer = engine._tokenizer
    prompt = render_tokens(tokenizer, request.messages, thinking=False)
    tokens = tokenizer(completion.text, add_special_tokens=False)["input_ids"]
    if completion.finish_reason == "stop":
        tokens = [*tokens, tokenizer.eos_token_id]
    assert len(tokens) == completion.n_tokens
    model = AutoModelForCausalLM.from_pretrained(engine.identity.name, dtype=torch.float32)
    with torch.no_grad():
        logprobs = model(torch.tensor([prompt + tokens])).logits[0].log_softmax(-1)
    places = range(len(prompt) - 1, len(prompt) + len(tokens) - 1)
    return sum(float(logprobs[place, token]) for place, token in zip(places, tokens, strict=True)) / len(tokens)


def differing(texts: list[str], others: list[str]) -> float:
    return sum(text != other for text, other in zip(texts, others, strict=True)) / len(texts)


def program(folder: Path, model: Path, then: str) -> subprocess.Popen[str]:
    script = folder / "program.py"
    script.write_text(PROGRAM)
    return subprocess.Popen(
        [sys.executable, str(script), str(model), then],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=Path(__file__).parents[2],
    )


def descendants(pid: int) -> list[int]:
    """Name vLLM's processes, without multiprocessing's tracker, which ends when they have."""
    import psutil

    return [child.pid for child in psutil.Process(pid).children(recursive=True) if "VLLM" in child.name()]


def all_gone(pids: list[int], seconds: float) -> bool:
    import psutil

    deadline = time.monotonic() + seconds
    while (left := [pid for pid in pids if psutil.pid_exists(pid)]) and time.monotonic() < deadline:
        time.sleep(0.2)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return not left
