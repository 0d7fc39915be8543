import pytest

from budgetplan.errors import VerifierError
from budgetplan.verifying.function import RewardFunction
from budgetplan.verifying.verifier import BUILT_IN, auto_verifier, load_verifier


@pytest.mark.parametrize(
    ("golds", "expected"),
    [
        (["72", "She has 8 * 9 = 72.\n#### 72", "1,200"], "math"),
        ([r"\frac{1}{2}", "x^2 + 1", "[0, 1]", r"\text{Evelyn}"], "math"),
        (["(3, 4)", "(1, 2)"], "math"),
        (["(A)", "(G)"], "choice"),
        (["A", "B.", "C"], "choice"),
        (["(A) a ball", "(B) a book"], "choice"),
        (["yes", "no"], "exact"),
        (["05/01/2021", "12/31/1999"], "exact"),
        (["yajo", "nk"], "exact"),
        (["parkinson's disease", "epilepsy, simplex, type 2", "melanoma"], "exact"),
        (["Alice: ball, Bob: book", "Alice: book, Bob: ball"], "sequence"),
        (['["a", "b"]', '["b", "a"]'], "sequence"),
        (["ball, book, cup", "cup, ball, book"], "sequence"),
        ([], "exact"),
    ],
)
def test_auto_verifier(golds, expected):
    assert auto_verifier(golds) == expected


def test_shipped_verifiers_are_loaded_by_name():
    for name in BUILT_IN:
        verifier = load_verifier(name)
        assert verifier.name == name
        assert verifier.version


def test_unknown_verifier_is_refused():
    with pytest.raises(VerifierError, match=r"no verifier 'maths'.*math, choice, exact, sequence"):
        load_verifier("maths")


def test_a_path_is_a_users_function(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def f(completions, answer, **columns):\n    return [1.0 for _ in completions]\n")
    assert isinstance(load_verifier(f"{path}:f"), RewardFunction)
