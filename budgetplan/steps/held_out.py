"""The prompts that models are measured on: a file's, or a part of the labelled items, and never one that is trained on.

Invariant: no test prompt, nor a near duplicate of one, is in any arm.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from budgetplan.config import Settings
from budgetplan.errors import BudgetError, PoolError, counted
from budgetplan.pool.reader import read_pool
from budgetplan.pool.templates import resolve_template
from budgetplan.probing.opening import default_engine
from budgetplan.records import Sampling
from budgetplan.selection.ties import tie_keys
from budgetplan.steps.evaluate import TestSet
from budgetplan.steps.pools import fields_of, pool_id_of, store_pool
from budgetplan.steps.validation_choices import ValidateChoices, part_of_items
from budgetplan.store.connection import Store
from budgetplan.store.pools import item_prompts
from budgetplan.store.runs import IMPORTED, ProbeRun
from budgetplan.validation.leaks import Leak, leaks

SEED_APART = 1_000_003
"""Added to the probe's seed: the samples that chose the items must not measure them as well."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Prompts to measure on: which items, in which pool, and the option that named them."""

    item_ids: list[str]
    pool_id: str
    flag: str

    @property
    def in_pool(self) -> bool:
        """Whether they are items of the pool that arms train on."""
        return self.flag == "--holdout"


def hold_out(
    store: Store, settings: Settings, choices: ValidateChoices, run: ProbeRun, labelled: pa.Table, wanted: Sequence[str]
) -> HeldOut:
    """The prompts of --test, or a random part of the items that have an answer.

    The audit slice is small and cannot be drawn again, so nothing of it is held out where it is wanted as an arm.
    """
    if choices.test:
        return prompts_of_file(store, settings, choices.test, "--test")
    share = part_of_items(choices.holdout, "--holdout", "a test is a part of the items", "20%")
    if "audit" in wanted:
        labelled = labelled.filter(pc.invert(labelled["audit"]))
    ids = labelled["item_id"].cast(pa.string()).combine_chunks()
    n = int(share.amount * len(ids)) if share.kind == "share" else int(share.amount)
    if not 0 < n < len(ids):
        raise BudgetError(
            f"--holdout {choices.holdout} of {len(ids)} items with an answer leaves nothing to "
            f"{'measure' if n <= 0 else 'train'} on.",
            hint="Name prompts for the test alone: --test FILE",
        )
    order = np.argsort(tie_keys(ids, settings.seed, "holdout"))
    return HeldOut(ids.take(pa.array(np.sort(order[:n]))).to_pylist(), run.pool_id, "--holdout")


def prompts_of_file(store: Store, settings: Settings, source: str, flag: str) -> HeldOut:
    """Import prompts with answers as a pool of their own."""
    pool = read_pool(source, fields=fields_of(settings), conflicts="drop")
    answered = pool.table.filter(pc.equal(pc.list_value_length(pool.table["answers"]), 1))
    if not answered.num_rows:
        raise PoolError(
            f"{flag} {source}: none of its {pool.n_items} prompts has a known answer.",
            hint="Give each its answer, or name the field: --answer-field",
        )
    with store.writing() as connection:
        store_pool(connection, pool)
    return HeldOut(answered["item_id"].to_pylist(), pool_id_of(pool), flag)


def without_leaks(
    store: Store, held_out: HeldOut, trained: list[str], choices: ValidateChoices
) -> tuple[HeldOut, list[str]]:
    """Leave prompts out that an arm trains on, and say so; of a file the user gave only if they allow it."""
    with store.reading() as connection:
        test_prompts, train_prompts = item_prompts(connection, held_out.item_ids), item_prompts(connection, trained)
    found = leaks(test_prompts, train_prompts)
    if not found:
        return held_out, []
    leaking = {leak.test_place for leak in found}
    if not held_out.in_pool and not choices.drop_leaks:
        raise _leak_error(held_out.flag, found[0], len(leaking), test_prompts, train_prompts)
    kept = [item_id for place, item_id in enumerate(held_out.item_ids) if place not in leaking]
    if not kept:
        raise PoolError(f"{held_out.flag}: an arm trains on every prompt of it.", hint="Name other prompts.")
    said = f"left out of {held_out.flag}, since an arm trains on the same or nearly: {counted(len(leaking), 'item')}"
    return replace(held_out, item_ids=kept), [said]


def _leak_error(flag: str, first: Leak, n: int, test_prompts: Sequence[str], train_prompts: Sequence[str]) -> PoolError:
    same = "the same as" if first.similarity >= 1 else "nearly the same as"
    return PoolError(
        f"{flag}: {n} of its {len(test_prompts)} prompts are trained on. The first, "
        f'"{test_prompts[first.test_place][:60]}", is {same} "{train_prompts[first.train_place][:60]}".',
        hint="Leave them out: --drop-leaks",
    )


def sampling_of(run: ProbeRun, settings: Settings) -> Sampling:
    """How the probe sampled; samples made elsewhere say nothing of that, so settings do.

    Never greedily: nothing is learned from groups of equal samples.
    """
    config = run.config if run.engine != IMPORTED else {}
    names = ("temperature", "top_p", "max_tokens", "thinking")
    sampling = Sampling(**{name: config.get(name, getattr(settings, name)) for name in names})
    return sampling if sampling.temperature else replace(sampling, temperature=1.0)


def test_set(run: ProbeRun, settings: Settings, held_out: HeldOut, n_samples: int, *, greedy: bool = False) -> TestSet:
    """Ask as the probe asked."""
    config = run.config if run.engine != IMPORTED else {}
    sampling = sampling_of(run, settings)
    engine = default_engine() if settings.engine == "auto" else settings.engine
    return TestSet(
        item_ids=tuple(held_out.item_ids),
        n_samples=1 if greedy else n_samples,
        pool_id=held_out.pool_id,
        engine=run.engine if run.engine != IMPORTED else engine,
        template=config.get("template", resolve_template(settings.template)),
        system=config.get("system", settings.system),
        sampling=replace(sampling, temperature=0.0) if greedy else sampling,
        seed=config.get("seed", settings.seed) + SEED_APART,
        verifier=run.judged_by,
        trust_remote_code=settings.trust_remote_code,
    )


def about_test(held_out: HeldOut, n_labelled: int, n_items: int) -> list[str]:
    """Say what a test of bought items can show."""
    if held_out.in_pool and 2 * n_labelled <= n_items:
        return [
            "The test is a random part of the items that were labelled, mostly ones that the policy picked: gains hold "
            "for such items, not for the pool. For the pool: --test FILE."
        ]
    return []
