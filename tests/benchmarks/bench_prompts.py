"""Features of the prompts: time and memory of a large pool, and its reduced neighbours against exact ones.

    python tests/benchmarks/bench_prompts.py --items 100000

Prompts are made: 60 words with Zipf's frequencies, a third of them of the prompt's own topic. On `--compared` items,
ours is timed against a plain TF-IDF and `NearestNeighbors(metric="cosine")` of scikit-learn; there the neighbours that
a large pool would get (256 dimensions) are counted among the exact ones. Memory is the peak of a process of its own,
the prompts included. Set OMP_NUM_THREADS=1 for figures of one thread.
"""

import argparse
import json
import resource
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pairs import interleaved, timed
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import NearestNeighbors

from budgetplan.difficulty import prompts
from budgetplan.difficulty.prompts import N_NEAR, PromptFeatures, prompt_features

WORDS_PER_PROMPT = 60
VOCABULARY = 30_000
TOPICS = 500
TOPIC_WORDS = 100
TARGET = "at most 120 seconds and 1536 MiB for 100,000 items"


def make_prompts(items: int) -> pa.ChunkedArray:
    dice = np.random.default_rng(0)
    frequency = 1 / np.arange(1, VOCABULARY + 1)
    topics = dice.integers(VOCABULARY, size=(TOPICS, TOPIC_WORDS))
    words = np.char.add("w", np.arange(VOCABULARY).astype(str))
    chunks = []
    for start in range(0, items, 10_000):
        count = min(10_000, items - start)
        common = dice.choice(VOCABULARY, size=(count, 2 * WORDS_PER_PROMPT // 3), p=frequency / frequency.sum())
        own = topics[dice.integers(TOPICS, size=(count, 1)), dice.integers(TOPIC_WORDS, size=(count, 20))]
        chunks.append(pa.array([" ".join(row) for row in words[np.hstack([common, own])].tolist()]))
    return pa.chunked_array(chunks)


def tf_idf(pool: pa.ChunkedArray) -> Any:
    return TfidfVectorizer(sublinear_tf=True, token_pattern=prompts._WORD.pattern).fit_transform(pool.to_pylist())


def plain_neighbours(pool: pa.ChunkedArray) -> NDArray[np.int64]:
    weights = tf_idf(pool)
    index = NearestNeighbors(n_neighbors=N_NEAR, metric="cosine", algorithm="brute").fit(weights)
    found: NDArray[np.int64] = index.kneighbors(return_distance=False)
    return found


def reduced(pool: pa.ChunkedArray) -> PromptFeatures:
    """Features as a large pool gets them."""
    exact_items = prompts.EXACT_ITEMS
    prompts.EXACT_ITEMS = 0
    try:
        return prompt_features(pool)
    finally:
        prompts.EXACT_ITEMS = exact_items


def shared(found: NDArray[np.int64], exact: NDArray[np.int64]) -> float:
    """Share of the exact neighbours that were found."""
    return round(float((exact[:, :, None] == found[:, None, :]).any(axis=2).mean()), 3)


def mean_cosine(weights: Any, near: NDArray[np.int64]) -> float:
    rows, places = np.nonzero(near >= 0)
    return round(float(weights[rows].multiply(weights[near[rows, places]]).sum(axis=1).mean()), 3)


def compare(items: int, pairs: int) -> dict[str, Any]:
    pool = make_prompts(items)
    weights, exact = tf_idf(pool), plain_neighbours(pool)
    timing = interleaved(lambda: prompt_features(pool), lambda: plain_neighbours(pool), pairs)
    ours, few = prompt_features(pool).near, reduced(pool).near
    anyone = np.random.default_rng(1).integers(items, size=exact.shape)
    return {
        "items": items,
        **timing,
        "recall": {"ours": shared(ours, exact), "reduced": shared(few, exact)},
        "mean_cosine": {
            "exact": mean_cosine(weights, exact),
            "reduced": mean_cosine(weights, few),
            "random": mean_cosine(weights, anyone),
        },
    }


def measure(items: int) -> dict[str, float]:
    pool = make_prompts(items)
    seconds = timed(lambda: prompt_features(pool))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"items": items, "seconds": round(seconds, 1), "peak_mib": round(peak)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--compared", type=int, default=5_000)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.items)))
        return
    command = [sys.executable, __file__, "--measure", "--items", str(arguments.items)]
    large = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    figures = {"large_pool": large, "against_plain": compare(arguments.compared, arguments.pairs)}
    print(json.dumps({"benchmark": "prompts", **figures, "target": TARGET}, indent=2))


if __name__ == "__main__":
    main()
