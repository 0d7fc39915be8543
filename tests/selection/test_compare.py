import pyarrow as pa
import pytest

from budgetplan.selection.budget import parse_budget
from budgetplan.selection.choose import choose
from budgetplan.selection.compare import compare
from budgetplan.selection.costs import parse_cost_column, unpriced
from budgetplan.selection.policy import Policy


def test_every_policy_spends_the_same_budget(pool_of):
    pool = pool_of([i / 10 for i in range(11)] * 10, first_correct=[i % 2 for i in range(110)])
    chosen = choose(pool, Policy.HARD, unpriced(110), parse_budget("10%"), seed=3)
    rows = {row.policy: row for row in compare(pool, unpriced(110), chosen)}
    assert list(rows) == list(Policy)
    assert {row.items for row in rows.values()} == {11}
    hard, easy, middle = rows[Policy.HARD], rows[Policy.EASY], rows[Policy.MIDDLE]
    assert hard.mean_p_hat == pytest.approx((10 * 0.0 + 0.1) / 11)
    assert easy.mean_p_hat == pytest.approx((10 * 1.0 + 0.9) / 11)
    assert middle.mean_p_hat == pytest.approx(0.5, abs=0.01)
    assert rows[Policy.LEARNABLE].mean_learnable == max(row.mean_learnable for row in rows.values())
    assert (hard.shared, easy.shared) == (11, 0)
    assert (hard.spent, hard.unit) == (11.0, "items")


def test_rows_use_the_costs_and_the_means_leave_out_what_is_not_verified(pool_of):
    pool = pool_of([0.5, 0.7], agreement=[0.1], nothing=2)
    costs = parse_cost_column("usd", pa.array([1, 2, 3, 4, 5]), pool.item_id, pool.eligible)
    chosen = choose(pool, Policy.HARD, costs, parse_budget("$6"))
    rows = {row.policy: row for row in compare(pool, costs, chosen)}
    hard = rows[Policy.HARD]
    assert (hard.items, hard.verified, hard.spent) == (3, 2, 6.0)
    assert hard.mean_p_hat == pytest.approx(0.6)
    assert rows[Policy.RANDOM].spent <= 6.0


def test_a_policy_that_cannot_rank_the_pool_has_an_empty_row(pool_of):
    pool = pool_of(agreement=[0.1, 0.2, 0.3])
    chosen = choose(pool, Policy.HARD, unpriced(3), parse_budget("1"))
    rows = {row.policy: row for row in compare(pool, unpriced(3), chosen)}
    empty = rows[Policy.LEARNABLE]
    assert (empty.items, empty.mean_p_hat, empty.mean_learnable, empty.spent, empty.shared) == (0, None, None, 0.0, 0)
    assert rows[Policy.HARD].mean_p_hat is None
    assert rows[Policy.HARD].items == 1
