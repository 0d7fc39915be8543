import pytest

from budgetplan.outcome import Outcome
from budgetplan.verifying.function import RewardFunction
from budgetplan.verifying.judging import Judged, Row, judge_rows
from budgetplan.verifying.mathematics import Mathematics


def judged(text: str, gold: str | None = "18", finish_reason: str | None = "stop") -> Judged:
    return judge_rows(Mathematics(), [Row(text, finish_reason, gold, None)], lambda: None)[0]


@pytest.mark.parametrize(
    ("text", "finish_reason", "outcome"),
    [
        ("The answer is 18.", "stop", Outcome.CORRECT),
        ("The answer is 17.", "stop", Outcome.WRONG),
        ("That makes 18", None, Outcome.CORRECT),
        ("That makes 17", None, Outcome.WRONG),
        ("I do not know.", "stop", Outcome.NO_ANSWER),
        ("", "stop", Outcome.NO_ANSWER),
        ("<think>The answer is 18.", "stop", Outcome.NO_ANSWER),
        ("The answer is 18.\nLet me check", "length", Outcome.CORRECT),
        ("The answer is 17.\nLet me check", "length", Outcome.WRONG),
        ("9 * 2 = 18, and then we", "length", Outcome.TRUNCATED),
        ("The answer is 18", "length", Outcome.TRUNCATED),
        ("<think>The answer is 18.", "length", Outcome.TRUNCATED),
        (r"so \boxed{18}", "length", Outcome.CORRECT),
        ("The answer is 18.", "error", Outcome.ENGINE_ERROR),
    ],
)
def test_outcomes(text, finish_reason, outcome):
    assert judged(text, finish_reason=finish_reason).outcome == outcome


def test_without_gold_the_answer_is_still_found():
    assert judged("The answer is $18.00.", gold=None) == Judged(Outcome.UNKNOWN, "$18.00", "18")
    assert judged("9 * 2 = 18, and", gold=None, finish_reason="length") == Judged(Outcome.UNKNOWN, None, None)


def test_math_verify_is_loaded_only_when_needed():
    loads = []
    rows = [Row("The answer is 18.", "stop", "18", None), Row(r"\boxed{\frac{3}{4}}", "stop", "0.75", None)]
    judge_rows(Mathematics(), rows, lambda: loads.append(1))
    assert not loads
    rows.append(Row(r"\boxed{\sqrt{12}}", "stop", r"2\sqrt{3}", None))
    verdicts = judge_rows(Mathematics(), rows, lambda: loads.append(1))
    assert loads == [1]
    assert [verdict.outcome for verdict in verdicts] == ["correct"] * 3


class Failing(Mathematics):
    def key(self, extracted: str) -> str:
        if extracted == "13":
            raise ZeroDivisionError("unlucky")
        return super().key(extracted)


def test_an_exception_costs_only_its_row():
    rows = [Row(f"The answer is {number}.", "stop", "13", None) for number in (12, 13, 14)]
    verdicts = judge_rows(Failing(), rows, lambda: None)
    assert [verdict.outcome for verdict in verdicts] == ["wrong", "verifier_error", "wrong"]
    assert verdicts[1].error == "ZeroDivisionError: unlucky"


FUNCTION = """
def f(completions, answer, weight=None, **columns):
    if "!" in completions:
        raise ValueError("no exclamation")
    return [None if text == "?" else 0.5 if text == gold else 0.49 for text, gold in zip(completions, answer)]
"""


def test_a_function_decides_from_one_half_up(users_file):
    function = RewardFunction(users_file(FUNCTION))
    function.load()
    rows = [
        Row(text, "stop", gold, None) for text, gold in [("1", "1"), ("2", "1"), ("?", "1"), ("!", "1"), ("1", None)]
    ]
    verdicts = judge_rows(function, rows, lambda: None)
    outcomes = [verdict.outcome for verdict in verdicts]
    assert outcomes == ["correct", "wrong", "verifier_error", "verifier_error", "unknown"]
    assert verdicts[3].error == "ValueError: no exclamation"


def test_a_checking_program_judges_items_without_gold(users_file):
    function = RewardFunction(
        users_file(
            "def f(completions, size, **c):\n    return [float(len(t) == s) for t, s in zip(completions, size)]\n"
        )
    )
    function.load()
    rows = [Row("abc", "stop", None, '{"size": 3}'), Row("abc", "stop", None, '{"size": 4}')]
    assert [verdict.outcome for verdict in judge_rows(function, rows, lambda: None)] == ["correct", "wrong"]
