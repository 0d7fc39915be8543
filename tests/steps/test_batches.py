import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from made_pools import MadePool, bought, fill_in, imported, make_pool

from budgetplan import BudgetError, NothingToDo, Project
from budgetplan.steps.shortlist import Shortlisted
from budgetplan.store.ledger import left_to_plan

N = 60


@pytest.fixture(scope="module")
def pool() -> MadePool:
    return make_pool(N)


@pytest.fixture(scope="module")
def ranked(pool: MadePool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the pool's samples and their signals, made once."""
    project = imported(tmp_path_factory.mktemp("ranked"), pool.rows)
    project.rank()
    return project.settings.db


@pytest.fixture
def project(ranked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(db=shutil.copy(ranked, tmp_path / "store.duckdb"))


def left(project: Project) -> dict[str, float]:
    with project.store.reading() as connection:
        return left_to_plan(connection, project.rank().standing.pool.pool_id)


def sizes(made: Shortlisted) -> tuple[int, int]:
    """Picks, and audit items that were new."""
    return len(made.choice.order), len(made.audit.new)


def test_a_first_batch_is_a_third_beside_the_audit_slice(project: Project) -> None:
    made = project.shortlist("50%")
    assert sizes(made) == (8, 7)  # of 30 items a quarter, then a third of 23
    assert (made.spent, made.choice.left, left(project)) == (15, 15, {"items": 15})
    assert made.table["audit"].to_pylist().count(True) == 7


def test_what_is_left_is_spent_next(project: Project, pool: MadePool) -> None:
    first = project.shortlist("50%")
    project.ingest([fill_in(Path("sl-0001.annotators.csv"), pool.answer_of)])
    second = project.shortlist()
    assert second.batch == 1
    assert second.spent == 15
    assert left(project) == {"items": 0}
    assert not set(first.table["item_id"].to_pylist()) & set(second.table["item_id"].to_pylist())
    with pytest.raises(BudgetError, match="nothing is left"):
        project.shortlist()


def test_a_batch_of_ones_own(project: Project) -> None:
    assert sizes(project.shortlist("50%", batch="100%", dry_run=True)) == (23, 7)
    assert sizes(project.shortlist("50%", batch="50%", dry_run=True)) == (12, 7)
    assert sizes(project.shortlist("30 items", batch="50%", audit="0", dry_run=True)) == (15, 0)
    project.shortlist("50%", batch="50%")
    assert left(project) == {"items": 11}
    rest = project.shortlist(batch="50%")
    assert rest.spent + left(project)["items"] == 11


@pytest.mark.parametrize("text", ["0%", "200%", "5", "abc", "-10%", "10 items", "nan%"])
def test_what_is_no_share_is_no_batch(project: Project, text: str) -> None:
    with pytest.raises(BudgetError, match="--batch") as error:
        project.shortlist("50%", batch=text)
    assert "--batch 30%" in error.value.hint
    assert project.status().shortlists == []


@pytest.mark.parametrize(("budget", "picks"), [("14 items", 14), ("19 items", 5), ("4 items", 4), ("1 items", 1)])
def test_a_budget_too_small_for_a_batch_of_five_is_spent_at_once(project: Project, budget: str, picks: int) -> None:
    made = project.shortlist(budget)
    assert len(made.choice.order) == picks
    assert (made.choice.left == 0) == (budget != "19 items")


@pytest.mark.parametrize(
    ("cost_per_item", "budget", "unit", "granted", "each"),
    [("2usd", "60usd", "usd", 60.0, 2.0), ("30min", "15h", "h", 15.0, 0.5), ("0.7eur", "21eur", "eur", 21.0, 0.7)],
)
def test_what_is_left_is_right_in_money_and_hours(
    project: Project, pool: MadePool, cost_per_item: str, budget: str, unit: str, granted: float, each: float
) -> None:
    priced = Project(db=project.settings.db, cost_per_item=cost_per_item)
    first = priced.shortlist(budget)
    assert sizes(first) == (7, 7)
    assert first.spent == pytest.approx(14 * each)
    assert left(priced) == {unit: pytest.approx(granted - 14 * each)}
    (planned,) = priced.status().ledger
    assert planned.items == 14
    assert (planned.money.get(unit) or planned.hours) == pytest.approx(14 * each)
    priced.ingest([fill_in(Path("sl-0001.annotators.csv"), pool.answer_of)])
    assert priced.shortlist().table.num_rows == 16
    assert left(priced) == {unit: pytest.approx(0)}


def test_unequal_costs_never_pass_what_a_batch_grants(tmp_path: Path) -> None:
    pool = make_pool(N)
    project = imported(tmp_path, [row | {"usd": 1 + n % 7} for n, row in enumerate(pool.rows)])
    priced = Project(db=project.settings.db, cost_column="usd")
    for budget, batch in ((20, 1), (90, Fraction(1, 3)), (150, Fraction(1, 3))):
        made = priced.shortlist(f"{budget}usd", dry_run=True)
        for_slice = made.spent - made.choice.spent
        assert made.batch == batch
        assert made.spent + made.choice.left == pytest.approx(budget)
        assert made.choice.spent <= (budget - for_slice) * batch


def test_once_an_answer_is_known_all_is_spent_at_once(project: Project, pool: MadePool, tmp_path: Path) -> None:
    bought(project, tmp_path, pool.answer_of, "6 items")
    assert project.shortlist("50%", dry_run=True).batch == 1


def test_random_items_teach_no_better_in_batches(project: Project) -> None:
    made: Any = Project(db=project.settings.db, policy="random").shortlist("50%", dry_run=True)
    assert made.batch == 1


def test_what_is_left_waits_for_the_labels_of_the_batch_unless_told_not_to(project: Project) -> None:
    project.shortlist("30 items")
    with pytest.raises(NothingToDo, match=r"no label of the last batch \(sl-0001\) is back") as waiting:
        project.shortlist()
    assert "--batch 100%" in waiting.value.hint
    assert project.shortlist(batch="100%").choice.left == 0


def test_the_rest_is_spent_under_the_policy_and_the_costs_of_the_first_batch(
    project: Project, pool: MadePool, tmp_path: Path
) -> None:
    first = Project(db=project.settings.db, policy="middle", cost_per_item="4usd")
    bought(first, tmp_path, pool.answer_of, "120usd")
    rest = project.shortlist()
    assert (rest.choice.policy, rest.choice.unit, rest.choice.left) == ("middle", "usd", 0.0)
    assert len(rest.audit.new) == 0  # the slice was paid from the whole budget


def test_a_setting_that_is_given_holds_for_the_rest(project: Project, pool: MadePool, tmp_path: Path) -> None:
    bought(Project(db=project.settings.db, policy="middle"), tmp_path, pool.answer_of, "30 items")
    assert Project(db=project.settings.db, policy="easy").shortlist(dry_run=True).choice.policy == "easy"
