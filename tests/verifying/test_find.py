import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetplan.verifying import find


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"so \boxed{18}", ["18"]),
        (r"\boxed{\dfrac{3}{4}}", [r"\dfrac{3}{4}"]),
        (r"\boxed{\left\{1, \frac{2}{3}\right\}}", [r"\left\{1, \frac{2}{3}\right\}"]),
        (r"\boxed{1}. No, wait: \boxed{2}", ["2"]),
        (r"$\boxed{1}$ and $\boxed{2}$", ["1", "2"]),
        (r"\boxed{3}, \boxed{4} or \boxed{5}", ["3", "4", "5"]),
        (r"\fbox{7}", ["7"]),
        (r"\boxed {8}", ["8"]),
        (r"\boxed 9", ["9"]),
        (r"\boxed{5} and then \boxed{\frac{1", ["5"]),
        (r"\boxed{}", []),
        (r"\boxed{never closed", []),
        ("no box", []),
    ],
)
def test_boxes(text, expected):
    assert find.boxes(text) == expected


@given(st.recursive(st.text("ab1 ,", min_size=1), lambda inner: inner.map(lambda text: f"{{{text}}}"), max_leaves=3))
def test_any_balanced_content_of_a_box_is_found(content):
    expected = content.strip()
    assert find.boxes(rf"first \boxed{{no}}, then \boxed{{{content}}} ends") == ([expected] if expected else ["no"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("work\n#### 72", "72"),
        ("work\n#### $1,200\n", "$1,200"),
        ("#### 18\nsecond thoughts\n#### 20", "20"),
        ("#### blue", "blue"),
        ("#### Step 1: Find the price\nIt is 5.", None),
        ("#### 1. Find the price\nIt is 5.", None),
        ("no marker", None),
    ],
)
def test_hashed(text, expected):
    assert find.hashed(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("So the answer is 18.", "18"),
        ("The answer is (C).", "(C)"),
        ("the answer is: $\\frac12$", "$\\frac12$"),
        ("**Answer: B**", "B"),
        ("**Answer:** B", "B"),
        ("Answer = 5", "5"),
        ("ANSWER: 3/4", "3/4"),
        ("Ans: 7", "7"),
        ("### Answer\n42", "42"),
        ("**Final Answer**\n\n42\n", "42"),
        ("the correct answer would be 'a'.", "a"),
        ("The answer to the question is no.", "no"),
        ("The answer (in cm) is 5.", "5"),
        ("The answer is therefore 5 apples. So we are done.", "5 apples"),
        ("The answer is **yes**, because it is.", "**yes**, because it is"),
        ("The answer is Mr. Smith.", "Mr. Smith"),
        ("The answer is 3.5 in all.", "3.5 in all"),
        ("The answer is:\n\\[\n\\frac{3}{4}\n\\]\n", "\\frac{3}{4}"),
        ("The answer is:\n\n$$x = 2$$", "x = 2"),
        ("Final Answer: The final answer is $2$. I hope it is correct.", "$2$"),
        ("Answer: 4. Wait.\nThe answer is 5.", "5"),
        ("Answer:\n\nB) foo\n\nExplanation:\n1. x\n2. y\n3. z\n", "B) foo"),
        ("A: 05/01/2021\n", "05/01/2021"),
        ("A: She has 16 eggs a day. She sells 9. The answer is 18.", "18"),
    ],
)
def test_the_last_statement_is_found(text, expected):
    assert next(find.statements(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "It is 18.",
        "Answer: Janet has 16 eggs a day in all. She sells 9 of them.\nSo 18.",
        "A: Janet has 16 eggs a day in all. She sells 9 of them.",
        "She answered the phone.",
        "the answer is",
    ],
)
def test_a_heading_before_the_working_is_no_statement(text):
    assert list(find.statements(text)) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  **B**. ", "B"),
        ('"yajo".', "yajo"),
        ("'nkn'h", "'nkn'h"),
        ("`x`;", "x"),
        ("**", ""),
        ("B**", "B"),
        ("2**3", "2**3"),
    ],
)
def test_bare(text, expected):
    assert find.bare(text) == expected


def test_known_answer_is_taken_out_of_its_working():
    assert find.known_answer("She sells 9 * 8 = 72.\n#### 72") == "72"
    assert find.known_answer(r"We get $\boxed{\frac{1}{2}}$.") == r"\frac{1}{2}"
    assert find.known_answer(" 72 ") == "72"


@given(st.text(max_size=300))
def test_any_text_can_be_searched(text):
    marked = text + " The answer is " + text + "\n#### " + text + r"\boxed{" + text
    find.boxes(marked), find.hashed(marked), list(find.statements(marked)), find.last_line(marked)
    assert find.first_answer_end(marked) is not None or "answer" not in marked
