"""What `rank` says of the policy."""

from typing import Any


def said(run: Any, *words: str) -> str:
    shown = run("rank", *words)
    assert shown.exit_code == 0, shown.stderr
    return " ".join((shown.stdout + shown.stderr).split())


def test_horizon_is_explained_with_the_training_it_is_for_and_the_way_back(imported: Any) -> None:
    screen = said(imported, "--policy", "horizon", "--passes-per-item", "10", "--group-size", "4")
    assert "Policy horizon ranks by: how likely a GRPO group of 4 has mixed outcomes over a training" in screen
    assert "of 10 passes per item (--passes-per-item), taken to raise log-odds by 0.9." in screen
    assert "Why not the very hardest: what is never solved rarely gives a mixed group" in screen
    assert "To buy it all the same: --policy hard" in screen


def test_the_other_policies_say_what_they_rank_by(imported: Any) -> None:
    assert "Policy learnable ranks by: how likely a GRPO group of 8" in said(imported, "--policy", "learnable")
    hard = said(imported)
    assert "Policy hard ranks by: the lowest chance of a correct sample first." in hard
    assert "see also --policy horizon." in hard
    assert "ranks by:" not in said(imported, "--policy", "random")
