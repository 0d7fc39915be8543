from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.errors import BudgetError
from budgetplan.selection.budget import parse_budget
from budgetplan.selection.choose import Wishes, choose
from budgetplan.selection.compare import compare
from budgetplan.selection.costs import parse_cost_column, unpriced
from budgetplan.selection.policy import Policy
from budgetplan.selection.quotas import Bound, Quota, Quotas, parse_quota, parse_quotas


def quotas_on(topics, *texts):
    """Quotas, each on a topic of the pool."""
    asked = parse_quotas(texts)
    return Quotas(asked, np.array([[topic == quota.value for topic in topics] for quota in asked]))


def usd(pool, values):
    return parse_cost_column("usd", pa.array(values), pool.item_id, pool.eligible)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("topic=algebra:20%..40%", Quota("topic", "algebra", Bound(Fraction(1, 5), True), Bound(Fraction(2, 5), True))),
        ("topic=geometry:5..", Quota("topic", "geometry", Bound(Fraction(5), False), None)),
        (" a = b=c:d : .. 7 items", Quota("a", "b=c:d", None, Bound(Fraction(7), False))),
        ("topic=:0..33.3%", Quota("topic", "", Bound(Fraction(0), False), Bound(Fraction(333, 1000), True))),
    ],
)
def test_a_quota_as_people_write_it(text, expected):
    assert parse_quota(text) == expected
    assert parse_quota(str(expected).removeprefix("--quota ")) == expected


@pytest.mark.parametrize(
    ("texts", "message", "hint"),
    [
        (["topic=a"], "is not COLUMN=VALUE:LOW..HIGH", "--quota topic=algebra:20%..40%"),
        (["topic:1..2"], "is not COLUMN=VALUE:LOW..HIGH", "For example"),
        (["topic=a:.."], "neither a LOW nor a HIGH", "For example"),
        (["topic=a:40%..20%"], "40% is above 20%", "--quota topic=a:20%..40%"),
        (["topic=a:9..3"], "9 is above 3", "--quota topic=a:3..9"),
        (["topic=a:120%.."], "neither a share of the picks up to 100%", "For example"),
        (["topic=a:1.5.."], "nor a whole number of items", "For example"),
        (["topic=a:5h.."], "neither a share", "For example"),
        (["topic=a:1..", "topic=a:..2"], "two quotas on topic=a", "--quota topic=a:1..2"),
    ],
)
def test_what_is_no_quota_says_how_to_write_it(texts, message, hint):
    with pytest.raises(BudgetError, match=message) as caught:
        parse_quotas(texts)
    assert hint in caught.value.hint


TOPICS = ["a"] * 12 + ["b"] * 5 + ["c"] * 3


@pytest.mark.parametrize(
    ("texts", "budget", "message", "hint"),
    [
        (["t=a:60%..", "t=b:50%.."], "10", r"add up to 110% \(a 60%, b 50%\)", "--quota t=b:40%.."),
        (["t=c:9.."], "10", "only 3 items with this value", "--quota t=c:3.."),
        (["t=a:..10%", "t=b:..10%", "t=c:..10%"], "10", "no picks keep these quotas together", "Widen"),
        (["t=a:90%..", "t=b:2.."], "20", "no picks keep these quotas together: --quota t=a:90%.., --quota t=b:2..", ""),
        (["t=b:4..", "t=a:50%.."], "7", "the cheapest items that keep the quotas cost 8 items", "--budget 8"),
        (["t=b:1%..2%"], "10", r"t=b:1%..2% cannot be kept: of the 20 items that can be picked, 5 have", "Widen it"),
    ],
)
def test_quotas_that_cannot_be_kept_are_named(pool_of, texts, budget, message, hint):
    pool = pool_of([0.1] * 20)
    wishes = Wishes(quotas=quotas_on(TOPICS, *texts))
    with pytest.raises(BudgetError, match=message) as caught:
        choose(pool, Policy.HARD, unpriced(20), parse_budget(budget), wishes=wishes)
    assert hint in caught.value.hint


@pytest.mark.parametrize("policy", list(Policy))
def test_every_policy_keeps_the_quotas_and_the_budget(pool_of, policy):
    pool = pool_of([(7 * i % 11) / 10 for i in range(60)], first_correct=[0] * 60)
    topics = ["a"] * 40 + ["b"] * 14 + ["c"] * 6
    for costs in (unpriced(60), usd(pool, [1 + i % 5 for i in range(60)])):
        wishes = Wishes(quotas=quotas_on(topics, "t=a:20%..40%", "t=c:2..", "t=b:..5"))
        choice = choose(pool, policy, costs, parse_budget("30%"), wishes=wishes)
        in_a, in_c, in_b = (kept.items for kept in choice.quotas)
        assert 20 * len(choice.order) <= 100 * in_a <= 40 * len(choice.order)
        assert (in_c >= 2, in_b <= 5) == (True, True)
        assert choice.spent <= 0.3 * costs.total(np.arange(60))
        assert {row.policy: row.items for row in compare(pool, costs, choice, wishes)}[policy] == len(choice.order)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 5), st.sampled_from([Policy.HARD, Policy.RANDOM]), st.randoms(use_true_random=False))
def test_row_order_does_not_matter_under_quotas(pool_of, reordered, ids_of, seed, policy, random):
    pool = pool_of([(7 * i % 11) / 10 for i in range(20)])
    costs = [1 + 3 * i % 7 for i in range(20)]
    rows = random.sample(range(20), 20)
    shuffled = reordered(pool, rows)
    one, other = (
        choose(p, policy, usd(p, [costs[i] for i in r]), parse_budget("50%"), seed=seed, wishes=Wishes(quotas=q))
        for p, r, q in [
            (pool, range(20), quotas_on(TOPICS, "t=a:..40%", "t=c:1..")),
            (shuffled, rows, quotas_on([TOPICS[i] for i in rows], "t=a:..40%", "t=c:1..")),
        ]
    )
    assert ids_of(pool, one) == ids_of(shuffled, other)


def test_random_under_quotas_takes_each_group_in_the_seeded_order(pool_of):
    pool = pool_of([0.5] * 40)
    topics = ["a"] * 30 + ["b"] * 10
    costs = usd(pool, [1 + i % 4 for i in range(40)])
    choice = choose(
        pool, Policy.RANDOM, costs, parse_budget("$40"), wishes=Wishes(quotas=quotas_on(topics, "t=b:50%.."))
    )
    plain = choose(pool, Policy.RANDOM, unpriced(40), parse_budget("100%"))
    in_b = [i for i in plain.order if i >= 30]
    picked = [i for i in choice.order if i >= 30]
    assert choice.solver.status == "filled"
    assert picked[:-2] == in_b[: len(picked) - 2]  # what still fits at the end may skip


def test_must_have_items_are_paid_first_and_count_for_the_quotas(pool_of):
    pool = pool_of([i / 20 for i in range(19)], nothing=1, k=20)
    must = np.array([18, 19])  # the easiest, and one that no policy can rank
    choice = choose(pool, Policy.HARD, unpriced(20), parse_budget("5"), wishes=Wishes(must=must))
    assert choice.order.tolist() == [0, 1, 2, 18, 19]
    assert (choice.n_must, choice.spent) == (2, 5.0)
    quotas = quotas_on(TOPICS, "t=c:..2")
    choice = choose(pool, Policy.EASY, unpriced(20), parse_budget("5"), wishes=Wishes(must=must, quotas=quotas))
    assert sorted(choice.order.tolist()) == [14, 15, 16, 18, 19]
    only = choose(pool, Policy.HARD, unpriced(20), parse_budget("2"), wishes=Wishes(must=must))
    assert sorted(only.order.tolist()) == [18, 19]


def test_a_budget_below_the_must_have_items_says_what_they_cost(pool_of):
    pool = pool_of([0.1] * 10)
    wishes = Wishes(must=np.array([1, 2, 3]))
    with pytest.raises(BudgetError, match=r"budget 5 usd is below the 3 must-have items \(9 usd\)") as caught:
        choose(pool, Policy.HARD, usd(pool, [2, 3, 3, 3] + [1] * 6), parse_budget("$5"), wishes=wishes)
    assert "--budget 9usd" in caught.value.hint


def test_a_policy_that_cannot_keep_the_quotas_has_an_empty_row(pool_of):
    pool = pool_of([0.5] * 20, first_correct=[0] * 12 + [1] * 8)
    wishes = Wishes(quotas=quotas_on(TOPICS, "t=c:1.."))
    chosen = choose(pool, Policy.HARD, unpriced(20), parse_budget("5"), wishes=wishes)
    rows = {row.policy: row.items for row in compare(pool, unpriced(20), chosen, wishes)}
    assert (rows[Policy.HARD], rows[Policy.BASE_WRONG]) == (5, 0)
