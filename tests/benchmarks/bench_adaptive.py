"""Adaptive against uniform probing: the quality of the picked 10 % by samples per item, real and simulated pools.

    python tests/benchmarks/bench_adaptive.py [--data FOLDER] [--repeats 20]

Real: files with at least 20 samples per item; in every repetition eight random samples of each item are held back as
truth and the rest is what a probe may draw. Simulated: four pools of 1,000 items with known p, 32 samples of each.
Adaptive starts with one sample of every item; each round is an eighth of the pool, one sample an item, placed as
`probe` does.

Per pool and policy, means over the repetitions: `uniform` and `adaptive`, the quality of the picked 10 % by mean
samples per item, where 0 is random and 1 the best possible by the truth, in the policy's own score; `ahead`, adaptive
at 4 less uniform at 8, with its standard error; `lost`, what the probe says at 4 that it lost per pick against 8 of
every item.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetplan.config import Settings
from budgetplan.difficulty.pick_quality import pick_quality
from budgetplan.difficulty.posterior import fit_prior
from budgetplan.difficulty.value_of_sampling import Sampled, Score, expected_loss, value_of_sampling, worth_most
from budgetplan.selection.policy import Policy
from budgetplan.steps.adaptive import ROUND_SHARE, score_of

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "rollouts"
FILES = ("mot_date_llama2_13b_cot1", "esc_lastletters_gpt3.5_k40")
POLICIES = (Policy.HARD, Policy.HORIZON)
HELD_BACK = 8
SAMPLES = (1, 2, 3, 4, 6, 8, 12, 16)
SHARE = 0.1


NEARLY_CERTAIN = 1e6
"""Samples behind a known p."""


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """One repetition: the samples a probe may draw, and Beta(a, b) for what is truly so."""

    draws: NDArray[np.int64]
    true_a: NDArray[np.float64]
    true_b: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Samples of every item, and the right ones among them."""

    n: NDArray[np.int64]
    k: NDArray[np.int64]

    def posterior(self) -> Sampled:
        prior = fit_prior(self.n, self.k)
        return Sampled(prior.a + self.n, prior.b + self.k - self.n, self.k, np.ones(len(self.k)))


def real(path: Path, repeats: int) -> Iterator[Pool]:
    """Split the samples of every item at random, again and again."""
    correct = np.array([json.loads(line)["correct"] for line in path.read_text().splitlines()], dtype=np.int64)
    for seed in range(repeats):
        order = np.argsort(np.random.default_rng(seed).random(correct.shape), axis=1)
        shuffled = np.take_along_axis(correct, order, axis=1)
        right = shuffled[:, :HELD_BACK].sum(axis=1)
        yield Pool(shuffled[:, HELD_BACK:], right + 0.5, HELD_BACK - right + 0.5)


SHAPES: dict[str, Callable[[np.random.Generator, int], NDArray[np.float64]]] = {
    "u-shaped": lambda generator, n: generator.beta(0.35, 0.35, n),
    "easy-skewed": lambda generator, n: generator.beta(4.0, 1.0, n),
    "40 % at zero": lambda generator, n: np.where(generator.random(n) < 0.4, 0.0, generator.beta(4.0, 2.0, n)),
    "strong model": lambda generator, n: np.where(generator.random(n) < 0.7, 1.0, generator.beta(1.5, 1.0, n)),
}


def simulated(name: str, repeats: int, n_items: int) -> Iterator[Pool]:
    """Draw p by the shape of the pool, and samples of every item."""
    for seed in range(repeats):
        generator = np.random.default_rng(seed)
        p = SHAPES[name](generator, n_items)
        draws = (generator.random((n_items, 2 * max(SAMPLES))) < p[:, None]).astype(np.int64)
        yield Pool(draws, NEARLY_CERTAIN * p + 1e-3, NEARLY_CERTAIN * (1 - p) + 1e-3)


def uniform(pool: Pool) -> dict[int, Counts]:
    """Count the first samples of every item."""
    n_items, most = pool.draws.shape
    return {k: Counts(pool.draws[:, :k].sum(axis=1), np.full(n_items, k)) for k in SAMPLES if k <= most}


def adaptive(pool: Pool, score: Score, seed: int) -> dict[int, Counts]:
    """Spend round after round where samples are worth most; what is known at every mean of `SAMPLES`."""
    n_items, most = pool.draws.shape
    right = np.concatenate([np.zeros((n_items, 1), np.int64), pool.draws.cumsum(axis=1)], axis=1)
    rows, key = np.arange(n_items), np.random.default_rng(seed).permutation(n_items).astype(np.uint64)
    k = np.ones(n_items, dtype=np.int64)
    known = {}
    for mean in SAMPLES:
        while k.sum() < mean * n_items:
            now = Counts(right[rows, k], k).posterior()
            value = value_of_sampling(now, score, round(SHARE * n_items))
            size = min(-(-n_items // ROUND_SHARE), mean * n_items - int(k.sum()))
            chosen = worth_most(value, k, key, size, most)
            if not len(chosen):
                break
            k = k.copy()
            k[chosen] += 1
        known[mean] = Counts(right[rows, k], k)
    return known


def quality(counts: Counts, pool: Pool, score: Score) -> float:
    """How good the best tenth by the counts is, by the truth."""
    now, truth = counts.posterior(), np.asarray(score(pool.true_a, pool.true_b))
    made = pick_quality(-np.asarray(score(now.a, now.b)), -truth, round(SHARE * len(truth)))
    return float("nan") if made is None else made


def compared(pools: Iterator[Pool], policy: Policy) -> dict[str, Any]:
    """Both ways of probing on the same samples."""
    score = score_of(policy, Settings())
    evenly, placed, lost = [], [], []
    for seed, pool in enumerate(pools):
        ours, theirs = adaptive(pool, score, seed), uniform(pool)
        placed.append([quality(counts, pool, score) for counts in ours.values()])
        evenly.append([quality(theirs[k], pool, score) if k in theirs else float("nan") for k in SAMPLES])
        lost.append(expected_loss(ours[4].posterior(), score, round(SHARE * len(pool.draws)), 8, seed))
    ahead = np.array(placed)[:, SAMPLES.index(4)] - np.array(evenly)[:, SAMPLES.index(8)]
    return {
        "uniform": _curve(evenly),
        "adaptive": _curve(placed),
        "ahead": [round(float(ahead.mean()), 4), round(float(ahead.std(ddof=1) / len(ahead) ** 0.5), 4)],
        "lost": round(float(np.mean(lost)), 5),
    }


def _curve(rows: list[list[float]]) -> dict[int, float | None]:
    means = np.array(rows).mean(axis=0)
    return {k: None if np.isnan(mean) else round(float(mean), 4) for k, mean in zip(SAMPLES, means, strict=True)}


def main() -> None:
    """Replay every pool under every policy and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--items", type=int, default=1000, help="items of a simulated pool")
    arguments = parser.parse_args()
    document: dict[str, Any] = {"repeats": arguments.repeats, "round": f"1/{ROUND_SHARE} of the pool"}
    for policy in POLICIES:
        pools = {name: simulated(name, arguments.repeats, arguments.items) for name in SHAPES}
        for name in FILES:
            if (arguments.data / f"{name}.jsonl").is_file():
                pools[name] = real(arguments.data / f"{name}.jsonl", arguments.repeats)
        made = {name: compared(rows, policy) for name, rows in pools.items()}
        document[policy.value] = made | {
            "mean over pools": {
                "adaptive at 3": round(float(np.mean([row["adaptive"][3] for row in made.values()])), 4),
                "uniform at 8": round(float(np.mean([row["uniform"][8] for row in made.values()])), 4),
            }
        }
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
