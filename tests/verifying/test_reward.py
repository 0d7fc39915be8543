import pytest

from budgetplan.errors import VerifierError
from budgetplan.verifying.reward import as_reward


@pytest.fixture(scope="module")
def math_reward():
    return as_reward("math")


def test_built_in_verifiers_are_rewards(math_reward):
    completions = [r"\boxed{\frac12}", "The answer is 3.", "I do not know.", "The answer is 5.", r"\boxed{\sqrt{8}}"]
    answers = ["0.5", "4", "1", None, r"2\sqrt{2}"]
    rewards = math_reward(completions=completions, answer=answers, prompts=["?"] * 5, completion_ids=[[1]] * 5)
    assert rewards == [1.0, 0.0, 0.0, None, 1.0]
    assert math_reward.__name__ == "math_reward"


def test_chats_and_numeric_answers_are_understood(math_reward):
    chat = [{"role": "assistant", "content": "The answer is 3."}]
    assert math_reward(completions=[chat, chat], answer=[3, 4.0]) == [1.0, 0.0]


def test_a_users_function_is_its_own_reward(users_file):
    name = users_file("def f(completions, answer, **columns):\n    return [0.3] * len(completions)\n")
    assert as_reward(name)(completions=["a", "b"], answer=["a", "b"]) == [0.3, 0.3]


def test_an_unknown_verifier_is_refused():
    with pytest.raises(VerifierError):
        as_reward("maths")
