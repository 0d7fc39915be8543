"""Pools of signals whose p is known: agreement and entropy follow it as the cold start expects, the rest is noise."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import expit

from budgetplan.difficulty.calibration import N_FOLDS, Labelled
from budgetplan.difficulty.cold_start import cold_score
from budgetplan.difficulty.features import Features, features_of

NO_NEAR = np.zeros((0, 0), dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Simulated:
    """Raw signals and TF-IDF components, the features made of them, the true p and the counts of `k` samples."""

    signals: pa.Table
    components: NDArray[np.float64]
    features: Features
    p: NDArray[np.float64]
    n_correct: NDArray[np.int64]
    k: int

    def judged(self, n: int, *, seed: int = 0) -> Labelled:
        """`n` items drawn at random."""
        rows = np.random.default_rng(seed).permutation(len(self.p))[:n]
        return Labelled(rows, self.n_correct[rows], np.full(len(rows), self.k), np.arange(len(rows)) % N_FOLDS)

    def unjudged(self, labelled: Labelled) -> NDArray[np.intp]:
        """The rows of all other items."""
        return np.setdiff1d(np.arange(len(self.p)), labelled.rows)


def simulate(
    seed: int, n: int = 400, k: int = 8, *, slope: float = 1.1, beyond: float = 0.0, concentration: float = 3.0
) -> Simulated:
    """Make p follow the cold start's score by `slope`, and the standardised log length by `beyond` more (in logits)."""
    rng = np.random.default_rng(seed)
    agreement = rng.uniform(0.1, 1.0, n)
    signals = pa.table(
        {
            "n_samples": np.full(n, k),
            "agreement": agreement,
            "answer_entropy": 2.0 * (1.0 - agreement) + rng.normal(0.0, 0.2, n),
            "text_similarity": rng.uniform(0.0, 1.0, n),
            "mean_length": np.exp(rng.normal(5.0, 1.0, n)),
            "prompt_length": np.exp(rng.normal(4.0, 0.5, n)),
            "mean_logprob": rng.normal(-1.0, 0.3, n),
        }
    )
    components = rng.normal(0.0, 0.1, (n, 4))
    features = features_of(signals, NO_NEAR, components)
    mean = expit(0.2 + slope * cold_score(features) + beyond * features.of(["length"])[:, 0])
    p = rng.beta(concentration * mean, concentration * (1.0 - mean))
    return Simulated(signals, components, features, p, rng.binomial(k, p), k)
