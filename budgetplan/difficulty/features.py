"""Label-free signals as the standardised columns that every model of difficulty sees.

Invariant: no column knows an answer, so an item's features do not change when its gold does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

SIGNALS = (
    "agreement",
    "answer_entropy",
    "text_similarity",
    "length",
    "prompt_length",
    "near_agreement",
    "mean_logprob",
    "reference_agreement",
)
"""What an item's samples, its prompt and a reference model say without any answer known."""

_LARGEST = 1e100  # beyond it a number is none, since its square would be infinite
_LEAST_SPREAD = 1e-9  # of the mean where that is above 1: below it, a column is constant but for rounding


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """`values` (n, d): mean 0 and deviation 1 over the items with samples; 0 where an item lacks the number.

    `center` and `spread` (d,) lead from the raw numbers to `values`; `sampled` (n,) marks the items with samples.
    """

    names: tuple[str, ...]
    values: NDArray[np.float64]
    center: NDArray[np.float64]
    spread: NDArray[np.float64]
    sampled: NDArray[np.bool_]

    def of(self, names: Sequence[str]) -> NDArray[np.float64]:
        """The columns of these names, in their order."""
        return self.values[:, [self.names.index(name) for name in names]]


def features_of(signals: pa.Table, near: NDArray[np.int64], components: NDArray[np.floating]) -> Features:
    """Put the signals, the agreement of the nearest prompts and the prompts' TF-IDF components into columns.

    `signals` has one row per item under the names of SIGNALS (lengths in characters as `mean_length`, `prompt_length`;
    `near_agreement` is made here, and a missing column counts as unknown), `near` (n, m) the rows of the most similar
    prompts (-1: none), `components` (n, c).
    """
    raw = {
        "agreement": _numbers(signals, "agreement"),
        "answer_entropy": _numbers(signals, "answer_entropy"),
        "text_similarity": _numbers(signals, "text_similarity"),
        "length": np.log1p(_numbers(signals, "mean_length")),
        "prompt_length": np.log1p(_numbers(signals, "prompt_length")),
        "near_agreement": _mean_of_near(_numbers(signals, "agreement"), near),
        "mean_logprob": _numbers(signals, "mean_logprob"),
        "reference_agreement": _numbers(signals, "reference_agreement"),
    }
    raw |= {f"prompt_component_{place}": column.astype(np.float64) for place, column in enumerate(components.T)}
    sampled = signals["n_samples"].to_numpy() > 0
    values = np.zeros((len(sampled), len(raw)))
    scales = []
    for place, column in enumerate(raw.values()):
        known = sampled & np.isfinite(column)
        scales.append(scale_of(column[known]))
        values[known, place] = scales[-1].standardised(column[known])
    center, spread = np.array(scales).T
    return Features(tuple(raw), values, center, spread, sampled)


class Scale(NamedTuple):
    """What a raw number loses and is divided by to have mean 0 and deviation 1."""

    center: float
    spread: float

    def standardised(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put raw numbers on this scale."""
        return (column - self.center) / self.spread


def scale_of(column: NDArray[np.float64]) -> Scale:
    """Mean and deviation, bitwise the same in any row order; 0 and 1 of no number, deviation 1 of a constant."""
    if not column.size:
        return Scale(0.0, 1.0)
    ordered = np.sort(column)
    center = float(np.clip(ordered.mean(), ordered[0], ordered[-1]))  # of equal numbers: exactly these
    spread = float(np.sqrt(((ordered - center) ** 2).mean()))
    return Scale(center, spread if spread > _LEAST_SPREAD * max(abs(center), 1.0) else 1.0)


def weighted_sum(columns: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add columns (n, d) up by weights (d,); equal rows get bitwise equal sums, which BLAS does not promise."""
    total = np.zeros(len(columns))
    for column, weight in zip(columns.T, weights.tolist(), strict=True):
        total += weight * column
    return total


def _numbers(signals: pa.Table, name: str) -> NDArray[np.float64]:
    """A column's numbers; nan for null, infinite and missing ones."""
    if name not in signals.column_names:
        return np.full(signals.num_rows, np.nan)
    column = np.asarray(signals[name].cast(pa.float64()).fill_null(np.nan))
    return np.where(np.abs(column) < _LARGEST, column, np.nan)


def _mean_of_near(agreement: NDArray[np.float64], near: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean agreement of the nearest prompts that have any; nan for none."""
    if not near.size:
        return np.full(len(agreement), np.nan)
    of_near = np.where(near >= 0, agreement[near], np.nan)
    known = ~np.isnan(of_near)
    total, count = np.where(known, of_near, 0.0).sum(axis=1), known.sum(axis=1)
    mean: NDArray[np.float64] = np.divide(total, count, out=np.full(len(agreement), np.nan), where=count > 0)
    return mean
