import pytest

from budgetplan.errors import VerifierError
from budgetplan.verifying.reward import ProbeReward, as_reward


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
    with pytest.raises(VerifierError):
        ProbeReward("maths", _letters)


def _letters(completions):
    return ["".join(map(chr, tokens)) for tokens in completions]


def _ask(reward, texts, answers=None, columns=None, **from_trl):
    return reward(
        completion_ids=[[*map(ord, text), 0] for text in texts],
        truncated=[False] * len(texts),
        answer=answers or ["1"] * len(texts),
        columns=columns or ["{}"] * len(texts),
        **from_trl,
    )


def test_a_users_function_gets_the_probes_texts_its_columns_and_what_trl_passes(users_file):
    source = """
        def f(completions, answer, **columns):
            assert columns["prompts"] == ["?", "?"] and columns["trainer_state"] == "state"
            assert [ids[-1] for ids in columns["completion_ids"]] == [0, 0]
            return [len(text) / 4 if unit == "m" else 0 for text, unit in zip(completions, columns["unit"])]
    """
    reward = ProbeReward(users_file(_dedented(source)), _letters)
    columns = ['{"unit": "m"}', '{"answer": "2", "completions": 3}']
    asked = _ask(reward, ["ab", "abc"], columns=columns, prompts=["?", "?"], completions=["x"], trainer_state="state")
    assert asked == [0.5, 0.0]


def test_a_users_function_that_raises_costs_its_own_completion_only(users_file):
    source = "def f(completions, answer, **columns):\n    return [float(text) for text in completions]\n"
    reward = ProbeReward(users_file(source), _letters)
    assert reward.first_error is None
    assert _ask(reward, ["0.5", "half", "1"], unit=["a", "b", "c"]) == [0.5, None, 1.0]
    assert reward.first_error == "ValueError: could not convert string to float: 'half'"


def test_no_reward_is_given_where_a_needed_answer_is_not_known(users_file):
    source = "def f(completions, answer, **columns):\n    return [1.0] * len(completions)\n"
    assert _ask(ProbeReward(users_file(source), _letters), ["a", "b"], answers=[None, "b"]) == [None, 1.0]
    source = "def f(completions, answer=None, **columns):\n    return [1.0] * len(completions)\n"
    assert _ask(ProbeReward(users_file(source), _letters), ["a", "b"], answers=[None, "b"]) == [1.0, 1.0]


def test_a_breach_of_the_contract_is_an_error(users_file):
    reward = ProbeReward(users_file("def f(completions, answer, **columns):\n    return [1.0]\n"), _letters)
    with pytest.raises(VerifierError, match="1 rewards for 2 completions"):
        _ask(reward, ["a", "b"])


def _dedented(source):
    import textwrap

    return textwrap.dedent(source)
