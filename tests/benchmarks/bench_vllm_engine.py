"""VllmEngine against vLLM called bare: `LLM.generate` on the same prompts, settings and seeds, in the same engine.

Run: python tests/benchmarks/bench_vllm_engine.py [--pairs 10] [--prompts 100]
Both sample a tiny model; the prefix cache is emptied before every run. The bare call gets all prompts as text at once
and returns texts and log-probabilities when the last sample has ended; ours renders messages, reads requests from an
iterator and hands completions on as they end.
"""

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from pairs import interleaved

from budgetplan.probing.models import resolve_model
from budgetplan.probing.vllm_engine import VllmEngine
from budgetplan.records import ItemId, Message, SampleRequest, Sampling, sample_seed

sys.path.insert(0, str(Path(__file__).parents[1]))
from tiny_models import build_tiny_model

SAMPLES = 8
TARGET = 0.95


def make_requests(prompts: int) -> list[SampleRequest]:
    rng = random.Random(0)
    requests = []
    for number in range(prompts):
        item = ItemId(f"bp-{number:016x}")
        text = f"Question {number}: {' '.join(rng.choices('abcdefghij', k=rng.randint(20, 120)))}?"
        requests.append(SampleRequest(item, (Message("user", text),), 0, SAMPLES, sample_seed(0, item, 0)))
    return requests


def sample_ours(engine: VllmEngine, requests: list[SampleRequest]) -> dict[tuple[str, int], str]:
    engine._llm.reset_prefix_cache()
    batches = engine.sample(iter(requests))
    return {(c.item_id, c.sample_index): c.text for batch in batches for c in batch}


def sample_bare(engine: VllmEngine, requests: list[SampleRequest], sampling: Sampling) -> dict[tuple[str, int], str]:
    from vllm import SamplingParams

    engine._llm.reset_prefix_cache()
    params = [
        SamplingParams(
            n=request.count,
            seed=request.seed,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_tokens=sampling.max_tokens,
            logprobs=0,
        )
        for request in requests
    ]
    prompts = [request.messages[0].content for request in requests]
    outputs = engine._llm.generate(prompts, params, use_tqdm=False)
    return {
        (request.item_id, sample.index): sample.text
        for request, output in zip(requests, outputs, strict=True)
        for sample in output.outputs
    }


def compare(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    from vllm import __version__

    sampling = Sampling(max_tokens=arguments.max_tokens)
    engine = VllmEngine(resolve_model(str(build_tiny_model(folder, "qwen3"))), sampling)
    requests = make_requests(arguments.prompts)
    try:
        figures = interleaved(
            lambda: sample_ours(engine, requests), lambda: sample_bare(engine, requests, sampling), arguments.pairs
        )
        ours, bare = sample_ours(engine, requests), sample_bare(engine, requests, sampling)
    finally:
        engine.close()
    return {
        "benchmark": "vllm engine",
        "vllm": __version__,
        "prompts": arguments.prompts,
        "samples_each": SAMPLES,
        "max_tokens": arguments.max_tokens,
        **figures,
        "texts_that_differ": sum(ours[key] != bare[key] for key in bare),
        "target_at_least": TARGET,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--prompts", type=int, default=100)
    parser.add_argument("--max-tokens", type=int, default=64)
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(compare(Path(folder), parser.parse_args())))


if __name__ == "__main__":
    main()
