import pytest

from budgetplan.errors import VerifierError
from budgetplan.verifying.function import RewardFunction

GOOD = """
def f(completions, answer, **columns):
    return [None if text == "?" else float(text == gold) for text, gold in zip(completions, answer)]
"""


def test_rewards_come_back_in_order(users_file):
    function = RewardFunction(users_file(GOOD))
    assert function.rewards(["1", "2", "?"], ["1", "1", "1"], {}) == [1.0, 0.0, None]


def test_columns_are_passed_by_name(users_file):
    function = RewardFunction(
        users_file("def f(completions, answer, tolerance, **columns):\n    return [float(t) for t in tolerance]\n")
    )
    assert function.rewards(["1", "2"], ["1", "1"], {"tolerance": [0, 1], "other": [5, 6]}) == [0.0, 1.0]


def test_neighbours_can_be_imported(users_file, tmp_path):
    (tmp_path / "neighbour_of_mine.py").write_text("REWARD = 0.75\n")
    function = RewardFunction(
        users_file(
            "import neighbour_of_mine\n"
            "def f(completions, answer, **c):\n    return [neighbour_of_mine.REWARD] * len(answer)\n"
        )
    )
    assert function.rewards(["x"], ["y"], {}) == [0.75]


def test_the_file_is_not_executed_before_it_is_loaded(users_file):
    function = RewardFunction(users_file("raise RuntimeError('executed')"))
    with pytest.raises(VerifierError, match=r"mine.py:f: .* cannot be loaded: RuntimeError: executed"):
        function.load()


def test_the_version_follows_the_file(users_file):
    first = RewardFunction(users_file(GOOD)).version
    assert RewardFunction(users_file(GOOD)).version == first
    assert RewardFunction(users_file(GOOD + "\n# changed\n")).version != first


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return [1.0]", "returned 1 rewards for 2 completions"),
        ("return 1.0", "returned float 1.0 instead of a list"),
        ("return None", "returned NoneType None instead of a list"),
        ("return ['yes', 'no']", "returned str 'yes' as a reward"),
    ],
)
def test_a_breach_of_the_contract_names_the_function(users_file, body, message):
    function = RewardFunction(users_file(f"def f(completions, answer, **columns):\n    {body}\n"))
    with pytest.raises(VerifierError, match=rf"mine.py:f {message}.*Return one number or None per completion"):
        function.rewards(["1", "2"], ["1", "1"], {})


def test_a_function_that_trl_cannot_call_is_refused(users_file):
    function = RewardFunction(users_file("def f(completions, answer):\n    return []\n"))
    with pytest.raises(VerifierError, match=r"takes no \*\*columns"):
        function.load()


def test_a_missing_file_or_function_is_refused(users_file, tmp_path):
    with pytest.raises(VerifierError, match=r"there is no file .*none.py"):
        RewardFunction(f"{tmp_path}/none.py:f")
    with pytest.raises(VerifierError, match="has no function 'g'"):
        RewardFunction(users_file(GOOD)[:-1] + "g").load()


@pytest.mark.parametrize(
    ("signature", "needs_gold"),
    [("completions, answer, **c", True), ("completions, answer=None, **c", False), ("completions, **c", False)],
)
def test_a_checking_program_needs_no_gold(users_file, signature, needs_gold):
    function = RewardFunction(users_file(f"def f({signature}):\n    return [1.0] * len(completions)\n"))
    function.load()
    assert function.needs_gold is needs_gold
