"""Verifying against calling math-verify on each completion, by class of answer.

    python tests/benchmarks/bench_verify.py --n 100000 > verify.json

Ours: `Judge("math", workers=2)`, from an Arrow table of texts to a table of verdicts; fresh workers for each class, so
that nothing is remembered from another. Theirs: `verify(gold, parse(text))` in one process, each gold parsed once,
outside the timing. Both take turns over the rounds of a class; theirs sees the first `--theirs` share of each round.
"""

import argparse
import json
import platform
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from math import gcd

import pyarrow as pa

from budgetplan.verifying.judge import Judge

SAMPLES_PER_ITEM = 8
PLAIN = ("integers", "decimals and money", "numbers with units")
SHARES = dict(zip(PLAIN, (0.3, 0.2, 0.1), strict=True)) | dict.fromkeys(
    ("fractions", "roots", "sets", "intervals"), 0.1
)
ROUNDS = 5
MIX_SHARE = 0.2
"""Of the mix math-verify, which has seen every class by then, sees this share again, for the timing."""


@dataclass(frozen=True)
class Answer:
    """A known answer, the ways a right one is written, and wrong ones."""

    gold: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    plain: bool


def integers(rng: random.Random) -> Answer:
    value = rng.choice([rng.randint(1, 99), rng.randint(100, 9999), rng.randint(10_000, 2_000_000)])
    wrong = (*(str(value + step) for step in (-7, -2, 1, 10)), str(2 * value))
    return Answer(str(value), (str(value), f"{value:,}", f"{value}.0"), wrong, plain=True)


def decimals(rng: random.Random) -> Answer:
    cents = rng.randint(101, 999_999)
    value = f"{cents / 100:.2f}"
    right = (value, f"${cents / 100:,.2f}", f"{cents / 100:,.2f}")
    wrong = (*(f"{(cents + step) / 100:.2f}" for step in (-50, 1, 100, 1000)), str(cents))
    return Answer(value, right, wrong, plain=True)


def with_units(rng: random.Random) -> Answer:
    value, unit = (
        rng.randint(2, 900),
        rng.choice(["dollars", "cm", "hours", "miles per hour", "apples", "square meters"]),
    )
    percent = rng.random() < 0.2
    written = f"{value}\\%" if percent else f"{value} \\text{{ {unit}}}"
    wrong = tuple(f"{value + step} \\text{{ {unit}}}" for step in (-1, 2, 30))
    return Answer(str(value), (written, written, str(value)), wrong, plain=True)


def fractions(rng: random.Random) -> Answer:
    top, bottom = rng.randint(1, 60), rng.randint(2, 40)
    top, bottom = top // gcd(top, bottom), bottom // gcd(top, bottom)
    sign = rng.choice(["", "", "-"])
    variable = rng.choice(["", "", "\\pi", "x"])
    gold = f"{sign}\\frac{{{top}}}{{{bottom}}}{variable}"
    right = (gold, gold.replace("\\frac", "\\dfrac"), f"{sign}\\frac{{{2 * top}}}{{{2 * bottom}}}{variable}")
    wrong = (
        f"{sign}\\frac{{{top + 1}}}{{{bottom}}}{variable}",
        f"{sign}\\frac{{{bottom}}}{{{top + 1}}}{variable}",
        f"\\frac{{{top}}}{{{bottom + 3}}}{variable}",
        f"{sign}{top}{variable}",
    )
    return Answer(gold, right, wrong, plain=False)


def roots(rng: random.Random) -> Answer:
    factor, inside, shift = rng.randint(2, 9), rng.choice([2, 3, 5, 6, 7, 10, 11, 13]), rng.choice([0, 0, 1, 2, 5])
    plus = f"{shift} + " if shift else ""
    gold = f"{plus}{factor}\\sqrt{{{inside}}}"
    right = (gold, f"{plus}\\sqrt{{{factor * factor * inside}}}", gold.replace(" ", ""))
    wrong = (
        f"{plus}{factor + 1}\\sqrt{{{inside}}}",
        f"{plus}{inside}\\sqrt{{{factor}}}",
        f"{plus}\\sqrt{{{factor * inside}}}",
        str(shift + factor * inside),
    )
    return Answer(gold, right, wrong, plain=False)


def sets(rng: random.Random) -> Answer:
    members: list[int | str] = [*rng.sample(range(-12, 30), rng.randint(2, 4))]
    if rng.random() < 0.3:
        members[-1] = rng.choice(["\\sqrt{2}", "\\pi", "-\\sqrt{5}", "2\\sqrt{3}"])
    gold = f"\\{{{', '.join(map(str, members))}\\}}"
    shuffled = rng.sample(members, len(members))
    right = (gold, f"\\{{{','.join(map(str, shuffled))}\\}}", f"\\left\\{{{', '.join(map(str, members))}\\right\\}}")
    wrong = (
        f"\\{{{', '.join(map(str, members[:-1]))}\\}}",
        f"\\{{{', '.join(map(str, [*members, 31]))}\\}}",
        f"\\{{{', '.join(map(str, [members[0], 32, *members[2:]]))}\\}}",
        str(members[0]),
    )
    return Answer(gold, right, wrong, plain=False)


def intervals(rng: random.Random) -> Answer:
    low, high = sorted(rng.sample(range(-20, 40), 2))
    left, right_mark = rng.choice(["[", "("]), rng.choice(["]", ")"])
    end = rng.choice([str(high), str(high), f"\\frac{{{2 * high + 1}}}{{2}}", "\\infty"])
    right_mark = ")" if end == "\\infty" else right_mark
    before = rng.choice(["", "", "", f"(-\\infty, {low - 3}] \\cup "])
    gold = f"{before}{left}{low}, {end}{right_mark}"
    right = (gold, gold.replace(" ", ""), f"{before}\\left{left}{low}, {end}\\right{right_mark}")
    flipped = "(" if left == "[" else "["
    wrong = (
        f"{before}{flipped}{low}, {end}{right_mark}",
        f"{before}{left}{low - 1}, {end}{right_mark}",
        f"{before}{left}{low}, {high + 50}{right_mark}",
        f"(-\\infty, {low}]",
    )
    return Answer(gold, right, wrong, plain=False)


MAKERS: dict[str, Callable[[random.Random], Answer]] = {
    "integers": integers,
    "decimals and money": decimals,
    "numbers with units": with_units,
    "fractions": fractions,
    "roots": roots,
    "sets": sets,
    "intervals": intervals,
}
STEPS = (
    "First, we write down what is given: there are {a} of the first kind and {b} of the second.",
    "We have ${a} + {b} = {c}$, so the next quantity is ${c}$.",
    "Substituting $x = {a}$ into the equation gives\n\\[\n{b}x + {c} = {d}.\n\\]",
    "Next, multiply by {b}: {a} * {b} = {d}.",
    "Note that \\(\\frac{{{a}}}{{{b}}}\\) cannot be simplified any further, and that {c} > {a}.",
    "Each of the {b} groups costs ${a}, which makes ${d} in total.",
    "Using the previous step, we can rewrite the expression and collect the terms on one side.",
)
ENDINGS = (
    "Therefore, the final answer is $\\boxed{{{x}}}$.",
    "Therefore, the final answer is \\(\\boxed{{{x}}}\\).",
    "So we get\n\\[\n\\boxed{{{x}}}\n\\]",
    "The answer is ${x}$.",
    "The final answer is ${x}$. I hope it is correct.",
)
PLAIN_ENDINGS = (
    *ENDINGS[:3],
    "The answer is {x}.",
    "So she has {x} in the end. The answer is {x}.",
    "Final Answer: {x}",
)


@dataclass(frozen=True)
class Sample:
    kind: str
    gold: str
    text: str


def generate(n: int, seed: int) -> list[Sample]:
    """Return about n completions, K in a row per item, items in random order; how often one is right differs."""
    rng = random.Random(seed)
    kinds = [kind for kind, share in SHARES.items() for _ in range(max(1, round(n * share / SAMPLES_PER_ITEM)))]
    rng.shuffle(kinds)
    return [sample for kind in kinds for sample in _samples(kind, rng)]


def _samples(kind: str, rng: random.Random) -> list[Sample]:
    answer = MAKERS[kind](rng)
    p = rng.betavariate(0.7, 0.7)
    return [Sample(kind, answer.gold, _completion(answer, rng.random() < p, rng)) for _ in range(SAMPLES_PER_ITEM)]


def _completion(answer: Answer, correct: bool, rng: random.Random) -> str:
    numbers = {name: rng.randint(2, 400) for name in "abcd"}
    steps = [step.format(**numbers) for step in rng.choices(STEPS, k=rng.randint(3, 8))]
    endings = PLAIN_ENDINGS if answer.plain else ENDINGS
    ending = rng.choice(endings)
    written = rng.choices(answer.right, weights=[6, 1, 1])[0] if correct else rng.choice(answer.wrong)
    if ending in ENDINGS:
        written = written.replace("$", "\\$")
    elif answer.plain:
        written = written.replace("\\text{ ", "").replace("}", "").replace("\\", "")
    return "\n\n".join([*steps, ending.format(x=written)])


def table(samples: list[Sample]) -> pa.Table:
    nothing = pa.nulls(len(samples), pa.string())
    return pa.table(
        {
            "text": [sample.text for sample in samples],
            "finish_reason": nothing,
            "gold": [sample.gold for sample in samples],
            "columns": nothing,
        }
    )


def ours(judge: Judge, samples: list[Sample]) -> tuple[float, list[bool]]:
    batch = table(samples)
    start = time.perf_counter()
    outcomes = judge.judge(batch).column("outcome").to_pylist()
    return time.perf_counter() - start, [outcome == "correct" for outcome in outcomes]


def theirs(samples: list[Sample]) -> tuple[float, list[bool]]:
    from math_verify import parse, verify

    golds = {sample.gold: parse(f"${sample.gold}$") for sample in samples}
    start = time.perf_counter()
    verdicts = [bool(verify(golds[sample.gold], parse(sample.text))) for sample in samples]
    return time.perf_counter() - start, verdicts


def compare(samples: list[Sample], workers: int, share: float) -> dict[str, object]:
    """Time both in turns over the rounds of a class; the ratio is the median over the rounds."""
    with Judge("math", workers=workers) as judge:
        return _rounds(judge, samples, share)


def _rounds(judge: Judge, samples: list[Sample], share: float) -> dict[str, object]:
    size = -(-len(samples) // ROUNDS)
    their_size = max(1, round(size * share))
    rates: list[tuple[float, float]] = []
    differences: list[dict[str, object]] = []
    compared = correct = 0
    for start in range(0, len(samples), size):
        part = samples[start : start + size]
        seconds, verdicts = ours(judge, part)
        their_seconds, their_verdicts = theirs(part[:their_size])
        rates.append((len(part) / seconds, len(their_verdicts) / their_seconds))
        correct += sum(verdicts)
        compared += len(their_verdicts)
        differences += [
            {"gold": sample.gold, "ending": sample.text[-80:], "ours": mine, "theirs": other}
            for sample, mine, other in zip(part, verdicts, their_verdicts, strict=False)
            if mine != other
        ]
    return {
        "n": len(samples),
        "correct": round(correct / len(samples), 3),
        "ours_per_second": round(statistics.median(rate for rate, _ in rates)),
        "theirs_per_second": round(statistics.median(rate for _, rate in rates)),
        "speed_ratio": round(statistics.median(mine / other for mine, other in rates), 2),
        "speed_ratio_range": [round(bound(mine / other for mine, other in rates), 2) for bound in (min, max)],
        "compared": compared,
        "same_verdicts": round(1 - len(differences) / compared, 6),
        "differences": differences[:20],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=100_000, help="completions")
    parser.add_argument("--theirs", type=float, default=1.0, help="share of each class that math-verify sees")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    samples = generate(arguments.n, arguments.seed)
    theirs(samples[:20])  # imports and compiles its patterns outside the timing
    classes = {
        kind: compare([sample for sample in samples if sample.kind == kind], arguments.workers, arguments.theirs)
        for kind in SHARES
    }
    print(
        json.dumps(
            {
                "benchmark": "verify",
                "python": platform.python_version(),
                "math_verify": version("math-verify"),
                "workers": arguments.workers,
                "n": len(samples),
                "latex_share": round(sum(sample.kind not in PLAIN for sample in samples) / len(samples), 3),
                "start": start_up(samples),
                "mix": compare(samples, arguments.workers, arguments.theirs * MIX_SHARE),
                "classes": classes,
            },
            indent=2,
        )
    )


def start_up(samples: list[Sample]) -> dict[str, float]:
    """Time a fresh `Judge` on small batches, start and end included, in milliseconds (median of ten)."""
    plain = [sample for sample in samples if sample.kind in PLAIN]
    return {f"{n} plain": round(statistics.median(_fresh(plain[:n]) for _ in range(10)), 1) for n in (0, 100, 1000)}


def _fresh(samples: list[Sample]) -> float:
    batch = table(samples)
    start = time.perf_counter()
    with Judge("math", workers=2) as judge:
        judge.judge(batch)
    return 1000 * (time.perf_counter() - start)


if __name__ == "__main__":
    main()
