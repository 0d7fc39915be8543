"""Two ways of doing the same, timed in turn, so that a drifting machine hits both."""

import random
import statistics
import time
from collections.abc import Callable
from typing import Any

CONFIDENCE = 0.95
RESAMPLES = 2_000


def timed(work: Callable[[], object]) -> float:
    """Seconds one call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def interleaved(
    ours: Callable[[], object], theirs: Callable[[], object], pairs: int, warm_up: int = 1
) -> dict[str, Any]:
    """Time both in turn; `ratio` is their time over ours (above 1: we are faster), with a bootstrap interval."""
    for _ in range(warm_up):
        ours()
        theirs()
    times: list[tuple[float, float]] = []
    for place in range(pairs):  # who goes first alternates
        if place % 2:
            second = timed(theirs)
            times.append((timed(ours), second))
        else:
            first = timed(ours)
            times.append((first, timed(theirs)))
    ratios = [theirs_seconds / ours_seconds for ours_seconds, theirs_seconds in times]
    low, high = interval(ratios)
    return {
        "pairs": pairs,
        "ours_median_seconds": round(statistics.median(pair[0] for pair in times), 4),
        "theirs_median_seconds": round(statistics.median(pair[1] for pair in times), 4),
        "ratio_median": round(statistics.median(ratios), 3),
        "ratio_interval_95": [round(low, 3), round(high, 3)],
    }


def interval(values: list[float]) -> tuple[float, float]:
    """A bootstrap interval for the median."""
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    tail = (1 - CONFIDENCE) / 2
    return medians[int(tail * RESAMPLES)], medians[int((1 - tail) * RESAMPLES) - 1]
