import pytest

from budgetplan.verifying.choice import Choice

CHOICE = Choice()


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("(A)", "A"),
        ("A", "A"),
        ("A.", "A"),
        ("**(A) foo**", "A"),
        ("(A) foo", "A"),
        ("B) foo", "B"),
        (r"\boxed{A}", "A"),
        (r"\boxed{(A)}", "A"),
        (r"\boxed{\text{A}}", "A"),
        (r"\boxed{\textbf{(B)}\ 12}", "B"),
        (r"\boxed{B: foo}", "B"),
        (r"\boxed{b}", "B"),
        ("Option A", "A"),
        ("I choose option (D)", "D"),
        ("The answer is (C).", "C"),
        ("So the answer is (b).", "B"),
        ("The answer is B brown ball", "B"),
        ("The correct answer is A because it fits", "A"),
        ("The answer is option C: foo", "C"),
        ("The best option is B.", "B"),
        ("The correct choice is: D", "D"),
        ("Answer: **C) 5 cm**", "C"),
        ("**Answer: B**", "B"),
        ("ANSWER: d", "D"),
        ("The answer is\n\n**B**", "B"),
        ("Therefore, Eve has the **(A) brown present**.", "A"),
        ("So A is correct.", "A"),
        ("It must be C", "C"),
        (r"\boxed{(A)} — no, wait. Final answer: \boxed{(B)}", "B"),
        (r"\boxed{A} and \boxed{C}", "A,C"),
        ("The answer is (B) or (C).", "B,C"),
    ],
)
def test_letters(text, letter):
    found = CHOICE.extract(text)
    assert CHOICE.key(found.text) == letter
    assert [gold for gold in "ABCDE" if CHOICE.equal(found.text, f"({gold})")] == ([letter] if len(letter) == 1 else [])


@pytest.mark.parametrize(
    "text",
    [
        "Bob (B), Claire (K), Dave (Y), Eve (P),",
        "- Bob & Gertrude switch:",
        "A brown ball is what she has at the end of it.",
        "I am not sure",
        "<think>(A)",
    ],
)
def test_no_letter(text):
    assert CHOICE.extract(text) is None


def test_an_article_is_no_option():
    found = CHOICE.extract("The answer is A brown ball.")
    assert not CHOICE.equal(found.text, "A")


@pytest.mark.parametrize("gold", ["(A)", "A", "a", "A.", "(A) foo", "(a)"])
def test_golds(gold):
    assert CHOICE.equal(r"\text{(A)}", gold)
    assert not CHOICE.equal("B", gold)


def test_a_last_line_is_weak_and_a_stated_option_is_explicit():
    assert not CHOICE.extract("so\n(A) foo").explicit
    assert CHOICE.extract("The answer is (A).").explicit
