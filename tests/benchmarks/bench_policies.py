"""Which policy buys items that give mixed groups? Real samples of real models, chosen by some and scored by others.

    python tests/benchmarks/bench_policies.py [--data FOLDER] [--repeats 20]

`rollouts`: per file, the samples of every item are split at random `--repeats` times: K = 2, 4 or 8 of them to choose
by, G = 8 others to score by (files with too few samples for a K are left out of it). Per policy the share of items
among the picked 10 % whose G samples are mixed; `noise` is the standard error of its difference to the best policy,
over items and splits. `learnable_holds`: learnable is first, or less than two of these errors behind the first.

`history`: a real training run, 44 epochs and more. 10 % of its items are chosen by the 8 rollouts of epoch 0 (K = 8),
or by 4 of these drawn `--repeats` times (K = 4): the share of mixed groups over the later epochs (the 43 that every
item has, and all), per policy, beside the best possible choice, and for `horizon` under other rises of logit p than the
rule's, which played no part in it.

Ties count by expectation: of the items equal at the cut, each counts for the share of them that is picked.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from budgetplan.difficulty.horizon import expected_rise, mixed_group_chance
from budgetplan.difficulty.posterior import estimate, fit_prior
from budgetplan.selection.candidates import UNKNOWN_FIRST, VERIFIED, Candidates
from budgetplan.selection.policy import Policy
from budgetplan.selection.scores import score

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
HISTORY = "rlvr_qwen2.5math1.5b_k8.jsonl"
K_OF_ROLLOUTS = (2, 4, 8)
GROUP_SIZE = 8
SHARE = 0.1
PASSES_PER_ITEM = 40.0
OTHER_RISES = (0.0, 0.54, 1.0, 1.5, 2.0)
TARGETS = {8: 0.86, 4: 0.79}


def candidates_of(first: NDArray[np.int64], n_correct: NDArray[np.int64], k: int) -> Candidates:
    """A pool of which K samples of every item were judged."""
    n = len(n_correct)
    judged = np.full(n, k)
    of = estimate(n_correct, judged, fit_prior(n_correct, judged), GROUP_SIZE, PASSES_PER_ITEM)
    return Candidates(
        item_id=pa.array([f"bp-{row:016x}" for row in range(n)]),
        p_hat=of.p_hat,
        p_mean=of.p_mean,
        learnable=np.asarray(of.learnable),
        learnable_horizon=np.asarray(of.learnable_horizon),
        k=judged,
        first_correct=first.astype(np.int8),
        place=np.full(n, np.nan),
        source=np.full(n, VERIFIED),
        eligible=np.ones(n, np.bool_),
        available=np.ones(n, np.bool_),
    )


def choose(pool: Candidates, n_picked: int) -> dict[str, NDArray[np.float64]]:
    """The chance of every item to be picked, by policy; under random it is the same for all."""
    chances = {}
    for policy in Policy:
        scores = score(pool, policy, seed=0)
        value = np.where(scores.candidate, scores.value, -1.0)
        chances[policy.value] = picked(np.zeros(len(pool)) if policy == Policy.RANDOM else value, n_picked)
    return chances


def picked(value: NDArray[np.float64], n_picked: int) -> NDArray[np.float64]:
    """The chance of every item to be among the `n_picked` largest values, over all orders of equals."""
    cut = np.partition(value, len(value) - n_picked)[len(value) - n_picked]
    before, tied = value > cut, value == cut
    return np.where(before, 1.0, np.where(tied, (n_picked - before.sum()) / tied.sum(), 0.0))


def is_mixed(n_correct: NDArray[np.int64], group_size: int) -> NDArray[np.float64]:
    return ((n_correct > 0) & (n_correct < group_size)).astype(float)


def replay(path: Path, repeats: int) -> dict[str, Any]:
    """One file of rollouts, for every K that leaves a group to score by."""
    rows = [json.loads(line)["correct"] for line in path.read_text(encoding="utf-8").splitlines()]
    samples = min(len(row) for row in rows)
    correct = np.array([row[:samples] for row in rows], dtype=np.int64)
    by_k = {str(k): of_splits(correct, k, repeats) for k in K_OF_ROLLOUTS if k + GROUP_SIZE <= samples}
    return {"items": len(rows), "samples": samples, "k": by_k}


def of_splits(correct: NDArray[np.int64], k: int, repeats: int) -> dict[str, Any]:
    random = np.random.default_rng(k)
    n_picked = int(SHARE * len(correct))
    chances: dict[str, list[NDArray[np.float64]]] = {policy.value: [] for policy in Policy}
    all_mixed = []
    for _ in range(repeats):
        drawn = random.permuted(correct, axis=1)
        all_mixed.append(is_mixed(drawn[:, k : k + GROUP_SIZE].sum(axis=1), GROUP_SIZE))
        pool = candidates_of(drawn[:, 0], drawn[:, :k].sum(axis=1), k)
        for policy, chance in choose(pool, n_picked).items():
            chances[policy].append(chance / n_picked)
    mixed = np.array(all_mixed)
    means = {policy: share_mixed(np.array(chance), mixed) for policy, chance in chances.items()}
    best = max(means, key=lambda policy: means[policy])
    apart = {policy: np.array(chance) * (mixed - means[policy]) for policy, chance in chances.items()}
    noise = {policy: error(of_policy - apart[best]) for policy, of_policy in apart.items()}
    return {
        "mixed": {policy: round(mean, 3) for policy, mean in means.items()},
        "best": best,
        "noise": {policy: round(of_difference, 3) for policy, of_difference in noise.items()},
        **{
            f"{policy.value}_holds": means[policy] >= means[best] - 2 * noise[policy]
            for policy in (Policy.LEARNABLE, Policy.HORIZON)
        },
    }


def share_mixed(chance: NDArray[np.float64], mixed: NDArray[np.float64]) -> float:
    """The share of mixed groups among the picks, in the mean over splits; both are (splits, items)."""
    return float((chance * mixed).sum(axis=1).mean())


def error(apart: NDArray[np.float64]) -> float:
    """Standard error of a share, or of a difference of two: other items and other splits might have been drawn.

    `apart` (splits, items): how far each pick is from the share, times the chance to be picked.
    """
    n_splits, n_items = apart.shape
    of_items = np.sqrt(n_items) * apart.mean(axis=0).std()
    of_splits = apart.sum(axis=1).std(ddof=1) / np.sqrt(n_splits) if n_splits > 1 else 0.0
    return float(np.hypot(of_items, of_splits))


def replay_history(path: Path, repeats: int) -> dict[str, Any]:
    """Choose by epoch 0, score by later epochs: by the 43 that every item has, and by all, up to 56."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    counts = [np.array(row["n_correct"]) for row in rows]
    start = np.array([count[0] for count in counts])
    random = np.random.default_rng(0)
    drawn = [random.hypergeometric(start, 8 - start, 4) for _ in range(repeats)]
    shortest = min(map(len, counts))
    figures: dict[str, Any] = {"items": len(rows), "rise": round(expected_rise(PASSES_PER_ITEM), 3)}
    for name, end in (("epochs_of_all_items", shortest), ("all_epochs", None)):
        later = np.array([is_mixed(count[1:end], 8).mean() for count in counts])
        ceiling = float(np.sort(later)[-int(SHARE * len(rows)) :].mean())
        by_k = {"8": of_history([start], 8, later), "4": of_history(drawn, 4, later)}
        figures[name] = {"ceiling": round(ceiling, 3), "k": by_k}
    return figures


def of_history(draws: list[NDArray[np.int64]], k: int, later: NDArray[np.float64]) -> dict[str, Any]:
    n_picked = int(SHARE * len(later))
    found: dict[str, list[NDArray[np.float64]]] = {}
    for n_correct in draws:
        chances = choose(candidates_of(np.full(len(later), UNKNOWN_FIRST), n_correct, k), n_picked)
        del chances[Policy.BASE_WRONG]  # which sample was the first is not known
        prior = fit_prior(n_correct, np.full(len(later), k))
        for rise in OTHER_RISES:
            chance = mixed_group_chance(prior.a + n_correct, prior.b + k - n_correct, GROUP_SIZE, rise)
            chances[f"rise {rise:g}"] = picked(chance, n_picked)
        for name, chance in chances.items():
            found.setdefault(name, []).append(chance / n_picked)
    means = {name: share_mixed(np.array(chance), later) for name, chance in found.items()}
    apart = np.array(found[Policy.HORIZON]) * (later - means[Policy.HORIZON])
    return {
        "mixed": {name: round(mean, 3) for name, mean in means.items() if not name.startswith("rise")},
        "under_other_rises": {name: round(mean, 3) for name, mean in means.items() if name.startswith("rise")},
        "standard_error_of_horizon": round(error(apart), 3),
        "target": TARGETS[k],
        "reached": means[Policy.HORIZON] >= TARGETS[k],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--repeats", type=int, default=20)
    arguments = parser.parse_args()
    files = sorted((arguments.data / "rollouts").glob("*.jsonl"))
    rollouts = {path.stem: replay(path, arguments.repeats) for path in files}
    rollouts = {name: figures for name, figures in rollouts.items() if figures["k"]}
    history = replay_history(arguments.data / "history" / HISTORY, arguments.repeats)
    document = {"benchmark": "policies", "group_size": GROUP_SIZE, "repeats": arguments.repeats}
    print(json.dumps({**document, "rollouts": rollouts, "history": history}, indent=2))


if __name__ == "__main__":
    main()
