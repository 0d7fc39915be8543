"""Equal answers in other words, found by the real verifiers among stored samples."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from budgetplan import Project
from budgetplan.records import Silent
from budgetplan.steps import same_answers
from budgetplan.steps.same_answers import equality_of, find_same_answers
from budgetplan.store import same_answers as stored_answers
from budgetplan.store.runs import find_run
from budgetplan.store.same_answers import has_new_answers

Rows = list[dict[str, Any]]


def sampled(n: int, *answers: str) -> dict[str, Any]:
    return {"id": f"q{n}", "prompt": f"question {n}", "completions": [f"The answer is {text}" for text in answers]}


@pytest.fixture
def look(tmp_path: Path, write_pool: Callable[..., Path]) -> Callable[..., dict[str, dict[str, str]]]:
    """Import samples judged by a verifier, compare their answers; returns by id which key is the same as which."""

    def looked(verifier: str, *rows: dict[str, Any], model: str = "tiny") -> dict[str, dict[str, str]]:
        project = Project(db=tmp_path / "store.duckdb", model=model, verifier=verifier)
        run = project.import_samples([write_pool(list(rows))]).run
        find_same_answers(project.store, run, Silent())
        with project.store.reading() as connection:
            assert not has_new_answers(connection, find_run(connection, None))
            found = connection.execute(
                """SELECT ids[1], answer_key, same_as FROM same_answer JOIN pool_item USING (item_id)
                   WHERE pool_id = ? ORDER BY ALL""",
                [run.pool_id],
            ).fetchall()
        same: dict[str, dict[str, str]] = {}
        for name, key, same_as in found:
            same.setdefault(name, {})[key] = same_as
        return same

    return looked


def test_algebra_makes_one_answer_of_several_writings(look: Callable[..., Any]) -> None:
    same = look(
        "math",
        sampled(1, "$x+1$", "$1+x$", "$1+x$", "$x+2$", r"$\frac{2x+2}{2}$"),
        sampled(2, "4", "5", "6"),
        sampled(3, r"$\sqrt{4}$", "2", "3"),
    )
    assert same == {"q1": {"x+1": "1+x", r"\frac{2x+2}{2}": "1+x"}, "q3": {r"\sqrt{4}": "2"}}


def test_names_and_order_make_one_list_of_two_writings(look: Callable[..., Any]) -> None:
    rows = sampled(1, "Ann: ball, Bob: book", "ball, book", "ball, book", "book, ball")
    assert look("sequence", rows) == {"q1": {"ann: ball; bob: book": "ball; book"}}


def test_words_have_no_other_equality_than_their_writing(look: Callable[..., Any], tmp_path: Path) -> None:
    rows = sampled(1, "x+1", "1+x", "yes", "Yes.")
    assert look("exact", rows) == {}
    own = tmp_path / "mine.py"
    own.write_text("def good(completions, **columns):\n    return [1.0 for _ in completions]\n")
    assert look(f"{own}:good", rows) == {}


def test_answers_of_another_run_join_the_groups(look: Callable[..., Any]) -> None:
    assert look("math", sampled(1, "$x+1$", "$x+2$")) == {}
    assert look("math", sampled(1, "$1+x$", "$2+x$"), model="big") == {"q1": {"x+1": "1+x", "x+2": "2+x"}}


def test_what_the_verifier_cannot_read_differs_and_costs_nothing_else(look: Callable[..., Any]) -> None:
    same = look("math", sampled(1, "$x+1$", "$1+x$", r"$\frac{$", "((("))
    assert same == {"q1": {"x+1": "1+x"}}


@pytest.mark.parametrize(
    ("verifier", "words"),
    [
        ("math@1+math-verify-0.8", "the verifier math"),
        ("sequence@1", "the verifier sequence"),
        ("choice", "the verifier choice"),
        ("exact@1", "their normalised text"),
        ("mine@home.py:good@abc", "their normalised text"),
    ],
)
def test_how_answers_are_compared_in_words(verifier: str, words: str) -> None:
    assert equality_of(verifier) == words


def test_batches_of_pairs_give_the_same_groups(look: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(same_answers, "BATCH_PAIRS", 1)
    rows = [sampled(n, "$x+1$", "$1+x$", "$x+2$") for n in range(3)]
    assert look("math", *rows) == {f"q{n}": {"x+1": "1+x"} for n in range(3)}


def test_only_the_most_frequent_answers_are_compared(look: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_answers, "MOST_ANSWERS", 2)
    assert look("math", sampled(1, "$x+1$", "$x+1$", "$y$", "$y$", "$1+x$")) == {}


def test_annotators_are_shown_the_answer_that_most_samples_give_in_whatever_words(
    look: Callable[..., Any], tmp_path: Path
) -> None:
    look("math", sampled(1, "$x+1$", "$x+1$", "$1+x$", "$1+x$", "$3y$", "$3y$", "$3y$"))
    project = Project(db=tmp_path / "store.duckdb")
    shown = project.shortlist("1 items", audit="0", show_model_answer=True, out=tmp_path / "sl.csv").table
    assert shown["model_answer"].to_pylist() in (["x+1"], ["1+x"])
