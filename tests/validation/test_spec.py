from dataclasses import replace

import pytest
from training_folders import spec

from budgetplan.errors import TrainingError
from budgetplan.validation.spec import check_same, read_spec, write_spec


def test_a_spec_comes_back_as_it_was_written(tmp_path):
    written = spec(tmp_path / "model", "math", epsilon_high=0.28)
    write_spec(written, "abc", tmp_path)
    assert read_spec(tmp_path) == written
    check_same(written, "abc", tmp_path)


def test_what_differs_is_named(tmp_path):
    begun = spec(tmp_path / "model", "math")
    write_spec(begun, "abc", tmp_path)
    with pytest.raises(TrainingError, match=r"recipe\.steps is 2 there and 3 here"):
        check_same(replace(begun, recipe=replace(begun.recipe, steps=3)), "abc", tmp_path)
    with pytest.raises(TrainingError, match="seed is 7 there and 8 here"):
        check_same(replace(begun, seed=8), "abc", tmp_path)
    with pytest.raises(TrainingError, match="items is 'abc' there"):
        check_same(begun, "abd", tmp_path)
