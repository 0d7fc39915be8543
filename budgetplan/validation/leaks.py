"""Which test prompts are training prompts too: word for word, or as the same question written a little differently.

Invariant: two prompts with other numbers or other words are two items, and so are two with the same short pieces in
another order, however alike they look; items of one template are no leaks of each other. Order matters to a template
and not to a story, and the two are told apart by how common their pieces are: for two items of a template to agree by
chance, their pieces must be common.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from budgetplan.records import canonical_text
from budgetplan.validation.wording import Clause, Wording, same_question, spelling

MOST_TEXTS = 5
"""A word, or three in a row, are rare where this many texts have them at most, or one text in a thousand."""
FRAMED = 0.95
"""What so many prompts begin or end with is their frame, not their question."""
_LEAST_FRAMED = 10  # of fewer texts, what all of them share may be what they ask
_BATCH_TEXTS = 500
_HASHES = 2**22
_SLIPS, _WORDS_PER_SLIP = 2, 25
_ALMOST = 0.999


@dataclass(frozen=True, slots=True)
class Leak:
    """A test prompt and a training prompt that are one question, by their places; similarity 1.0: the same text."""

    test_place: int
    train_place: int
    similarity: float


def leaks(test: Sequence[str], train: Sequence[str], *, threshold: float = 0.7) -> list[Leak]:
    """Find all such pairs, in the order of the test prompts.

    The same text: equal up to Unicode form, case and white space. A near duplicate differs in punctuation or spacing
    only; or in a few typing errors, in clauses that stand elsewhere or that one of the two has besides (see
    `wording.same_question`), as long as its words are similar: the cosine of their TF-IDF is `threshold` or more.
    """
    if not len(test) or not len(train):
        return []
    texts = [*test, *train]
    wordings = _unframed(list(map(Wording.of, texts)), len(test))
    folded = [" ".join(canonical_text(text).casefold().split()) for text in texts]
    exact = _joined(_codes(folded), len(test))
    spelt = [spelling(wording) or text for wording, text in zip(wordings, folded, strict=True)]
    alike = _without(_joined(_codes(spelt), len(test)), exact)
    known = np.concatenate([exact, alike])
    near, similarity = _near(wordings, len(test), threshold, known)
    found = np.concatenate([exact, alike, near])
    closeness = np.concatenate([np.ones(len(exact)), np.full(len(alike), _ALMOST), similarity])
    order = np.lexsort((found[:, 1], found[:, 0]))
    places = zip(found[order].tolist(), closeness[order].tolist(), strict=True)
    return [Leak(test_place, train_place, similar) for (test_place, train_place), similar in places]


def _unframed(wordings: list[Wording], n_test: int) -> list[Wording]:
    """Leave out the clauses that nearly all test or nearly all training prompts begin or end with (`Question:`)."""
    sides = (wordings[:n_test], wordings[n_test:])
    opening = {clause for side in sides for clause in _frame([wording.clauses for wording in side])}
    closing = {clause for side in sides for clause in _frame([wording.clauses[::-1] for wording in side])}
    return [wording.unframed(opening, closing) for wording in wordings]


def _frame(texts: list[tuple[Clause, ...]]) -> list[Clause]:
    """Return the first clause, the second behind it, and so on, as long as FRAMED of all texts have them."""
    frame: list[Clause] = []
    n_texts = len(texts)
    while True:
        texts = [clauses for clauses in texts if len(clauses) > len(frame) + 1]
        found = Counter(clauses[len(frame)] for clauses in texts).most_common(1)
        if n_texts < _LEAST_FRAMED or not found or found[0][1] < FRAMED * n_texts:
            return frame
        texts = [clauses for clauses in texts if clauses[len(frame)] == found[0][0]]
        frame.append(found[0][0])


def _codes(keys: list[str]) -> NDArray[np.int64]:
    """Number the different keys."""
    codes: NDArray[np.int64] = pa.array(keys, pa.large_string()).dictionary_encode().indices.to_numpy().astype(np.int64)
    return codes


def _joined(codes: NDArray[np.int64], n_test: int) -> NDArray[np.int64]:
    """All pairs (test place, train place) with equal codes."""
    test, train = codes[:n_test], codes[n_test:]
    order = np.argsort(train, kind="stable")
    first = np.searchsorted(train[order], test, "left")
    count = np.searchsorted(train[order], test, "right") - first
    test_place = np.repeat(np.arange(n_test), count)
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    pairs: NDArray[np.int64] = np.stack([test_place, order[np.repeat(first, count) + within]], axis=1)
    return pairs


def _without(pairs: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.int64]:
    """Leave out the pairs that are among the others."""
    width = int(max(pairs[:, 1].max(initial=0), others[:, 1].max(initial=0))) + 1
    kept: NDArray[np.int64] = pairs[~np.isin(pairs @ np.array([width, 1]), others @ np.array([width, 1]))]
    return kept


def _near(
    wordings: list[Wording], n_test: int, threshold: float, known: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the pairs that are not `known`, and their similarity."""
    if not any(wording.clauses for wording in wordings):
        return np.zeros((0, 2), np.int64), np.zeros(0)
    pairs, similarities = [np.zeros((0, 2), np.int64)], [np.zeros(0)]
    corpus = _Corpus.of(wordings, n_test)
    for start in range(0, n_test, _BATCH_TEXTS):
        candidates = _without(corpus.candidates(start, min(start + _BATCH_TEXTS, n_test)), known)
        similarity = corpus.similarity(candidates)
        fits = np.flatnonzero(corpus.words_fit(candidates) & (similarity >= threshold))
        same = [
            place
            for place, (a, b) in zip(fits.tolist(), candidates[fits].tolist(), strict=True)
            if same_question(wordings[a], wordings[n_test + b], corpus.is_seldom, corpus.is_rare)
        ]
        pairs.append(candidates[same])
        similarities.append(np.minimum(similarity[same], _ALMOST))
    return np.concatenate(pairs), np.concatenate(similarities)


@dataclass(frozen=True, slots=True, eq=False)
class _Corpus:
    """All texts as sparse rows, test first: their words, the same weighted, and their rare threes of words in a row."""

    n_test: int
    words: Any  # counts (texts, words)
    weights: Any  # TF-IDF rows of length 1
    rare: Any  # (texts, hashes), 0 or 1, of the rare threes only
    is_number: NDArray[np.bool_]
    most: int
    n_texts_of_three: NDArray[np.int64]
    n_texts_of_word: dict[str, int]
    hasher: Any

    @classmethod
    def of(cls, wordings: list[Wording], n_test: int) -> Self:
        """Count words and threes over all texts."""
        from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer

        counter = CountVectorizer(analyzer=Wording.words)
        words = counter.fit_transform(wordings)
        hasher = HashingVectorizer(
            analyzer=Wording.threes, n_features=_HASHES, binary=True, norm=None, alternate_sign=False, dtype=np.float32
        )
        threes = hasher.transform(wordings)
        of_three = np.bincount(threes.indices, minlength=_HASHES)
        most = max(MOST_TEXTS, len(wordings) // 1_000)
        threes.data[of_three[threes.indices] > most] = 0
        threes.eliminate_zeros()
        vocabulary = counter.vocabulary_
        of_word = np.bincount(words.indices, minlength=words.shape[1]).tolist()
        is_number = np.zeros(words.shape[1], np.bool_)
        is_number[[place for word, place in vocabulary.items() if word[0].isdigit()]] = True
        n_texts = {word: of_word[place] for word, place in vocabulary.items()}
        weights = TfidfTransformer().fit_transform(words)
        return cls(n_test, words.astype(np.int32), weights, threes, is_number, most, of_three, n_texts, hasher)

    def candidates(self, start: int, stop: int) -> NDArray[np.int64]:
        """Pair the tests from `start` to `stop` with the training texts that share a rare three."""
        shared = (self.rare[start:stop] @ self.rare[self.n_test :].T).tocoo()
        return np.stack([shared.row.astype(np.int64) + start, shared.col.astype(np.int64)], axis=1)

    def words_fit(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Ask for the same numbers equally often, and for words of its own, but for slips, in one text at most."""
        test, train = self.words[pairs[:, 0]], self.words[self.n_test + pairs[:, 1]]
        difference = test - train
        only_test = np.asarray(difference.maximum(0).sum(axis=1)).ravel()
        only_train = only_test - np.asarray(difference.sum(axis=1)).ravel()
        same_numbers = np.asarray(abs(difference[:, self.is_number]).sum(axis=1)).ravel() == 0
        most = _SLIPS + np.asarray((test + train).sum(axis=1)).ravel() // (2 * _WORDS_PER_SLIP)
        fits: NDArray[np.bool_] = same_numbers & (np.minimum(only_test, only_train) <= most)
        return fits

    def similarity(self, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Cosine of the TF-IDF rows of every pair."""
        product = self.weights[pairs[:, 0]].multiply(self.weights[self.n_test + pairs[:, 1]])
        return np.asarray(product.sum(axis=1), np.float64).ravel()

    def is_seldom(self, word: str) -> bool:
        """Whether few texts have this spelling."""
        return self.n_texts_of_word[word] <= self.most

    def is_rare(self, clause: Sequence[str]) -> bool:
        """Whether the clause holds three words in a row that few texts have."""
        threes = self.hasher.transform([Wording((tuple(clause),))])
        return bool((self.n_texts_of_three[threes.indices] <= self.most).any())
