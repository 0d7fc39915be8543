"""How good is difficulty without answers? Real samples of real models, replayed with their answers hidden.

    python tests/benchmarks/bench_difficulty.py [--data FOLDER] [--repeats 20]

A file has rows {"prompt", "completions": [...], "correct": [0 | 1, ...]}. In every repetition each item's samples are
split in half at random: signals and labels come from one half, truth from the other, so nothing is judged by what it
was made from. Labels are the verdicts of the first half, of items drawn at random.

Per file and number of labels, means over the repetitions:

- quality: (mean p of random picks - mean p of the picked 10 %) / (the same for the best possible 10 %), over all items,
  and over those without a label; the same of the ranking without labels, on the same items
- auroc for p <= .2, spearman, ece (ten equal-width bins) and coverage of the 90 % interval of what the other half may
  show, over all items; `*_unlabelled` over those without a label alone; `ece_unlabelled_if_perfect`: what bins of so
  few items show even where p is exactly as predicted
- baselines: self-agreement alone, the rule on one sample of each item, random, and the ceiling (all labels known, same
  samples)
- rounds: quality of a tenth, and of 30 % (where the order can move: it takes 60 labels), of the items bought as
  `shortlist` does (a third by signals, the rest by the ranking that has learned from it), beside all at once by
  signals; the audit slice counted apart, in items
- leave_one_out: quality and AUROC of weights learned on the other files in place of the fixed ones
"""

import argparse
import json
import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import budgetplan
from budgetplan.difficulty.calibration import N_FOLDS, Labelled, calibrate
from budgetplan.difficulty.calibration_error import expected_calibration_error
from budgetplan.difficulty.cold_start import RULE, cold_score, typical_p
from budgetplan.difficulty.features import Features
from budgetplan.difficulty.pick_quality import pick_quality
from budgetplan.difficulty.posterior import Prior, fit_prior
from budgetplan.records import Silent
from budgetplan.selection.audit import default_size
from budgetplan.selection.batch import first_batch
from budgetplan.steps.prompt_features import ready_prompt_features
from budgetplan.steps.same_answers import find_same_answers
from budgetplan.steps.signals import run_signals
from budgetplan.store.runs import ProbeRun, find_run
from budgetplan.store.signals import write_similarity

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "rollouts"
LABELS = (0, 10, 25, 50, 100)
HARD = 0.2
SHARE = 0.1
LARGE_SHARE = 0.3
HALF = "half"


@dataclass(frozen=True, slots=True, eq=False)
class Half:
    """One repetition: features of half of the samples, the counts of both halves."""

    features: Features
    of_one_sample: Features
    agreement: NDArray[np.float64]
    n: NDArray[np.int64]
    k: NDArray[np.int64]
    held_n: NDArray[np.int64]
    held_k: NDArray[np.int64]

    @property
    def truth(self) -> NDArray[np.float64]:
        return self.held_n / self.held_k


def replay(path: Path, repeats: int) -> Iterator[Half]:
    """Import a file without its answers, and split the samples of its items again and again."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if len(row["completions"]) > 1]
    with tempfile.TemporaryDirectory() as folder:
        hidden = Path(folder) / "hidden.jsonl"
        kept = [
            {"id": place, "prompt": row["prompt"], "completions": row["completions"]} for place, row in enumerate(rows)
        ]
        hidden.write_text("\n".join(map(json.dumps, kept)), encoding="utf-8")
        project = budgetplan.Project(db=Path(folder) / "store.duckdb", model="replayed")
        project.import_samples([hidden])
        with project.store.reading() as connection:
            run = find_run(connection, None)
        find_same_answers(project.store, run, Silent())
        ready_prompt_features(project.store, run.pool_id, Silent())
        with project.store.writing() as connection:
            place = connection.execute(
                "SELECT ids[1]::INT FROM pool_item WHERE pool_id = ? ORDER BY row, item_id", [run.pool_id]
            ).fetchall()
            correct = [np.array(rows[index]["correct"], dtype=np.int64) for (index,) in place]
            for repeat in range(repeats):
                yield split(connection, run, correct, np.random.default_rng(repeat))


def split(
    connection: duckdb.DuckDBPyConnection, run: ProbeRun, correct: list[NDArray[np.int64]], rng: np.random.Generator
) -> Half:
    """Copy half of every item's samples into a run of their own, and read its signals."""
    smaller = rng.random() < 0.5  # of an odd number: the smaller half as often as the larger
    seen = [rng.permutation(len(verdicts)) < (len(verdicts) + (not smaller)) // 2 for verdicts in correct]
    ids = connection.execute(
        "SELECT item_id FROM pool_item WHERE pool_id = ? ORDER BY row, item_id", [run.pool_id]
    ).fetchall()
    chosen = [(item_id, int(i)) for (item_id,), marks in zip(ids, seen, strict=True) for i in np.flatnonzero(marks)]
    connection.register("chosen", pa.table({"item_id": [i for i, _ in chosen], "sample_index": [s for _, s in chosen]}))
    for table in ("completion", "verdict", "text_similarity"):
        connection.execute(f"DELETE FROM {table} WHERE run_id = ?", [HALF])
    for table in ("completion", "verdict"):
        connection.execute(
            f"""INSERT INTO {table} SELECT * REPLACE ('{HALF}' AS run_id, (row_number() OVER (
                    PARTITION BY item_id ORDER BY sample_index) - 1)::INTEGER AS sample_index)
                FROM {table} SEMI JOIN chosen USING (item_id, sample_index) WHERE run_id = ?""",
            [run.run_id],
        )
    connection.unregister("chosen")
    write_similarity(connection, HALF, run.pool_id)
    half = ProbeRun(HALF, run.pool_id, run.model, "", run.engine, {}, run.k, run.verifier, run.verdicts_by)
    signals = run_signals(connection, half, single_pass=False)
    first = run_signals(connection, half, single_pass=True)
    assert signals is not None
    assert first is not None
    agreement = np.asarray(signals.table["agreement"].to_numpy(), dtype=np.float64)
    n = np.array([verdicts[marks].sum() for verdicts, marks in zip(correct, seen, strict=True)])
    held_n = np.array([verdicts[~marks].sum() for verdicts, marks in zip(correct, seen, strict=True)])
    k = np.array([marks.sum() for marks in seen])
    return Half(signals.features, first.features, agreement, n, k, held_n, np.array([len(marks) for marks in seen]) - k)


def quality(place: NDArray[np.float64], truth: NDArray[np.float64], share: float = SHARE) -> float:
    """How far the lowest tenth (or another share) lies from random picks towards the best possible ones."""
    found = pick_quality(place, truth, max(int(len(place) * share), 1))
    return float("nan") if found is None else found


def auroc(place: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    from sklearn.metrics import roc_auc_score

    hard = truth <= HARD
    return float(roc_auc_score(hard, -place)) if 0 < hard.sum() < len(hard) else float("nan")


def spearman(place: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(place, truth).statistic)


def coverage(a: NDArray[np.float64], b: NDArray[np.float64], half: Half, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which items' held-out count has a (randomised) predictive quantile between .05 and .95."""
    from scipy.stats import betabinom

    quantile = betabinom.cdf(half.held_n - 1, half.held_k, a, b)
    quantile += rng.random(len(a)) * betabinom.pmf(half.held_n, half.held_k, a, b)
    inside: NDArray[np.bool_] = (quantile > 0.05) & (quantile < 0.95)
    return inside


def labelled_of(half: Half, rows: NDArray[np.intp]) -> Labelled:
    return Labelled(rows, half.n[rows], half.k[rows], np.arange(len(rows)) % N_FOLDS)


def with_labels(half: Half, n_labels: int, seed: int) -> dict[str, float]:
    """One repetition at one number of labels."""
    rng = np.random.default_rng(1_000 + seed)
    rows = rng.permutation(len(half.n))[: min(n_labels, len(half.n) // 2)]
    cold, truth = cold_score(half.features), half.truth
    calibrated = calibrate(half.features, labelled_of(half, rows))
    p, concentration = typical_p(cold), 1.0
    if calibrated:
        p, concentration = calibrated.p, calibrated.calibration.concentration
    a, b = concentration * p, concentration * (1.0 - p)
    if len(rows):
        prior: Prior = fit_prior(half.n[rows], half.k[rows])
        a[rows], b[rows] = prior.a + half.n[rows], prior.b + half.k[rows] - half.n[rows]
    mean, inside = a / (a + b), coverage(a, b, half, rng)
    place = np.where(np.isin(np.arange(len(cold)), rows), mean, p) if calibrated else cold
    free = np.setdiff1d(np.arange(len(truth)), rows)
    as_predicted = rng.binomial(half.held_k, rng.beta(a, b)) / half.held_k
    return {
        "quality": quality(place, truth),
        "quality_unlabelled": quality(place[free], truth[free]),
        "quality_unlabelled_without_labels": quality(cold[free], truth[free]),
        "auroc": auroc(place, truth),
        "auroc_unlabelled": auroc(place[free], truth[free]),
        "auroc_unlabelled_without_labels": auroc(cold[free], truth[free]),
        "spearman": spearman(place, truth),
        "ece": expected_calibration_error(mean, truth),
        "ece_unlabelled": expected_calibration_error(mean[free], truth[free]),
        "ece_unlabelled_if_perfect": expected_calibration_error(mean[free], as_predicted[free]),
        "coverage": float(inside.mean()),
        "coverage_unlabelled": float(inside[free].mean()),
    }


def baselines(half: Half, seed: int) -> dict[str, dict[str, float]]:
    places = {
        "agreement": half.agreement,
        "single_pass": cold_score(half.of_one_sample),
        "random": np.random.default_rng(seed).random(len(half.n)),
        "ceiling": half.n / half.k,
    }
    return {
        name: {
            "quality": quality(place, half.truth),
            "auroc": auroc(place, half.truth),
            "spearman": spearman(place, half.truth),
        }
        for name, place in places.items()
    }


def in_rounds(half: Half, seed: int, share: float) -> dict[str, float]:
    """Buy a tenth of the items in two rounds, learning from the first, or all at once by the ranking without labels."""
    cold, n_picked = cold_score(half.features), max(int(len(half.n) * share), 1)
    tie = np.random.default_rng(seed).random(len(cold))
    bought = np.zeros(0, dtype=np.intp)
    for target in (math.ceil(n_picked * first_batch(n_picked)), n_picked):
        calibrated = calibrate(half.features, labelled_of(half, bought))
        place = (calibrated.p if calibrated else cold).copy()
        place[bought] = np.inf
        bought = np.concatenate([bought, np.lexsort((tie, place))[: target - len(bought)]])
    at_once = np.lexsort((tie, cold))[:n_picked]
    return {
        "in_rounds": quality(_first(bought, len(cold)), half.truth, share),
        "at_once": quality(_first(at_once, len(cold)), half.truth, share),
        "audit_items": float(default_size(len(half.n), n_picked)),
    }


def _first(bought: NDArray[np.intp], n_items: int) -> NDArray[np.float64]:
    """A ranking in which the bought items are the first."""
    return np.where(np.isin(np.arange(n_items), bought), 0.0, 1.0)


def leave_one_out(files: dict[str, list[Half]]) -> dict[str, dict[str, float]]:
    """For each file, learn the rule's weights on the others, each of which counts the same."""
    from sklearn.linear_model import LogisticRegression

    names, found = list(RULE), {}
    for name, halves in files.items():
        others = [half for other, them in files.items() if other != name for half in them[:5]]
        columns = np.concatenate([half.features.of(names) for half in others])
        truth = np.concatenate([half.truth for half in others])
        weight = np.concatenate([np.full(len(half.n), 1_000 / len(half.n)) for half in others])
        model = LogisticRegression().fit(
            np.concatenate([columns, columns]),
            np.repeat([True, False], len(truth)),
            sample_weight=np.concatenate([weight * truth, weight * (1.0 - truth)]),
        )
        places = [half.features.of(names) @ model.coef_[0] for half in halves]
        found[name] = means(
            [
                {"quality": quality(place, half.truth), "auroc": auroc(place, half.truth)}
                for place, half in zip(places, halves, strict=True)
            ]
        )
    return found


def means(measured: list[dict[str, float]]) -> dict[str, float]:
    return {
        name: round(float(np.nanmean(values)), 4) if np.isfinite(values).any() else float("nan")
        for name in measured[0]
        for values in [np.array([one[name] for one in measured])]
    }


def measure(folder: Path, repeats: int) -> dict[str, Any]:
    files = {path.stem: list(replay(path, repeats)) for path in sorted(folder.glob("*.jsonl"))}
    by_file: dict[str, Any] = {}
    for name, halves in files.items():
        seeded = list(enumerate(halves))
        based = [baselines(half, seed) for seed, half in seeded]
        by_file[name] = {
            "items": len(halves[0].n),
            "labels": {n: means([with_labels(half, n, seed) for seed, half in seeded]) for n in LABELS},
            "baselines": {kind: means([one[kind] for one in based]) for kind in based[0]},
            "rounds": {
                share: means([in_rounds(half, seed, share) for seed, half in seeded]) for share in (SHARE, LARGE_SHARE)
            },
        }
    if len(files) > 1:
        for name, figures in leave_one_out(files).items():
            by_file[name]["leave_one_out"] = figures
    return {"benchmark": "difficulty", "repeats": repeats, "files": by_file, "mean": over_files(list(by_file.values()))}


def over_files(figures: list[Any]) -> Any:
    """The mean over the files of every number, under the same names."""
    if isinstance(figures[0], dict):
        return {name: over_files([one[name] for one in figures]) for name in figures[0]}
    return round(float(np.nanmean(figures)), 4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--repeats", type=int, default=20)
    given = parser.parse_args()
    print(json.dumps(measure(given.data, given.repeats), indent=1))
