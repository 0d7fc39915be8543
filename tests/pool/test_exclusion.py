"""`--exclude` names rows by a column of the user's own."""

from collections.abc import Callable

import pytest

from budgetplan.errors import ConfigError, PoolError
from budgetplan.pool.exclusion import Exclusion, excluded, parse_exclusion
from budgetplan.pool.reader import read_pool


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("split=test", Exclusion("split", "test")),
        (" level = 3 ", Exclusion("level", "3")),
        ("eq=a=b", Exclusion("eq", "a=b")),
        ("note=", Exclusion("note", "")),
    ],
)
def test_column_and_value(text: str, expected: Exclusion) -> None:
    assert parse_exclusion(text) == expected


@pytest.mark.parametrize("text", ["split", "=test", ""])
def test_what_is_no_exclusion(text: str) -> None:
    with pytest.raises(ConfigError, match="is not COLUMN=VALUE"):
        parse_exclusion(text)


@pytest.mark.parametrize(
    ("exclusions", "expected"),
    [
        ([], [False, False, False]),
        (["split=test"], [False, True, False]),
        (["split=train", "split=test"], [True, True, False]),
        (["level=3"], [True, False, False]),
        (["level=7"], [False, False, True]),
        (["hard=true"], [True, False, False]),
        (['o"dd/~=x'], [False, False, True]),
        (["id=c"], [False, False, True]),
    ],
)
def test_values_are_compared_as_text(lines: Callable[..., str], exclusions: list[str], expected: list[bool]) -> None:
    table = read_pool(
        lines(
            {"id": "a", "prompt": "p", "split": "train", "level": 3, "hard": True},
            {"id": "b", "prompt": "q", "split": "test", "level": None},
            {"id": "c", "prompt": "r", "level": "7", 'o"dd/~': "x"},
        )
    ).table
    assert excluded(table, [parse_exclusion(text) for text in exclusions]).to_pylist() == expected


def test_a_prompt_of_both_splits_is_a_test_prompt(lines: Callable[..., str]) -> None:
    table = read_pool(lines({"prompt": "p", "split": "train"}, {"prompt": "p", "split": "test"}, {"prompt": "q"})).table
    assert excluded(table, [Exclusion("split", "test")]).to_pylist() == [True, False]


def test_a_column_that_no_item_has(lines: Callable[..., str]) -> None:
    table = read_pool(lines({"prompt": "p", "split": "train"}, {"prompt": "q", "level": 1})).table
    with pytest.raises(PoolError, match="no item has a column 'spilt'; there is: id, level, split"):
        excluded(table, [Exclusion("spilt", "test")])
