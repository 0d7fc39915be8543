import pytest

from budgetplan.errors import ConfigError
from budgetplan.validation.recipes import RECIPES, recipe


def test_the_papers_numbers_are_those_of_its_appendix():
    paper = recipe("paper")
    assert (paper.group_size, paper.prompts_per_update, paper.steps, paper.evaluate_every) == (8, 32, 1000, 100)
    assert (paper.beta, paper.learning_rate, paper.schedule) == (0.1, 3e-5, "cosine")
    assert (paper.scale_rewards, paper.loss) == ("none", "grpo")


def test_the_other_recipes_differ_in_their_loss_alone():
    assert {name: settings.loss for name, settings in RECIPES.items()} == {
        "paper": "grpo",
        "dr-grpo": "dr_grpo",
        "dapo": "dapo",
    }
    assert recipe("dr-grpo").scale_rewards == "none"
    assert (recipe("dapo").epsilon_high, recipe("dapo").mask_truncated) == (0.28, True)
    assert len({(settings.group_size, settings.steps) for settings in RECIPES.values()}) == 1


def test_what_is_given_changes_and_what_is_not_given_does_not():
    changed = recipe("paper", steps=50, beta=0.0, learning_rate=None)
    assert (changed.steps, changed.beta, changed.learning_rate) == (50, 0.0, 3e-5)


@pytest.mark.parametrize(
    ("name", "changes", "told"),
    [
        ("papers", {}, "'papers'.*paper, dr-grpo, dapo"),
        ("paper", {"group_size": 1}, "--group-size 1.*2 or more"),
        ("paper", {"prompts_per_update": 0}, "--prompts-per-update 0"),
        ("paper", {"steps": 0}, "--steps 0"),
        ("paper", {"evaluate_every": -5}, "--evaluate-every -5"),
        ("paper", {"learning_rate": 0.0}, "--learning-rate 0 .*3e-5"),
        ("paper", {"learning_rate": float("nan")}, "--learning-rate nan"),
        ("paper", {"beta": -0.1}, "--beta -0.1"),
        ("paper", {"epochs": 3}, "'epochs'.*group_size"),
    ],
)
def test_what_cannot_be_trained_is_refused_with_value_and_fix(name, changes, told):
    with pytest.raises(ConfigError, match=told):
        recipe(name, **changes)
