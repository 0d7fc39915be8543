import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from budgetplan.errors import ConfigError, NothingToDo
from budgetplan.validation.arms import ARM_NAMES, Arm, ArmPool, NoArm, choose_arms, overlap

POLICIES = ("hard", "easy", "middle", "random", "learnable")


def pool_of(n=100, *, gold=(), held_out=(), sets=None, first_correct=None, seed=0):
    """Make a pool whose items stand from hard to easy; gold is everything where it is None."""
    random = np.random.default_rng(seed)
    rows = np.arange(n)
    orders = {"hard": rows, "easy": rows[::-1], "middle": np.argsort(np.abs(rows - n / 2), kind="stable")}
    orders |= {"random": random.permutation(n), "learnable": np.roll(rows, -n // 3)}
    return ArmPool(
        item_id=pa.array([f"bp-{row:04d}" for row in rows]),
        has_gold=np.ones(n, bool) if gold is None else np.isin(rows, gold),
        held_out=np.isin(rows, held_out),
        orders=orders,
        sets={name: np.asarray(items, np.intp) for name, items in (sets or {}).items()},
        first_correct=np.full(n, -1, np.int8) if first_correct is None else np.asarray(first_correct, np.int8),
        tie_key=random.permutation(n).astype(np.uint64),
    )


def items_of(arms):
    return {arm.name: arm.items.tolist() for arm in arms.arms}


def test_policies_take_their_first_items_that_are_not_held_out():
    arms = choose_arms(pool_of(gold=None, held_out=[0, 2, 99]), ["hard", "easy"], 3)
    assert items_of(arms) == {"hard": [1, 3, 4], "easy": [98, 97, 96]}
    assert (arms.size, arms.impossible, arms.said) == (
        3,
        (),
        ("with fewer than 10 items each, no verdict can be given",),
    )
    assert choose_arms(pool_of(gold=None), ["hard", "easy"], 10).said == ()


def test_a_policy_needs_gold_for_nine_items_in_ten_and_says_how_to_get_it():
    arms = choose_arms(pool_of(gold=[*range(60), *range(88, 100)]), ["hard", "easy"], 40)
    assert items_of(arms) == {"hard": list(range(40))}
    reason = "only 12 of the 40 easiest items have an answer; buy them: budgetplan shortlist --policy easy"
    assert arms.impossible == (NoArm("easy", reason),)


def test_a_policy_with_most_of_its_gold_trains_on_these_items_and_the_others_on_as_many():
    arms = choose_arms(pool_of(gold=[*range(1, 100)]), ["easy", "hard"], 10)
    assert items_of(arms) == {"easy": list(range(99, 90, -1)), "hard": list(range(1, 10))}
    assert arms.said == (
        "9 items each: the arm hard has no more",
        "with fewer than 10 items each, no verdict can be given",
    )


def test_a_short_audit_slice_sets_the_size_of_all_and_every_arm_keeps_its_first_items():
    bought, audit = list(range(40, 0, -1)), [50, 7, *range(60, 81)]
    pool = pool_of(gold=[*bought, *audit], sets={"shortlist": bought, "audit": audit})
    arms = choose_arms(pool, ["shortlist", "audit"], 40)
    assert items_of(arms) == {"shortlist": bought[:23], "audit": audit}
    assert (arms.size, arms.said) == (23, ("23 items each: the audit slice has no more",))


def test_a_policy_is_asked_for_no_more_gold_than_the_common_size_needs():
    pool = pool_of(gold=range(30), sets={"shortlist": range(29, -1, -1)})
    arms = choose_arms(pool, ["shortlist", "hard"], 100)
    assert items_of(arms)["hard"] == list(range(30))
    assert "hard shares 100 % of its items with shortlist" in arms.said


def test_stored_sets_leave_out_items_without_gold_and_held_out_ones():
    pool = pool_of(gold=[5, 6, 7, 9], held_out=[6], sets={"shortlist": [9, 8, 7, 6, 5], "audit": [5, 7, 9, 11]})
    assert items_of(choose_arms(pool, ["shortlist", "audit"], 3)) == {"shortlist": [9, 7, 5], "audit": [5, 7, 9]}


@pytest.mark.parametrize(
    ("name", "sets", "reason"),
    [
        ("shortlist", {}, "no shortlist is stored; make one: budgetplan shortlist"),
        ("audit", {"audit": [80, 81]}, "none of the audit slice's 2 items has an answer; bring the answers"),
        ("shortlist", {"shortlist": [0, 1, 80]}, "all of the shortlist's 2 items with an answer are held out as test"),
        ("base-right", {}, "no item whose first sample was right has an answer; buy some"),
    ],
)
def test_an_arm_without_any_item_is_named_with_the_reason_and_the_rest_run(name, sets, reason):
    arms = choose_arms(pool_of(gold=range(50), held_out=[0, 1], sets=sets), ["hard", name], 20)
    assert [arm.name for arm in arms.arms] == ["hard"]
    assert arms.impossible[0].name == name
    assert arms.impossible[0].reason.startswith(reason)


def test_base_right_and_base_wrong_are_drawn_by_the_tie_key_and_equally_large():
    first_correct = [1] * 12 + [0] * 60 + [-1] * 28
    pool = pool_of(gold=range(90), held_out=[0], first_correct=first_correct)
    arms = choose_arms(pool, ["base-wrong", "base-right"], 30)
    items = items_of(arms)
    assert len(items["base-wrong"]) == len(items["base-right"]) == 11
    assert sorted(items["base-right"]) == list(range(1, 12))
    assert items["base-wrong"] == sorted(range(12, 72), key=lambda row: pool.tie_key[row])[:11]
    assert arms.said == ("11 items each: the arm base-right has no more",)


def test_all_alone_may_be_larger_and_says_so():
    arms = choose_arms(pool_of(1000, gold=range(910), held_out=range(10)), ["hard", "all"], 100)
    assert sorted(items_of(arms)["all"]) == list(range(10, 910))
    assert (arms.size, arms.said) == (100, ("all trains on 900 items, the others on 100; steps are the same",))
    assert choose_arms(pool_of(gold=range(40)), ["all"], 10).size == 40


def test_all_sets_no_size_for_the_policies():
    arms = choose_arms(pool_of(gold=range(40)), ["all", "hard"], 50)
    assert [each.name for each in arms.impossible] == ["hard"]


def test_a_name_given_twice_is_one_arm_and_an_unknown_one_is_refused_with_the_choice():
    assert [arm.name for arm in choose_arms(pool_of(gold=None), ["easy", "hard", "easy"], 5).arms] == ["easy", "hard"]
    with pytest.raises(ConfigError, match="'hardest'") as told:
        choose_arms(pool_of(gold=None), ["hard", "hardest"], 5)
    assert all(name in told.value.hint for name in ARM_NAMES)
    for names, size in (([], 5), (["hard"], 0)):
        with pytest.raises(ConfigError):
            choose_arms(pool_of(gold=None), names, size)


def test_no_arm_at_all_says_what_to_do_about_each():
    with pytest.raises(NothingToDo) as told:
        choose_arms(pool_of(), ("shortlist", "hard", "random", "audit"), 10)
    assert "hard: only 0 of the 10 hardest items have an answer" in told.value.hint
    assert "budgetplan shortlist --policy hard" in told.value.hint
    assert "audit: no audit slice is stored" in told.value.hint


def test_overlap_is_the_share_of_the_smaller_arm():
    few, many = Arm("hard", np.array([3, 1])), Arm("all", np.array([1, 2, 5, 9]))
    assert overlap(few, many) == overlap(many, few) == 0.5
    assert overlap(few, few) == 1.0


@settings(deadline=None)
@given(st.data())
def test_no_arm_trains_on_a_held_out_item_on_one_without_gold_or_on_one_twice(data):
    n = data.draw(st.integers(1, 60))
    some = st.lists(st.integers(0, n - 1), unique=True)
    sets = {name: data.draw(some) for name in data.draw(st.sets(st.sampled_from(["shortlist", "audit"])))}
    few = data.draw(some)
    pool = pool_of(
        n,
        gold=np.setdiff1d(np.arange(n), few) if data.draw(st.booleans()) else few,
        held_out=data.draw(some),
        sets=sets,
        first_correct=data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n, max_size=n)),
    )
    wanted = data.draw(st.lists(st.sampled_from(ARM_NAMES), min_size=1))
    size = data.draw(st.integers(1, 70))
    try:
        arms = choose_arms(pool, wanted, size)
    except NothingToDo:
        return
    assert {each.name for each in (*arms.arms, *arms.impossible)} == set(wanted)
    for arm in arms.arms:
        assert (pool.has_gold & ~pool.held_out)[arm.items].all()
        assert len(set(arm.items.tolist())) == len(arm.items) > 0
        assert arm.name == "all" or len(arm.items) == arms.size <= size
