import pytest

from budgetplan.verifying.sequence import Sequence, is_sequence, names_positions

SEQUENCE = Sequence()
NAMED = "Alice: ball, Bob: book, Claire: red present"


def verdict(text: str, gold: str) -> bool:
    found = SEQUENCE.extract(text)
    return found is not None and SEQUENCE.equal(found.text, gold)


@pytest.mark.parametrize(
    "text",
    [
        "Final answer: Alice: ball, Bob: book, Claire: red present.",
        "So\n\nFinal answer:\n- Alice: the ball\n- Bob: the book\n- Claire: the red present\n",
        r"\boxed{\text{Bob: book, Alice: ball, Claire: red present}}",
        r"\boxed{Alice \to ball, Bob \to book, Claire \to red present}",
        "The answer is: Alice has the ball, Bob has the book, and Claire has the red present. Good.",
        "**Final positions:**\nAlice: ball\nBob: book\nClaire: red present",
        '{"Bob": "book", "Alice": "ball", "Claire": "red present"}',
        "ball, book, red present",
        "1. ball\n2. book\n3. red present",
        "Answer: 1. ball 2. book 3. red present",
        'Answer: ["ball", "book", "red present"]',
    ],
)
def test_all_positions_match(text):
    assert verdict(text, NAMED)


@pytest.mark.parametrize(
    "text",
    [
        "Final answer: Alice: book, Bob: ball, Claire: red present.",
        "Final answer: Alice: ball, Bob: book, Dave: red present.",
        "Final answer: Alice: ball, Bob: book.",
        "Answer: book, ball, red present",
        "Answer: ball",
        "I do not know.",
    ],
)
def test_one_wrong_position_is_wrong(text):
    assert not verdict(text, NAMED)


def test_order_counts_where_there_are_no_names():
    assert verdict("Answer: a, b, c", "a, b, c")
    assert verdict("Answer: [3, 1, 2]", "[3, 1, 2]")
    assert not verdict("Answer: a, c, b", "a, b, c")


def test_key_is_one_per_answer():
    same = ["Alice: ball, Bob: book", "- Bob: the book\n- Alice: the ball", '{"Alice": "Ball", "Bob": "book"}']
    assert len({SEQUENCE.key(text) for text in same}) == 1


def test_one_answer_is_no_sequence():
    assert not is_sequence("parkinson's disease")
    assert not is_sequence("05/01/2021")
    assert is_sequence("a, b, c")
    assert names_positions(NAMED)
    assert names_positions('["a", "b"]')
    assert not names_positions("a, b, c")
