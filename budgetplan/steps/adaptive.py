"""Adaptive probing: every item once, then round after round of samples where they are worth most for a shortlist.

Invariant: which samples a round takes follows from what is stored, and is stored before they are taken, so a probe that
was killed ends with the samples of one that was not.
"""

import math
from dataclasses import dataclass, replace
from functools import partial

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from budgetplan.config import Settings
from budgetplan.difficulty.horizon import expected_rise, mixed_group_chance
from budgetplan.difficulty.value_of_sampling import Sampled as Known
from budgetplan.difficulty.value_of_sampling import Score, expected_loss, value_of_sampling, worth_most
from budgetplan.probing.engine import Engine
from budgetplan.probing.rounds import NOTHING, Sampled
from budgetplan.records import Progress
from budgetplan.selection.budget import parse_budget
from budgetplan.selection.candidates import CALIBRATED, SIGNALS, VERIFIED, Candidates
from budgetplan.selection.policy import Policy
from budgetplan.selection.spending import affordable_items, below_cheapest, costs_under
from budgetplan.selection.ties import tie_keys
from budgetplan.steps.estimates import PoolEstimates, estimates_to_rank, pool_estimates
from budgetplan.steps.missing import Missing, find_gaps
from budgetplan.steps.pricing import item_costs
from budgetplan.steps.probe_check import CheckedProbe
from budgetplan.steps.rounds import available, carried_on
from budgetplan.steps.sampling import sample_into_store
from budgetplan.steps.signals import run_to_rank
from budgetplan.steps.verify import kept_judges, verify_run
from budgetplan.store.connection import Store
from budgetplan.store.runs import ProbeRun, find_any_run
from budgetplan.store.sample_targets import (
    SamplingAim,
    sample_targets,
    sampling_aim,
    save_sample_targets,
    save_sampling_aim,
)

ROUND_SHARE = 8
"""A round is one sample of every so-many-th item: enough to keep an engine busy, few enough to learn in between."""
MOST_SHARE = 2
"""At most one sample in so many of those that K of every item would be: as good a pick, at half the price."""
MOST_TIMES = 2
"""No item gets more than so many times K."""
NEGLIGIBLE = 1e-4
"""Rounds end when the next one is expected to raise the mean score of the picks by less than this."""
NEED_ONE_SAMPLE = (Policy.RANDOM, Policy.BASE_WRONG)
"""Policies that look at one sample at most."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where an adaptive probe stands: its samples beside K of every item, and what that is expected to cost the picks.

    `expected_loss` is per pick, in the policy's score; None where nothing tells items apart, and all got K.
    """

    aim: SamplingAim
    n_samples: int
    n_uniform: int
    n_picks: int
    fewest: int
    most: int
    expected_loss: float | None


@dataclass(frozen=True, slots=True, eq=False)
class _Standing:
    """What was asked for of every item, in file order, and what is known of those that can still be picked (`rows`).

    The rows are in the order of their keys.

    `is_blind`: their samples cannot be judged, and too few others to learn from, so nothing tells them apart.
    """

    targets: NDArray[np.int64]
    rows: NDArray[np.intp]
    known: Known
    score: Score
    n_picks: int
    keys: NDArray[np.uint64]
    is_blind: bool


def sample_adaptively(
    engine: Engine, store: Store, checked: CheckedProbe, aim: SamplingAim, settings: Settings, progress: Progress
) -> Sampled:
    """Sample round after round until nothing more is worth it, each judged before the next.

    The pool is in the store. Raises BudgetError, before anything is sampled, for a budget that buys nothing of it.
    """
    run, sampled, within = checked.run, NOTHING, _OneBar(progress)
    with store.reading() as connection:
        _n_picks(connection, run, aim, settings, pool_estimates(store, run, settings.group_size, None).candidates())
    with store.writing() as connection:
        save_sampling_aim(connection, run.run_id, run.pool_id, aim)
    targets = np.maximum(targets_of(store, checked), _can_be_sampled(checked))
    progress.start("sampling", most_samples(int((targets > 0).sum()), settings.k))
    with kept_judges() as judges:
        while True:
            _save_targets(store, checked, targets)
            missing = _missing(store, checked, targets)
            if missing.n_samples:
                sampled = sampled.plus(sample_into_store(engine, store, run, missing, within))
            run = verify_run(store, run, run.verifier, within, judges)
            following = _next(store, run, aim, settings, targets, within)
            if np.array_equal(following, targets):
                progress.finish()
                return sampled
            targets = following


def is_complete(store: Store, checked: CheckedProbe, aim: SamplingAim, settings: Settings, progress: Progress) -> bool:
    """Whether a probe for the same picks has taken all that is worth taking, so that no model need be loaded."""
    if not store.path.exists():
        return False
    with store.reading() as connection:
        before = sampling_aim(connection, checked.run.run_id, checked.run.pool_id)
        stored = find_any_run(connection, checked.run.run_id)
    if stored is None or stored.pool_id != checked.run.pool_id:
        return False
    targets = targets_of(store, checked)
    if before != aim or (targets < _can_be_sampled(checked)).any() or _missing(store, checked, targets).n_samples:
        return False
    return np.array_equal(_next(store, checked.run, aim, settings, targets, progress), targets)


def targets_of(store: Store, checked: CheckedProbe) -> NDArray[np.int64]:
    """How many samples of each item were asked for by now, in file order."""
    with store.reading() as connection:
        ids = checked.pool.table["item_id"].combine_chunks()
        return np.asarray(sample_targets(connection, checked.run.run_id, ids), dtype=np.int64)


def _save_targets(store: Store, checked: CheckedProbe, targets: NDArray[np.int64]) -> None:
    ids, wanted = checked.pool.table["item_id"].combine_chunks(), pa.array(targets, pa.int32())
    with store.writing() as connection:
        save_sample_targets(connection, checked.run.run_id, ids, wanted)


def _can_be_sampled(checked: CheckedProbe) -> NDArray[np.bool_]:
    too_long = pa.array(checked.too_long, pa.string())
    marks = pc.is_in(checked.pool.table["item_id"].combine_chunks(), value_set=too_long)
    return ~np.asarray(marks.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _missing(store: Store, checked: CheckedProbe, targets: NDArray[np.int64]) -> Missing:
    return replace(checked.missing, gaps=find_gaps(store, checked.run.run_id, checked.pool.table, targets))


def most_samples(n_items: int, k: int) -> int:
    """How many samples an adaptive probe takes at most."""
    return max(n_items, math.ceil(n_items * k / MOST_SHARE))


def standing_of_samples(store: Store, run: ProbeRun, settings: Settings, progress: Progress) -> Placed | None:
    """Where the samples of a run stand that were placed for a shortlist; None where every item gets K."""
    with store.reading() as connection:
        aim = sampling_aim(connection, run.run_id, run.pool_id)
    if aim is None:
        return None
    with run_to_rank(store, run.run_id, progress) as ready:
        at = _standing(store, ready, aim, settings)
    sampled = at.targets[at.targets > 0]
    loss = None if at.is_blind else expected_loss(at.known, at.score, at.n_picks, settings.k, seed=settings.seed)
    return Placed(
        aim=aim,
        n_samples=int(sampled.sum()),
        n_uniform=len(sampled) * settings.k,
        n_picks=at.n_picks,
        fewest=int(sampled.min()) if len(sampled) else 0,
        most=int(sampled.max(initial=0)),
        expected_loss=0.0 if Policy(aim.policy) in NEED_ONE_SAMPLE else loss,
    )


def _next(
    store: Store,
    run: ProbeRun,
    aim: SamplingAim,
    settings: Settings,
    targets: NDArray[np.int64],
    progress: Progress,
) -> NDArray[np.int64]:
    """The targets after one more round; the same where no round is worth it."""
    wanted = targets.copy()
    if Policy(aim.policy) in NEED_ONE_SAMPLE:
        return wanted
    with run_to_rank(store, run.run_id, progress) as ready:
        at = _standing(store, ready, aim, settings)
    if at.is_blind:
        asked = at.rows[wanted[at.rows] > 0]
        wanted[asked] = np.maximum(wanted[asked], settings.k)
        return wanted
    size = min(math.ceil(len(wanted) / ROUND_SHARE), most_samples(len(wanted), settings.k) - int(wanted.sum()))
    value = value_of_sampling(at.known, at.score, at.n_picks)
    value[at.known.taken == 0] = 0.0  # longer than the context
    chosen = worth_most(value, at.known.taken, at.keys, max(size, 0), MOST_TIMES * settings.k)
    if value[chosen].sum() >= NEGLIGIBLE * at.n_picks:
        wanted[at.rows[chosen]] += 1
    return wanted


def _standing(store: Store, run: ProbeRun, aim: SamplingAim, settings: Settings) -> _Standing:
    with store.reading() as connection:
        estimates = estimates_to_rank(store, run, settings.group_size, settings.passes_per_item)
        candidates = estimates.candidates(available=available(connection, run.pool_id, estimates.table.num_rows))
        n_picks = _n_picks(connection, run, aim, settings, candidates)
        targets = np.asarray(sample_targets(connection, run.run_id, candidates.item_id), dtype=np.int64)
    estimated = np.isin(candidates.source, (VERIFIED, CALIBRATED))
    is_blind = bool((candidates.source == SIGNALS)[candidates.available].any())
    keys = tie_keys(candidates.item_id, settings.seed, "adaptive")
    rows = np.flatnonzero(candidates.available & (estimated | is_blind))
    rows = rows[np.argsort(keys[rows], kind="stable")]  # the pool's row order changes nothing
    known = _known(estimates, targets).of(rows)
    return _Standing(
        targets=targets,
        rows=rows,
        known=known,
        score=score_of(Policy(aim.policy), settings, known),
        n_picks=n_picks,
        keys=keys[rows],
        is_blind=is_blind,
    )


def _n_picks(
    connection: duckdb.DuckDBPyConnection, run: ProbeRun, aim: SamplingAim, settings: Settings, candidates: Candidates
) -> int:
    """How many items of average cost the budget buys, whatever is bought already; costs as in the last shortlist.

    Raises BudgetError where it buys none, or is in a unit that the costs do not have.
    """
    budget = parse_budget(aim.budget)
    if not (settings.cost_column or settings.cost_per_item):
        settings = carried_on(connection, run.pool_id, settings, {"policy"})
    costs = item_costs(connection, run.pool_id, settings, candidates, budget).costs
    whole = replace(candidates, available=np.ones_like(candidates.available))
    n_picks = affordable_items(budget, costs, whole)
    if not n_picks:
        paid_in = costs_under(budget, costs)
        raise below_cheapest(budget, paid_in, whole, int(np.argmin(paid_in.quanta)))
    return n_picks


def _known(estimates: PoolEstimates, taken: NDArray[np.int64]) -> Known:
    """Posteriors of all items; a sample of a calibrated one adds as much as those that it has did on average."""
    table, prior = estimates.table, estimates.prior
    k, n_correct = (table[name].to_numpy().astype(np.float64) for name in ("k", "n_correct"))
    a, b, weight = prior.a + n_correct, prior.b + k - n_correct, np.ones(len(k))
    others = estimates.unanswered
    if others is not None and others.calibrated is not None:
        predicted = np.flatnonzero(pc.fill_null(pc.equal(table["source"], CALIBRATED), False).to_numpy())
        concentration, p = others.calibrated.calibration.concentration, others.calibrated.p[predicted]
        a[predicted], b[predicted] = concentration * p, concentration * (1.0 - p)
        weight[predicted] = np.minimum(concentration / np.maximum(taken[predicted], 1), 1.0)
    return Known(a, b, taken, weight)


def score_of(policy: Policy, settings: Settings, known: Known | None = None) -> Score:
    """What an item with posterior Beta(a, b) is worth to a policy, larger is better.

    For `middle` the median is that of what is known now.
    """
    match policy:
        case Policy.EASY:
            return lambda a, b: a / (a + b)
        case Policy.LEARNABLE:
            return partial(mixed_group_chance, group_size=settings.group_size)
        case Policy.HORIZON:
            rise = expected_rise(settings.passes_per_item)
            return partial(mixed_group_chance, group_size=settings.group_size, rise=rise)
        case Policy.MIDDLE if known is not None:
            median = float(np.median(known.a / (known.a + known.b))) if len(known.a) else 0.5
            return lambda a, b: -np.abs(a / (a + b) - median)
        case _:
            return lambda a, b: b / (a + b)


class _OneBar:
    """Progress of a round within the bar of the whole: it advances, and begins and ends nothing."""

    def __init__(self, whole: Progress) -> None:
        self._whole = whole
        self._counts = False

    def start(self, task: str, total: int | None) -> None:
        """Count from now on only what is sampled."""
        self._counts = task == "sampling"

    def advance(self, steps: int) -> None:
        """Move the bar of the whole on."""
        if self._counts:
            self._whole.advance(steps)

    def note(self, text: str) -> None:
        """Say it beside the bar."""
        self._whole.note(text)

    def finish(self) -> None:
        """Count nothing until the next start."""
        self._counts = False
