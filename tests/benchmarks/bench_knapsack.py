"""Choosing at pool size under a budget and three quotas, against scipy's linear program and a greedy baseline.

Run: python tests/benchmarks/bench_knapsack.py [--items 1000000]
Log-normal costs in cents, values in ninths, quotas with floors and caps on three of four topics. Every solver runs in a
process of its own, which tells its peak memory. `linprog` solves the relaxation alone, so its value is an upper bound.
At a tenth of the items `milp` is compared as well (scipy's default gap, 1e-4), with at most `--milp-seconds`.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np
from scipy import optimize  # before any clock starts

from budgetplan.selection.constrained import pack_within
from budgetplan.selection.rows import Rows
from budgetplan.selection.silence import silent_stdout

QUOTAS = {0: (20, 30), 1: (35, 45), 3: (15, 20)}  # topic: least and most percent of the picks
TARGET = (
    "gap at most 1e-4, 10 times as fast as linprog, under 2048 MiB, value at least greedy's, and milp's within 1e-4"
)


class Instance:
    """Items in four topics, and a budget of a tenth of what they cost."""

    def __init__(self, items: int) -> None:
        rng = np.random.default_rng(0)
        self.value = rng.integers(1, 10, items) / 9
        self.cost = np.maximum(np.rint(100 * np.exp(rng.normal(1, 0.6, items))), 1).astype(np.int64) * 10_000
        self.topic = rng.choice(4, items, p=[0.4, 0.3, 0.2, 0.1])
        self.key = rng.permutation(items).astype(np.uint64)
        self.budget = int(self.cost.sum() // 10)
        per_topic = np.eye(4, dtype=np.int64)
        coefficient = [
            row for t, (low, high) in QUOTAS.items() for row in (low - 100 * per_topic[t], 100 * per_topic[t] - high)
        ]
        self.rows = Rows(
            self.topic,
            np.array(coefficient),
            np.zeros(2 * len(QUOTAS), np.int64),
            np.repeat(np.arange(len(QUOTAS)), 2),
            may_be_empty=False,
        )

    def matrix(self) -> Any:
        """All conditions over all items, budget first, in dollars; limits beside."""
        return np.vstack([self.cost / 1e6, self.rows.coefficient[:, self.topic] / 100.0])

    def limits(self) -> Any:
        return np.concatenate([[self.budget / 1e6], self.rows.limit])


def ours(instance: Instance, _: float) -> dict[str, Any]:
    """The library's solver."""
    packing = pack_within(instance.value, instance.cost, instance.key, instance.budget, instance.rows, 10.0)
    assert packing is not None
    picked = packing.taken
    return {
        "value": float(instance.value[picked].sum()),
        "bound": packing.bound,
        "gap": packing.gap,
        "status": packing.status,
        "holds": bool(instance.cost[picked].sum() <= instance.budget)
        and instance.rows.hold(instance.rows.counts(picked)),
    }


def greedy(instance: Instance, _: float) -> dict[str, Any]:
    """Best value per cost first: floors, then up to the caps; the number of picks is halved in on."""
    order = np.lexsort((instance.key, -instance.value / instance.cost))
    place = np.empty(len(order), dtype=np.int64)
    for topic in range(4):
        own = order[instance.topic[order] == topic]
        place[own] = np.arange(len(own))
    best = 0.0
    low, high = 1, len(order)
    while low < high:
        picks = (low + high + 1) // 2
        bounds = {t: QUOTAS.get(t, (0, 100)) for t in range(4)}
        floor = np.array([-(-bounds[t][0] * picks // 100) for t in range(4)])
        cap = np.array([bounds[t][1] * picks // 100 for t in range(4)])
        first = place < floor[instance.topic]
        others = order[~first[order] & (place < cap[instance.topic])[order]]
        taken = np.concatenate([np.flatnonzero(first), others[: picks - int(first.sum())]])
        if len(taken) == picks and instance.cost[taken].sum() <= instance.budget:
            low, best = picks, max(best, float(instance.value[taken].sum()))
        else:
            high = picks - 1
    return {"value": best}


def linprog(instance: Instance, _: float) -> dict[str, Any]:
    """The relaxation by scipy alone."""
    with silent_stdout():
        result = optimize.linprog(
            -instance.value, A_ub=instance.matrix(), b_ub=instance.limits(), bounds=(0, 1), method="highs"
        )
    return {"value": -float(result.fun)}


def milp(instance: Instance, seconds: float) -> dict[str, Any]:
    """All items in one integer program."""
    with silent_stdout():
        result = optimize.milp(
            -instance.value,
            integrality=np.ones(len(instance.value)),
            bounds=optimize.Bounds(0, 1),
            constraints=optimize.LinearConstraint(instance.matrix(), ub=instance.limits()),
            options={"time_limit": seconds},
        )
    return {"value": None if result.x is None else -float(result.fun), "status": int(result.status)}


SOLVERS = {"ours": ours, "greedy": greedy, "linprog": linprog, "milp": milp}


def in_a_process(solver: str, items: int, seconds: float) -> dict[str, Any]:
    """One solver's figures."""
    command = [sys.executable, __file__, "--items", str(items), "--solver", solver, "--milp-seconds", str(seconds)]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def solve(solver: str, items: int, seconds: float) -> dict[str, Any]:
    instance = Instance(items)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    started = time.perf_counter()
    found = SOLVERS[solver](instance, seconds)
    wall, usage = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    return {
        **found,
        "seconds": round(wall, 2),
        "cpu_seconds": round(usage.ru_utime - before, 2),
        "peak_mib": round(usage.ru_maxrss / 1024),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--milp-seconds", type=float, default=300.0)
    parser.add_argument("--solver", choices=SOLVERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.solver:
        print(json.dumps(solve(arguments.solver, arguments.items, arguments.milp_seconds)))
        return
    items, fewer = arguments.items, max(arguments.items // 10, 10)
    figures = {name: in_a_process(name, items, 0.0) for name in ("ours", "greedy", "linprog")}
    small = {name: in_a_process(name, fewer, arguments.milp_seconds) for name in ("ours", "milp")}
    mine, other = small["ours"]["value"], small["milp"]["value"]
    print(
        json.dumps(
            {
                "benchmark": "knapsack",
                "items": items,
                **figures,
                "times_as_fast_as_linprog": {
                    unit: round(figures["linprog"][unit] / max(figures["ours"][unit], 0.01), 1)
                    for unit in ("seconds", "cpu_seconds")
                },
                "value_over_greedy": round(figures["ours"]["value"] / figures["greedy"]["value"], 5),
                "beside_milp": {
                    "items": fewer,
                    **small,
                    "below_milp": None if other is None else (other - mine) / other,
                },
                "target": TARGET,
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
