"""Which of an item's answers are one answer in other words.

Invariant: the groups follow from the answers and their votes alone, not from the order in which they came.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, groupby

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Answer:
    """One spelling of an answer to an item, and how many annotators gave it."""

    item_id: str
    text: str
    n_votes: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two answers to the same item."""

    left: Answer
    right: Answer


def pairs_of(answers: Sequence[Answer]) -> list[Pair]:
    """Pair every two answers to the same item; `answers` come item by item."""
    items = groupby(answers, key=lambda answer: answer.item_id)
    return [Pair(left, right) for _, group in items for left, right in combinations(list(group), 2)]


def same_answers(answers: Sequence[Answer], equal_pairs: Sequence[Pair]) -> pa.Table:
    """Name for every answer the one it is the same as: item_id, answer, same_as.

    Equality is carried on: a = b and b = c make one group of three. A group goes by its most frequent spelling, of
    equally frequent ones by the first in the alphabet.
    """
    leader = {answer: answer for answer in answers}

    def find(answer: Answer) -> Answer:
        while leader[answer] != answer:
            answer = leader[answer]
        return answer

    for pair in equal_pairs:
        first, second = sorted((find(pair.left), find(pair.right)), key=lambda one: (-one.n_votes, one.text))
        leader[second] = first
    return pa.table(
        {
            "item_id": pa.array([answer.item_id for answer in answers], pa.string()),
            "answer": pa.array([answer.text for answer in answers], pa.string()),
            "same_as": pa.array([find(answer).text for answer in answers], pa.string()),
        }
    )
