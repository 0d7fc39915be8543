"""The arms of a validation from the store: what each policy ranks first, what was bought, and what is known of it."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from budgetplan.errors import BudgetError
from budgetplan.pool.templates import chats_as_json
from budgetplan.selection.policy import Policy
from budgetplan.selection.scores import score
from budgetplan.selection.ties import tie_keys
from budgetplan.steps.estimates import PoolEstimates
from budgetplan.steps.evaluate import TestSet
from budgetplan.steps.validation_choices import part_of_items
from budgetplan.store.connection import Store
from budgetplan.store.pools import own_columns_as_json
from budgetplan.validation.arms import Arm, ArmPool, Arms, choose_arms

DEFAULT_BUDGET = "10%"
PAPER_ARMS = ("hard", "easy", "middle", "random")
BOUGHT_ARMS = ("shortlist", "audit")


def default_arms(labelled: pa.Table, audit: Sequence[str], estimates: PoolEstimates) -> tuple[str, ...]:
    """The paper's four where most answers are known, else what was bought."""
    if 2 * labelled.num_rows > estimates.table.num_rows:
        return PAPER_ARMS
    return BOUGHT_ARMS if audit else ("shortlist", "random")


def make_arms(
    estimates: PoolEstimates,
    labelled: pa.Table,
    audit: Sequence[str],
    not_trained: Sequence[str],
    wanted: Sequence[str],
    budget: str | None,
    seed: int,
) -> Arms:
    """Make the arms; items that are not to be trained on are in none."""
    ids = estimates.table["item_id"].cast(pa.string()).combine_chunks()
    candidates = estimates.candidates()
    picked = labelled.filter(pc.fill_null(labelled["picked"], False))["item_id"].to_pylist()
    sets = {"shortlist": picked, "audit": audit}
    held_out = pc.is_in(ids, value_set=pa.array(not_trained, pa.string())).to_numpy(zero_copy_only=False)
    pool = ArmPool(
        item_id=ids,
        has_gold=pc.is_in(ids, value_set=labelled["item_id"].cast(pa.string())).to_numpy(zero_copy_only=False),
        held_out=held_out,
        orders={str(policy): score(candidates, policy, seed).ranking() for policy in Policy},
        sets={name: _places(ids, members) for name, members in sets.items() if members},
        first_correct=candidates.first_correct,
        tie_key=tie_keys(ids, seed, "arms"),
    )
    bought = len(set(picked) - set(not_trained)) if "shortlist" in wanted else 0
    return choose_arms(pool, wanted, _size(budget, bought, len(ids) - int(held_out.sum())))


def _size(asked: str | None, n_bought: int, n_items: int) -> int:
    """Items per arm: as many as were bought, or floor(p · N) of those that may be trained on, or as many as named."""
    if asked is None and n_bought:
        return n_bought
    budget = part_of_items(DEFAULT_BUDGET if asked is None else asked, "--budget", "arms are equal in items", "10%")
    size = int(budget.amount * n_items) if budget.kind == "share" else int(budget.amount)
    if not size:
        raise BudgetError(f"--budget {budget.text} of {n_items} items is not one item.", hint="Raise it.")
    return size


def _places(ids: pa.StringArray, members: Sequence[str]) -> NDArray[np.intp]:
    places = pc.index_in(pa.array(members, pa.string()), value_set=ids)
    return np.asarray(places.drop_null(), dtype=np.intp)


def training_sets(
    store: Store, pool_id: str, labelled: pa.Table, items: Mapping[str, Sequence[str]], asked: TestSet
) -> dict[str, pa.Table]:
    """The items of every arm in its order, as a training takes them: item_id, messages, answer, columns.

    `messages` is the chat as JSON, as models are asked in the test.
    """
    with store.reading() as connection:
        own = own_columns_as_json(connection, pool_id)
    sets = {}
    for arm, item_ids in items.items():
        wanted = pa.array(item_ids, pa.string())
        rows = labelled.take(pc.index_in(wanted, value_set=labelled["item_id"].cast(pa.string())))
        columns = own["columns"].take(pc.index_in(wanted, value_set=own["item_id"].cast(pa.string())))
        chats = chats_as_json(rows["prompt"], rows["messages"], asked.template, asked.system)
        sets[arm] = pa.table({"item_id": wanted, "messages": chats, "answer": rows["answer"], "columns": columns})
    return sets


def posteriors(
    estimates: PoolEstimates, arms: Sequence[Arm]
) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """The Beta posteriors of every arm's items, from the samples taken before training; those without any left out."""
    n_correct, k = (estimates.table[name].to_numpy() for name in ("n_correct", "k"))
    found = {}
    for arm in arms:
        counted = arm.items[k[arm.items] > 0]
        n, total = n_correct[counted], k[counted]
        found[arm.name] = (estimates.prior.a + n, estimates.prior.b + total - n)
    return found
