"""Adaptive probing: the same samples whatever happens in between, fewer than K of every item, and spent at the cut."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted import Answer, number_in, reply

from budgetplan import BudgetError, ConfigError, Interrupted, Project
from budgetplan.records import Completion, SampleRequest

N_ITEMS, K = 40, 4


def by_chance(request: SampleRequest, index: int) -> Completion:
    """Item N is right with p = N / 40, the same for the same sample."""
    number = number_in(request.messages)
    right = random.Random(f"{number} {index}").random() < number / N_ITEMS
    return reply(request, index, f"#### {2 * number if right else 999}")


@pytest.fixture
def pool(write_pool: Callable[..., Path]) -> Path:
    return write_pool(
        [{"id": f"q{n}", "question": f"{n}+{n}=?", "answer": str(2 * n), "minutes": 1 + n % 3} for n in range(N_ITEMS)]
    )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    settings: dict[str, Any] = {
        "model": "tiny",
        "engine": "transformers",
        "template": "none",
        "k": K,
        "verifier": "exact",
    }
    return Project(db=tmp_path / "store.duckdb", **settings)


def taken(project: Project) -> dict[int, int]:
    """Samples by item."""
    with project.store.reading() as connection:
        rows = connection.execute(
            """SELECT prompt, count(*) FROM completion JOIN item USING (item_id)
               WHERE finish_reason <> 'error' GROUP BY ALL"""
        ).fetchall()
    return {int(prompt.split("+")[0]): n for prompt, n in rows}


def test_half_of_the_samples_go_where_the_picks_are_decided(project: Project, pool: Path, scripted: Any) -> None:
    scripted(by_chance)
    report = project.probe(pool, budget="10%")
    assert report.placed is not None
    n = taken(project)
    assert report.sampled.n_samples == report.placed.n_samples == sum(n.values()) <= N_ITEMS * K // 2
    assert (len(n), min(n.values())) == (N_ITEMS, 1)
    assert (report.placed.fewest, report.placed.most) == (1, max(n.values()))
    assert max(n.values()) <= 2 * K
    near_the_cut, far_from_it = (sum(n[item] - 1 for item in places) for places in (range(10), range(30, 40)))
    assert near_the_cut > 3 * far_from_it
    assert (report.placed.n_uniform, report.placed.n_picks, report.n_missing) == (N_ITEMS * K, 4, 0)
    assert report.placed.expected_loss is not None
    assert 0 <= report.placed.expected_loss < 0.1


def test_a_budget_for_easy_items_spends_on_those(project: Project, pool: Path, scripted: Any) -> None:
    scripted(by_chance)
    easy = Project(**project.settings.model_dump() | {"policy": "easy"})
    easy.probe(pool, budget="10%")
    n = taken(easy)
    assert sum(n[item] - 1 for item in range(30, 40)) > 3 * sum(n[item] - 1 for item in range(10))


def test_the_same_probe_again_asks_for_nothing_and_goes_on_adaptively(
    project: Project, pool: Path, scripted: Any
) -> None:
    scripted(by_chance)
    project.probe(pool, budget="10%")
    engine = scripted(by_chance)
    again = project.probe(pool)
    assert engine.asked == []
    assert again.placed is not None
    assert (again.sampled.n_samples, again.placed.aim.budget) == (0, "10%")


def test_a_probe_that_was_stopped_ends_with_the_samples_of_one_that_was_not(
    tmp_path: Path, project: Project, pool: Path, scripted: Any
) -> None:
    scripted(by_chance)
    whole = Project(**project.settings.model_dump() | {"db": tmp_path / "whole.duckdb"})
    whole.probe(pool, budget="10%")

    def stopping(limit: int) -> Answer:
        asked = 0

        def answer(request: SampleRequest, index: int) -> Completion:
            nonlocal asked
            asked += 1
            if asked == limit:
                raise KeyboardInterrupt
            return by_chance(request, index)

        return answer

    for limit in (20, 30, 12):
        scripted(stopping(limit))
        with pytest.raises(Interrupted):
            project.probe(pool, budget="10%")
    scripted(by_chance)
    project.probe(pool, budget="10%")
    assert taken(project) == taken(whole)


def test_failed_samples_are_taken_again_and_never_counted(project: Project, pool: Path, scripted: Any) -> None:
    def failing(request: SampleRequest, index: int) -> Completion:
        if number_in(request.messages) == 3:
            return reply(request, index, "", finish_reason="error", error="out of memory")
        return by_chance(request, index)

    scripted(failing)
    report = project.probe(pool, budget="10%")
    assert report.n_missing > 0
    assert 3 not in taken(project)
    scripted(by_chance)
    assert project.probe(pool).n_missing == 0
    assert taken(project)[3] >= 1


def test_uniform_takes_k_of_every_item_again(project: Project, pool: Path, scripted: Any) -> None:
    scripted(by_chance)
    project.probe(pool, budget="10%")
    before = taken(project)
    report = project.probe(pool, uniform=True)
    assert report.placed is None
    assert taken(project) == {item: max(K, n) for item, n in before.items()}
    assert project.probe(pool).placed is None


def test_without_any_answer_every_item_gets_k(project: Project, write_pool: Any, scripted: Any) -> None:
    scripted(by_chance)
    report = project.probe(write_pool([{"question": f"{n}+{n}=?"} for n in range(12)]), budget="25%")
    assert set(taken(project).values()) == {K}
    assert report.placed is not None
    assert report.placed.expected_loss is None


def test_items_that_are_bought_already_get_no_more_samples(
    project: Project, pool: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    scripted(by_chance)
    project.probe(pool, budget="10%")
    bought = {int(name.removeprefix("q")) for name in project.shortlist("10%").table["id"].to_pylist()}
    before = taken(project)
    more = Project(**project.settings.model_dump() | {"k": 2 * K})
    more.probe(pool, budget="10%")
    after = taken(more)
    assert sum(after.values()) > sum(before.values())
    assert {item: after[item] for item in bought} == {item: before[item] for item in bought}


def test_adaptive_without_a_budget_means_what_is_left_of_one(
    project: Project, pool: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    scripted(by_chance)
    with pytest.raises(ConfigError, match="needs a budget"):
        project.probe(pool, adaptive=True)
    Project(**project.settings.model_dump() | {"k": 1}).probe(pool)
    project.shortlist("10 items", batch="50%")
    report = project.probe(pool, adaptive=True)
    assert report.placed is not None
    assert (report.placed.aim.budget, report.placed.n_picks) == ("5", 5)


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"uniform": True, "budget": "10%"}, "--uniform takes K of every item"),
        ({"budget": "10%", "role": "reference"}, "a reference is sampled evenly"),
        ({"budget": "many"}, "many"),
        ({"budget": "40usd"}, "needs a cost per item"),
        ({"budget": "1%"}, "below"),
    ],
)
def test_choices_that_cannot_be(
    project: Project, pool: Path, scripted: Any, choices: dict[str, Any], said: str
) -> None:
    engine = scripted(by_chance)
    with pytest.raises((ConfigError, BudgetError), match=said):
        project.probe(pool, **choices)
    assert engine.asked == []


def test_one_sample_per_item_leaves_none_to_place(project: Project, pool: Path) -> None:
    with pytest.raises(ConfigError, match="none to place"):
        Project(**project.settings.model_dump() | {"k": 1}).probe(pool, budget="10%")


def test_adaptive_after_uniform_counts_what_is_there_and_asks_nobody(
    project: Project, pool: Path, scripted: Any
) -> None:
    scripted(by_chance)
    project.probe(pool)
    engine = scripted(by_chance)
    report = project.probe(pool, budget="10%", confirm=lambda _: False)
    assert engine.asked == []
    assert report.placed is not None
    assert (report.placed.n_samples, report.placed.fewest, report.placed.expected_loss) == (N_ITEMS * K, K, 0.0)


@pytest.mark.parametrize("policy", ["random", "base-wrong"])
def test_policies_that_look_at_one_sample_take_one(
    project: Project, write_pool: Any, scripted: Any, policy: str
) -> None:
    scripted(by_chance)
    bare = write_pool([{"question": f"{n}+{n}=?"} for n in range(12)])
    report = Project(**project.settings.model_dump() | {"policy": policy}).probe(bare, budget="25%")
    assert set(taken(project).values()) == {1}
    assert report.placed is not None
    assert report.placed.expected_loss == 0.0


def test_a_single_pass_without_answers_can_be_gone_on_with(project: Project, write_pool: Any, scripted: Any) -> None:
    scripted(by_chance)
    bare = write_pool([{"question": f"{n}+{n}=?"} for n in range(12)])
    Project(**project.settings.model_dump() | {"k": 1}).probe(bare)
    project.probe(bare, budget="25%")
    assert set(taken(project).values()) == {K}


def test_two_pools_of_one_run_are_not_mixed(project: Project, write_pool: Any, scripted: Any) -> None:
    scripted(by_chance)
    rows = [{"question": f"{n}+{n}=?", "answer": str(2 * n)} for n in range(24)]
    small, big = write_pool(rows[:8], "small.jsonl"), write_pool(rows, "big.jsonl")
    for source, budget in ((small, "25%"), (big, "70%"), (small, "25%")):
        report = project.probe(source, budget=budget)
        assert report.n_missing == 0
    assert report.placed is not None
    assert report.placed.n_uniform == 8 * K


def test_when_all_is_bought_nothing_more_is_sampled(
    project: Project, pool: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    scripted(by_chance)
    project.probe(pool, budget="60%")
    project.shortlist("60%")
    project.probe(pool)
    project.shortlist("40%", batch="100%")
    before = taken(project)
    project.probe(pool)
    assert taken(project) == before


def test_adaptive_goes_on_under_the_policy_and_costs_of_the_shortlist(
    project: Project, pool: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    scripted(by_chance)
    Project(**project.settings.model_dump() | {"k": 1}).probe(pool)
    paid = Project(**project.settings.model_dump() | {"policy": "easy", "cost_per_item": "4usd"})
    paid.shortlist("40usd", batch="50%")
    placed = project.probe(pool, adaptive=True).placed
    assert placed is not None
    assert (placed.aim.policy, placed.n_picks) == ("easy", 5)


def test_a_reference_is_sampled_evenly_beside_an_adaptive_run(project: Project, pool: Path, scripted: Any) -> None:
    scripted(by_chance)
    project.probe(pool, budget="10%")
    other = Project(**project.settings.model_dump() | {"model": "other"})
    assert other.probe(pool, role="reference").placed is None
