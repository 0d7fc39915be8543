"""The sampling of a probe against the engine called bare: same prompts, settings and seeds, one loaded model, in turn.

Run: python tests/benchmarks/bench_probe.py --engine vllm [--pairs 10]
Ours is everything `probe` does once the model is loaded: requests made from the pool, chunks written, chunks merged
into DuckDB. Theirs is vLLM's own `LLM.generate` in one call, or the transformers engine drained without a store (the
library has no call of its own that takes a seed per sample). The model is tiny, so what we add weighs the most.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

from pairs import interleaved

from budgetplan.config import resolve
from budgetplan.pool.reader import read_pool
from budgetplan.probing.opening import open_engine
from budgetplan.records import SampleRequest, Silent
from budgetplan.steps.probe import begin
from budgetplan.steps.probe_check import CheckedProbe, ProbeChoices, check_probe
from budgetplan.steps.sampling import sample_into_store
from budgetplan.store.connection import Store, scalar

sys.path.insert(0, str(Path(__file__).parents[1]))
from tiny_models import build_tiny_model

TARGET = 0.95


def write_pool(folder: Path, prompts: int) -> Path:
    path = folder / "pool.jsonl"
    rows = (
        {"prompt": f"What is {n} plus {7 * n}? " + "Think well. " * (n % 20), "answer": 8 * n} for n in range(prompts)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def probing(engine: Any, folder: Path, checked: CheckedProbe) -> Callable[[], None]:
    """Our way, each time into a new store."""
    number = count()

    def work() -> None:
        store = Store(folder / f"{next(number)}.duckdb")
        begin(store, checked)
        sample_into_store(engine, store, checked.run, checked.missing, Silent())
        with store.reading() as connection:
            assert scalar(connection, "SELECT count(*) FROM completion") == checked.missing.n_samples

    return work


def draining(engine: Any, requests: list[SampleRequest]) -> Callable[[], None]:
    """The engine's own stream, nothing kept."""

    def work() -> None:
        for _ in engine.sample(requests):
            pass

    return work


def generating(engine: Any, requests: list[SampleRequest], max_tokens: int) -> Callable[[], None]:
    """Call vLLM as anyone would."""
    from vllm import SamplingParams

    prompts = [request.messages[-1].content for request in requests]
    settings = [
        SamplingParams(n=request.count, seed=request.seed, max_tokens=max_tokens, logprobs=0) for request in requests
    ]

    def work() -> None:
        engine._llm.generate(prompts, settings, use_tqdm=False)

    return work


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=("transformers", "vllm"), default="transformers")
    parser.add_argument("--prompts", type=int, default=300)
    parser.add_argument("--k", type=int, default=8)
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--pairs", type=int, default=10)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = build_tiny_model(folder / "model", "qwen3")
        flags = {"model": str(model), "k": arguments.k, "max_tokens": arguments.max_tokens, "template": "none"}
        settings = resolve(flags | {"engine": arguments.engine}, environment={}, folder=folder).settings
        pool = read_pool(str(write_pool(folder, arguments.prompts)))
        checked = check_probe(Store(folder / "none.duckdb"), pool, settings, ProbeChoices(), Silent())
        requests = list(checked.missing.requests())
        with closing(open_engine(arguments.engine, checked.model, checked.sampling)) as engine:
            bare = (
                generating(engine, requests, arguments.max_tokens)
                if arguments.engine == "vllm"
                else draining(engine, requests)
            )
            figures = interleaved(probing(engine, folder, checked), bare, arguments.pairs)
    samples = arguments.prompts * arguments.k
    print(
        json.dumps(
            {
                "benchmark": "probe",
                "engine": arguments.engine,
                "samples": samples,
                **figures,
                "target": f"ratio_median at least {TARGET}",
            }
        )
    )


if __name__ == "__main__":
    main()
