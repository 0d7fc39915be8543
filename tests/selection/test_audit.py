import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budgetplan.errors import BudgetError
from budgetplan.selection.audit import cannot_conclude, default_size, draw, half_width, parse_audit


def ids(count):
    return pa.array([f"bp-{i:016x}" for i in range(count)])


EVERY = np.ones(60, np.bool_)


def test_it_is_drawn_from_the_eligible_items_alone():
    eligible = np.arange(60) % 3 == 0
    audit = draw(ids(60), eligible, seed=1, size=8)
    assert len(set(audit.index.tolist())) == 8
    assert eligible[audit.index].all()
    assert audit.inclusion == 8 / 20
    assert audit.half_width == half_width(8, 20)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 5), st.randoms(use_true_random=False))
def test_larger_slices_contain_smaller_ones_whatever_the_row_order(size, more, seed, random):
    rows = random.sample(range(60), 60)
    small = draw(ids(60), EVERY, seed, size)
    shuffled = draw(ids(60).take(pa.array(rows)), EVERY, seed, max(size, more))
    assert [rows[i] for i in shuffled.index[:size]] == small.index.tolist()


def test_every_item_is_as_likely_to_be_drawn_alone_and_in_pairs():
    draws, size = 4000, 15
    drawn = np.zeros((draws, 60), np.bool_)
    for seed in range(draws):
        drawn[seed, draw(ids(60), EVERY, seed, size).index] = True
    alone = drawn.mean(axis=0)
    assert np.all(np.abs(alone - 0.25) < 5 * np.sqrt(0.25 * 0.75 / draws))
    chance = size * (size - 1) / (60 * 59)
    pairs = (drawn.T.astype(float) @ drawn)[np.triu_indices(60, 1)] / draws
    assert np.all(np.abs(pairs - chance) < 5.5 * np.sqrt(chance * (1 - chance) / draws))


@pytest.mark.parametrize(("n_pool", "share", "n"), [(200, 0.5, 51), (1000, 0.5, 64), (1000, 0.2, 64), (300, 0.5, 20)])
def test_nine_of_ten_slices_are_within_the_half_width(n_pool, share, n):
    solved = np.arange(n_pool) < share * n_pool
    every, items = np.ones(n_pool, np.bool_), ids(n_pool)
    errors = [abs(solved[draw(items, every, seed, n).index].mean() - share) for seed in range(1500)]
    covered = np.mean(np.array(errors) <= half_width(n, n_pool))
    assert covered > 0.88
    if share == 0.5:
        assert covered < 0.95  # and it is no wider than it must be, up to the steps of 1/n


def test_the_half_width_runs_from_nothing_known_to_all_known():
    assert half_width(0, 100) == 1.0
    assert half_width(100, 100) == 0.0
    assert half_width(1, 1) == 0.0
    assert half_width(12, 10**6) == pytest.approx(0.2374, abs=1e-4)
    widths = [half_width(n, 100) for n in range(101)]
    assert widths == sorted(widths, reverse=True)


@given(st.integers(1, 10**7))
def test_the_default_size_is_the_smallest_that_is_enough(n_pool):
    n = default_size(n_pool, n_affordable=10**6)
    assert half_width(n, n_pool) <= 0.1 + 1e-12
    assert n == 1 or half_width(n - 1, n_pool) > 0.1


def test_the_default_size_leaves_nine_tenths_of_the_budget_to_the_picks_and_of_a_small_one_three_quarters():
    budgets = (0, 14, 15, 20, 39, 40, 100, 101, 110, 679, 680, 10**5)
    assert [default_size(10**6, budget) for budget in budgets] == [0, 0, 5, 5, 9, 10, 10, 10, 11, 67, 68, 68]
    assert default_size(0, 100) == 0
    assert default_size(125, 12) == 0


@pytest.mark.parametrize(
    ("text", "n"),
    [("30", 30), ("30 items", 30), (" 1 item ", 1), ("10%", 12), ("100%", 125), ("0.5%", 1), ("0", 0), ("0%", 0)],
)
def test_it_reads_what_people_write(text, n):
    assert parse_audit(text, 125) == n


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "no amount"),
        ("-3", "more than 0"),
        ("many", "cannot be read"),
        ("2.5", "whole number"),
        ("3h", "whole number"),
        ("$20", "whole number"),
        ("126", "more than the pool"),
        ("101%", "more than the pool"),
    ],
)
def test_what_it_cannot_read_is_refused_with_place_and_fix(text, what):
    with pytest.raises(BudgetError, match=what) as caught:
        parse_audit(text, 125, place="budgetplan.toml: audit")
    assert f'budgetplan.toml: audit: "{text}"' in caught.value.message
    assert caught.value.hint


def test_a_slice_too_small_says_what_it_cannot_show():
    assert cannot_conclude(12, 10**5) == (
        "12 audit items tell the pool's success rate only within ±0.24; ±0.10 takes 68"
    )
    assert "1 audit item tells" in (cannot_conclude(1, 125) or "")
    assert "no audit items" in (cannot_conclude(0, 125) or "")
    assert cannot_conclude(68, 10**5) is None
    assert cannot_conclude(44, 125) == "44 audit items tell the pool's success rate only within ±0.11; ±0.10 takes 45"
    assert cannot_conclude(45, 125) is None
    assert cannot_conclude(5, 5) is None
