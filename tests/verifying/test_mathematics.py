import logging

import pytest

from budgetplan.verifying.find import Found
from budgetplan.verifying.mathematics import Mathematics, is_expression

MATH = Mathematics()


def verdict(text: str, gold: str) -> bool | None:
    found = MATH.extract(text)
    return None if found is None else MATH.equal(found.text, gold)


@pytest.mark.parametrize(
    ("text", "gold"),
    [
        (r"\boxed{\dfrac{3}{4}}", r"\frac{3}{4}"),
        (r"\boxed{\dfrac{3}{4}}", "0.75"),
        (r"the answer is: $\frac12$", "0.5"),
        ("Total\n= 1,234.50", "1234.5"),
        ("The answer is 5%", "0.05"),
        ("The answer is -3.", "-3"),
        ("x = 5", "5"),
        (r"\boxed{x=5}", "5"),
        (r"\boxed{5}", "x = 5"),
        (r"\boxed{10^{3}}", "1000"),
        ("The answer is 45 1/3.", "136/3"),
        ("#### 18", "She sells 9 * 2 = 18\n#### 18"),
        (r"\boxed{18 \text{ dollars}}", "18"),
        ("The answer is $\\$18$.", "18"),
        ("The answer is $18 because 9 * 2 = 18.", "18"),
        ("Final Answer: 14 + 28 + 8 = 50", "50"),
        ("Final Answer: She saves $15 if she hires the accountant.", "15"),
        ("Final Answer: 540 seconds (9 minutes)", "540"),
        ("Final Answer: Both 230", "230"),
        ("The answer is 18\n\nQ: 2 + 2?\nA: The answer is 4", "18"),
        (r"Thus we have $x = \frac{7}{3}$.", "7/3"),
        (r"The area is $16\pi$ square units.", r"16\pi"),
        (r"The answer is $16\pi$ square units.", r"16\pi"),
        (r"\boxed{\text{Evelyn}}", "Evelyn"),
        (r"\boxed{\text{no solution}}", r"\text{No solution}"),
        (r"\boxed{(3,4)}", "(3, 4)"),
        (r"\boxed{\left[0,\infty\right)}", r"[0, \infty)"),
        (r"\boxed{(-\infty,2)\cup(3,5)}", r"(-\infty, 2) \cup (3, 5)"),
        (r"\boxed{\{3, 1, 2\}}", r"\{1,2,3\}"),
        (r"The answer is $x=3$ or $x=5$.", "3,5"),
        (r"\boxed{3} and \boxed{5}", "5, 3"),
        (r"\boxed{2x+1}", "1+2x"),
        (r"\boxed{x^2+2x+1}", "(x+1)^2"),
        (r"\boxed{\sqrt{12}}", r"2\sqrt{3}"),
        (r"\boxed{\frac{\pi}{2}}", r"\pi/2"),
        (r"\boxed{3+4i}", "4i+3"),
        (r"\boxed{\begin{pmatrix}1\\2\end{pmatrix}}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"),
        (r"\boxed{52_8}", "52_{8}"),
        ("The answer is 3:30 PM.", "3:30 p.m."),
        (r"\boxed{3:30 \text{ p.m.}}", "3:30 PM"),
        (r"<think>\boxed{3}</think> \boxed{4}", "4"),
    ],
)
def test_right_answers(text, gold):
    assert verdict(text, gold) is True


@pytest.mark.parametrize(
    ("text", "gold"),
    [
        ("The answer is 17.", "18"),
        ("The answer is 1/3 hours.", "3"),
        (r"\boxed{\frac{3}{5}}", r"\frac{3}{4}"),
        (r"\boxed{(4,3)}", "(3,4)"),
        (r"\boxed{[0,1)}", "[0,1]"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2, 3\}"),
        (r"\boxed{5}", r"\{5, 6\}"),
        (r"\boxed{2\sqrt{3}}", r"3\sqrt{2}"),
        (r"\boxed{x+1}", "x+2"),
        (r"\boxed{y=5}", "x=5"),
        (r"\boxed{\text{odd}}", "even"),
        (r"\boxed{5x}", "5"),
        ("The answer is undefined.", "5"),
        ("The answer is 3:30 pm.", "11:30 a.m."),
    ],
)
def test_wrong_answers(text, gold):
    assert verdict(text, gold) is False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("So we get 3 and then 18 in all", Found("18", explicit=False)),
        ("The total is 3 + 4 = 7 dollars.", Found("7 dollars", explicit=False)),
        ("Toby walks 3 miles.\nFinal Answer: Toby will be at the airport right on time.", None),
        ("<think>The answer is 3", None),
        ("nothing here", None),
    ],
)
def test_last_numbers_are_weak_and_wordy_answers_are_none(text, expected):
    assert MATH.extract(text) == expected


def test_plain_numbers_are_decided_without_math_verify():
    assert MATH.decide("$1,234.50", "1234.5") is True
    assert MATH.decide("17", "18") is False
    assert MATH.decide(r"\frac{3}{4}", "0.8") is False
    assert MATH.decide(r"[0, \infty)", r"(0, \infty)") is False
    assert MATH.decide(r"\sqrt{12}", r"2\sqrt{3}") is None


@pytest.mark.parametrize(
    "same",
    [
        ["1/2", "0.5", r"\frac{1}{2}", r"\dfrac12", r"x = \frac{1}{2}", "$0.50"],
        ["18", "$18.00", "18 dollars", r"18 \text{ dollars}", "18."],
        [r"\{1,2\}", r"\left\{2, 1\right\}"],
        [r"2\sqrt{3}", r"2\sqrt3", r"2 \sqrt{3}"],
        [r"[0,\infty)", r"\left[0, \infty\right)"],
        [r"\text{Evelyn}", "evelyn"],
        [r"x \le 3", r"x\leq3"],
    ],
)
def test_equal_answers_in_other_words_have_one_key(same):
    assert len({MATH.key(answer) for answer in same}) == 1


def test_different_answers_have_different_keys():
    answers = [
        "1/2",
        "-1/2",
        "2",
        "(1,2)",
        "[1,2]",
        r"\{1,2\}",
        "(2,1)",
        "x",
        "y",
        r"\sqrt{2}",
        "5x",
        "a=1, b=2",
        "1, 2",
    ]
    assert len({MATH.key(answer) for answer in answers}) == len(answers)


def test_a_known_answer_that_cannot_be_read_is_an_error_and_not_a_wrong_answer():
    unreadable = r"\begin{cases} x"
    assert MATH.equal(unreadable, unreadable)
    with pytest.raises(ValueError, match="cannot read the known answer"):
        MATH.equal(r"\sqrt{2}", unreadable)


def test_version_names_math_verify():
    assert "math-verify-0." in MATH.version


def test_nothing_is_logged(caplog):
    with caplog.at_level(logging.DEBUG):
        assert not MATH.equal(r"\frac{1}{", r"\sqrt{2}")
    assert not caplog.records


@pytest.mark.parametrize("gold", ["72", r"\frac{1}{2}", "x^2+1", "[0, 1]", "10%", "-1", "f(x)=2x", "2x"])
def test_expressions(gold):
    assert is_expression(gold)


@pytest.mark.parametrize("gold", ["05/01/2021", "yes", "Paris", "H2O", "x", "3:30 pm", "a, b", ""])
def test_what_is_no_expression(gold):
    assert not is_expression(gold)
