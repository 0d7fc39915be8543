"""What the prompts alone say: how their words place them among the pool's, and which prompts are most like each.

Invariant: features go with the text, not with the row. Everything is computed with the prompts in the order of their
text, so another row order gives the same numbers and neighbours; only among equal prompts does it decide which of them
is named as a neighbour.
"""

import re
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from budgetplan.records import Progress, Silent

N_COMPONENTS = 16
N_NEAR = 10

PROMPT_CHARACTERS = 10_000
"""Only so many characters of a prompt are read."""
EXACT_ITEMS = 5_000
"""Pools up to this size are compared word by word, and every item with every other."""
REFERENCE_ITEMS = 20_000
"""In larger pools, words and axes are learned from so many items, and neighbours are found among them."""

_WORDS = 50_000
_DIMENSIONS = 256
_BLOCK_ITEMS = 1_000
_SEED = 0
_LEAST_SINGULAR = 1e-4  # of the largest: below it, an axis of a float32 matrix is rounding
_LEAST_NORM = 1e-3  # of a text's vector, at most 1 long: below it, its direction is rounding
_LEAST_COSINE = 1e-5  # two texts without a common word come out at up to some 1e-6
# Thai to Tibetan, Burmese, Khmer, kana, Han: written without blanks.
_UNSPACED = "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u312f\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
"""A run of letters and digits, single ones included (`x`, `5`); in scripts without blanks, every character."""


@dataclass(frozen=True, slots=True, eq=False)
class PromptFeatures:
    """One row per prompt.

    `components` (n, c): TF-IDF reduced by a truncated SVD, not centred, most important axis first; c is N_COMPONENTS,
    or less where the pool has fewer independent directions, 0 where it has no word. `near` (n, N_NEAR): rows of the
    most similar other prompts, most similar first, then -1. A prompt with no known word has zeros and no neighbour.
    """

    components: NDArray[np.float32]
    near: NDArray[np.int64]


def prompt_features(prompts: pa.StringArray | pa.ChunkedArray, progress: Progress | None = None) -> PromptFeatures:
    """Place every prompt of a pool by its words, and find the N_NEAR others most like it.

    Words weigh by TF-IDF with 1 + log tf; of each prompt the first PROMPT_CHARACTERS characters are read, and of the
    words the 50,000 most frequent are kept. Up to EXACT_ITEMS items, similarity is the cosine of the TF-IDF rows over
    the whole pool. Above, words and axes are learned from REFERENCE_ITEMS items drawn with a fixed seed, similarity is
    the cosine in 256 SVD dimensions, and only drawn items are neighbours, so that time grows linearly. A prompt is no
    neighbour of its own, nor, where all are compared, of one that shares no word with it.
    """
    texts = pc.utf8_slice_codeunits(pc.cast(prompts, pa.large_string()), 0, PROMPT_CHARACTERS)
    order = pc.sort_indices(texts).to_numpy().astype(np.int64)
    texts = texts.take(pa.array(order))
    progress = progress or Silent()
    progress.start("prompt features", len(texts))
    ordered = _features_in_order(texts, progress)
    progress.finish()
    components, near = np.empty_like(ordered.components), np.empty_like(ordered.near)
    components[order] = ordered.components
    near[order] = np.where(ordered.near < 0, -1, order[ordered.near])
    return PromptFeatures(components, near)


def _features_in_order(texts: Any, progress: Progress) -> PromptFeatures:
    near = np.full((len(texts), N_NEAR), -1, np.int64)
    space = _Space.of(texts)
    if space is None:
        return PromptFeatures(np.zeros((len(texts), 0), np.float32), near)
    components = np.empty((len(texts), min(N_COMPONENTS, space.axes.shape[1])), np.float32)
    for start in range(0, len(texts), _BLOCK_ITEMS):
        rows = np.arange(start, min(start + _BLOCK_ITEMS, len(texts)))
        weights = space.vectorizer.transform(texts.slice(start, len(rows)).to_pylist())
        reduced = weights @ space.axes
        components[rows] = reduced[:, : components.shape[1]]
        near[rows] = space.nearest(weights if space.exact else _unit(reduced), rows)
        progress.advance(len(rows))
    return PromptFeatures(components, near)


@dataclass(frozen=True, slots=True, eq=False)
class _Space:
    """The words of a pool, its main axes (words, dimensions), and an index of the rows that may be neighbours."""

    vectorizer: Any
    axes: NDArray[np.float32]
    exact: bool
    index: Any
    rows: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Any) -> Self | None:
        """Learn it from all texts, or a random part of many; None where no word is in them."""
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.neighbors import NearestNeighbors

        exact = len(texts) <= EXACT_ITEMS
        rows = _reference_rows(len(texts), exact=exact)
        read = texts.take(pa.array(rows)).to_pylist()
        if not any(map(_WORD.search, read)):
            return None
        vectorizer = TfidfVectorizer(
            sublinear_tf=True, max_features=_WORDS, token_pattern=_WORD.pattern, dtype=np.float32
        )
        weights = vectorizer.fit_transform(read)
        axes = _main_axes(weights, N_COMPONENTS if exact else _DIMENSIONS)
        vectors = weights if exact else _unit(weights @ axes)
        placed = _norms(vectors) > 0
        index = NearestNeighbors(n_neighbors=min(N_NEAR + 1, int(placed.sum())), algorithm="brute")
        return cls(vectorizer, axes, exact, index.fit(vectors[placed]), rows[placed])

    def nearest(self, vectors: Any, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Find the neighbours of some rows: (len(rows), N_NEAR), -1 where there are fewer.

        `vectors` are their TF-IDF rows where the space is exact, else their unit vectors along the axes.
        """
        near = np.full((len(rows), N_NEAR + 1), -1, np.int64)
        placed = np.flatnonzero(_norms(vectors) > 0)
        if len(placed):
            distance, place = self.index.kneighbors(vectors[placed])
            found = self.rows[place]
            other = (found != rows[placed, None]) & (distance**2 < 2 * (1 - _LEAST_COSINE))  # |u - v|² = 2 - 2 cos
            first = np.argsort(~other, axis=1, kind="stable")
            near[placed, : found.shape[1]] = np.take_along_axis(np.where(other, found, -1), first, axis=1)
        return near[:, :N_NEAR]


def _reference_rows(n: int, *, exact: bool) -> NDArray[np.int64]:
    if exact or n <= REFERENCE_ITEMS:
        return np.arange(n)
    return np.sort(np.random.default_rng(_SEED).choice(n, REFERENCE_ITEMS, replace=False))


def _main_axes(weights: Any, dimensions: int) -> NDArray[np.float32]:
    """The right singular vectors (words, d) of the largest singular values; d is less where the rank is.

    Of `TruncatedSVD` this is the part that does not divide by the variance, which is 0 where all prompts are equal.
    """
    from sklearn.utils.extmath import randomized_svd

    _, singular, axes = randomized_svd(weights, min(dimensions, *weights.shape), random_state=_SEED)
    kept: NDArray[np.float32] = axes[singular > _LEAST_SINGULAR * singular[0]].T
    return np.ascontiguousarray(kept, np.float32)


def _norms(vectors: Any) -> NDArray[np.floating]:
    from sklearn.utils.extmath import row_norms

    norms: NDArray[np.floating] = row_norms(vectors)
    return norms


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of length 1; zeros where there is nothing to scale."""
    norms = _norms(vectors)[:, None]
    return np.where(norms > _LEAST_NORM, vectors / np.maximum(norms, _LEAST_NORM), 0).astype(np.float32)
