import re
from collections import Counter
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from budgetplan.demo.task import MOVES, Exercise, make_pool, training_texts

exercises = st.builds(
    Exercise,
    st.permutations("abcdef").map(lambda letters: "".join(letters[:4])),
    st.lists(st.sampled_from(sorted(MOVES)), min_size=1, max_size=3).map(tuple),
)


def matrix_of(move: str) -> list[list[int]]:
    return [[int(place == source) for place in range(4)] for source in MOVES[move]]


def solve_by_matrices(prompt: str) -> str:
    """Read the prompt as text and multiply permutation matrices: another way to the answer than the task's own."""
    state_line, moves_line = prompt.split("\n")
    state, moves = re.findall(r"\b[a-z]\b", state_line), re.findall(r"[a-z]{3,}", moves_line.removeprefix("Moves"))
    numbers = list(range(4))
    for move in moves:
        numbers = [sum(weight * number for weight, number in zip(row, numbers, strict=True)) for row in matrix_of(move)]
    return " ".join(state[number] for number in numbers)


def test_there_are_sixteen_different_moves_and_none_leaves_the_state_as_it_was():
    assert len(MOVES) == len(set(MOVES.values())) == 16
    assert all(sorted(order) == [0, 1, 2, 3] != list(order) for order in MOVES.values())


def test_a_known_item():
    exercise = Exercise("bafd", ("hop", "roll"))
    assert exercise.prompt == "State: b a f d\nMoves: hop, roll"
    assert exercise.solution == "\nhop: a b f d\nroll: b f d a\n#### b f d a"
    assert exercise.answer == "b f d a"


@given(exercises)
def test_the_answer_follows_from_the_prompt_alone(exercise: Exercise):
    assert exercise.answer == solve_by_matrices(exercise.prompt)
    assert exercise.solution.endswith(f"\n#### {exercise.answer}")
    assert exercise.solution.count("\n") == len(exercise.moves) + 1


def test_the_pool_has_the_asked_number_of_different_prompts_with_right_answers():
    pool = make_pool()
    assert len(pool) == len({row["prompt"] for row in pool}) == len({row["id"] for row in pool}) == 1000
    assert all(row["answer"] == solve_by_matrices(row["prompt"]) for row in pool)
    assert all(row["prompt"] == row["prompt"].strip() for row in pool)
    assert {row["split"] for row in pool} == {"train"}


def test_moves_and_their_number_are_drawn_uniformly():
    pool = make_pool(3000)
    numbers = Counter(row["n_moves"] for row in pool)
    moves = Counter(move for row in pool for move in row["prompt"].split("Moves: ")[1].split(", "))
    assert set(numbers) == {1, 2, 3} and min(numbers.values()) > 0.8 * max(numbers.values())
    assert set(moves) == set(MOVES) and min(moves.values()) > 0.7 * max(moves.values())


def test_the_same_seed_gives_the_same_pool_and_a_longer_one_starts_with_it():
    assert make_pool(200, seed=7) == make_pool(300, seed=7)[:200]
    assert make_pool(200, seed=7) != make_pool(200, seed=8)


@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_no_item_is_in_both_splits_whatever_the_seeds(seed: int, other_seed: int):
    train, test = make_pool(20, seed, "train"), make_pool(20, other_seed, "test")
    assert {row["prompt"] for row in train}.isdisjoint(row["prompt"] for row in test)
    assert {row["id"] for row in train}.isdisjoint(row["id"] for row in test)


def test_training_texts_are_right_and_their_moves_grow_rare():
    texts = list(training_texts(5000, seed=3))
    assert list(islice(training_texts(10_000, seed=3), 5000)) == texts
    assert all(text.completion.endswith(f"\n#### {solve_by_matrices(text.prompt)}") for text in texts)
    seen = Counter(move for text in texts for move in text.prompt.split("Moves: ")[1].split(", "))
    first, fifth, tenth = (seen[list(MOVES)[place]] for place in (0, 4, 9))
    assert first / fifth > 3 and fifth / tenth > 3
