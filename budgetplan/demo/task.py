"""Owns the task "named moves": what an item says, what its gold answer is, and what the demo model was trained on.

A state is four different letters; a move is a name that stands for one fixed way to put them in another order. An item
is a state and one to three moves drawn uniformly. The model was trained on moves whose frequency falls geometrically,
so it knows the first ones, half knows some and guesses at the rarest; and what it learns about one move helps only the
items that have it. The same seed gives the same texts, and no prompt appears twice in a pool.
"""

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypedDict

Split = Literal["train", "test"]

LETTERS = "abcdef"
STATE_SIZE = 4
MAX_MOVES = 3
FREQUENCY_DECAY = 0.6  # move i is drawn in training with probability proportional to 2 ** (-0.6 i)
TEST_SHARE = 5  # one prompt in five belongs to the test split

MOVES: dict[str, tuple[int, ...]] = {
    "hop": (1, 0, 2, 3),
    "twist": (3, 1, 2, 0),
    "roll": (1, 2, 3, 0),
    "flip": (3, 2, 1, 0),
    "slide": (0, 2, 3, 1),
    "swap": (2, 3, 0, 1),
    "dip": (0, 3, 2, 1),
    "spin": (2, 0, 3, 1),
    "fold": (1, 0, 3, 2),
    "lift": (3, 0, 1, 2),
    "turn": (0, 2, 1, 3),
    "weave": (1, 3, 0, 2),
    "drop": (2, 1, 3, 0),
    "cross": (0, 1, 3, 2),
    "leap": (3, 0, 2, 1),
    "sway": (2, 1, 0, 3),
}
"""Name to order: the letter at place `i` afterwards stood at `order[i]` before. The most frequent move comes first."""


class PoolRow(TypedDict):
    """One line of the demo's pool file."""

    id: str
    prompt: str
    answer: str
    n_moves: int
    split: Split


class TrainingText(NamedTuple):
    """A prompt and what the model should write after it."""

    prompt: str
    completion: str


@dataclass(frozen=True, slots=True)
class Exercise:
    """A state and the moves to make from it."""

    state: str
    moves: tuple[str, ...]

    def states(self) -> list[str]:
        """Return the state after each move."""
        states, state = [], self.state
        for move in self.moves:
            state = "".join(state[place] for place in MOVES[move])
            states.append(state)
        return states

    @property
    def prompt(self) -> str:
        """What the model reads."""
        return f"State: {' '.join(self.state)}\nMoves: {', '.join(self.moves)}"

    @property
    def answer(self) -> str:
        """The gold answer: the letters after the last move."""
        return " ".join(self.states()[-1])

    @property
    def solution(self) -> str:
        """The state after every move, then the answer; it continues the prompt, so it starts with a new line."""
        steps = [f"{move}: {' '.join(state)}" for move, state in zip(self.moves, self.states(), strict=True)]
        return "\n" + "\n".join([*steps, f"#### {self.answer}"])

    @property
    def split(self) -> Split:
        """Follows from the prompt alone: the splits stay disjoint whatever the seeds."""
        return "test" if hashlib.sha256(self.prompt.encode()).digest()[0] % TEST_SHARE == 0 else "train"


def make_pool(n: int = 1000, seed: int = 0, split: Split = "train") -> list[PoolRow]:
    """Draw `n` items with different prompts from one split, moves drawn uniformly."""
    random_state = random.Random(seed)
    rows: dict[str, PoolRow] = {}
    while len(rows) < n:
        exercise = _draw(random_state, [1.0] * len(MOVES))
        if exercise.split == split and exercise.prompt not in rows:
            rows[exercise.prompt] = {
                "id": f"{split}-{len(rows) + 1:04d}",
                "prompt": exercise.prompt,
                "answer": exercise.answer,
                "n_moves": len(exercise.moves),
                "split": split,
            }
    return list(rows.values())


def training_texts(n: int, seed: int = 0) -> Iterator[TrainingText]:
    """Yield `n` solved exercises of both splits, moves drawn with falling frequency; prompts may repeat."""
    random_state = random.Random(seed)
    weights = [2.0 ** (-FREQUENCY_DECAY * place) for place in range(len(MOVES))]
    for _ in range(n):
        exercise = _draw(random_state, weights)
        yield TrainingText(exercise.prompt, exercise.solution)


def _draw(random_state: random.Random, weights: list[float]) -> Exercise:
    state = "".join(random_state.sample(LETTERS, STATE_SIZE))
    n_moves = random_state.randint(1, MAX_MOVES)
    return Exercise(state, tuple(random_state.choices(list(MOVES), weights, k=n_moves)))
