import pytest

from budgetplan.verifying.exact import Exact

EXACT = Exact()


@pytest.mark.parametrize(
    ("text", "gold"),
    [
        ("The answer is yes.", "yes"),
        ("Yes, because it is.", "yes"),
        ("**No**", "no"),
        ("No. It cannot be.", "no"),
        ("Is it? No.", "no"),
        ("Plausible: no", "no"),
        ("Answer: **True**", "True"),
        ("So the answer is **no**, since it is not.", "no"),
        ('The answer is "yajo".', "yajo"),
        ("The answer is eksA.", "eksa"),
        (r"\boxed{Parkinson's Disease}", "parkinson's disease"),
        (r"\boxed{\text{Monday}}", "monday"),
        (r"$\text{Monday}$", "monday"),
        ("Answer: New  York City", "new york city"),
        ("### Answer\nGreen", "green"),
        ("The answer is St. Louis.", "St. Louis"),
        ("The answer is Paris. It is the capital.", "Paris"),
        ("The capital of France is Paris.", "Paris"),
        ("The disease is **melanoma**.", "melanoma"),
        ("#### blue", "blue"),
        ("<think>yes</think>no", "no"),
        ("The answer is yajo.\n\nQ: Take the last letters\nA: The answer is abcd.", "yajo"),
        ("A: 5/1/2021", "05/01/2021"),
        ("A: 5-1-2021", "05/01/2021"),
        ("A: Sat, 05/01/2021 (a Saturday)", "05/01/2021"),
        ("2021-5-1", "2021-05-01"),
    ],
)
def test_same_words(text, gold):
    assert EXACT.equal(EXACT.extract(text).text, gold)


@pytest.mark.parametrize(
    ("text", "gold"),
    [
        ("The answer is no.", "yes"),
        (r"\boxed{Parkinson’s disease}", "parkinson's disease"),
        (r"\boxed{Amyotrophic Lateral Sclerosis (ALS)}", "amyotrophic lateral sclerosis"),
        ("The answer is not known.", "no"),
        ("The answer is e elk.", "eelk"),
        ("The answer is áyea.", "ayea"),
        ("A: 01/05/2021", "05/01/2021"),
        ("A: 05/01/2021 or 05/02/2021", "05/01/2021"),
        ("A: 5/1/21", "05/01/2021"),
        ("Nobody knows.", "no"),
    ],
)
def test_other_words(text, gold):
    assert not EXACT.equal(EXACT.extract(text).text, gold)


def test_a_long_last_line_is_no_answer():
    assert EXACT.extract("I think that nobody here can tell what all of this may have been about in the end.") is None


def test_only_markers_are_explicit():
    assert EXACT.extract("The answer is yes.").explicit
    assert not EXACT.extract("Yes, because it is.").explicit


def test_key_ignores_case_and_marks():
    assert len({EXACT.key(text) for text in ["Paris", "**paris**", '"Paris".', r"\text{Paris}", " PARIS "]}) == 1
