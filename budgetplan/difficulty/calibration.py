"""From label-free features to p with uncertainty, learned from the items whose samples were judged.

Invariant: no item's own judged samples, nor its fold's, touch its held-out prediction; with few items every prediction
stays near the cold start, since a few made-up items that follow it are always among those learned from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from budgetplan.difficulty.cold_start import RULE, cold_scale, cold_score, typical_p
from budgetplan.difficulty.features import SIGNALS, Features, weighted_sum

FEWEST_ITEMS = 5
"""Judged items that a calibration takes."""
FEWEST_TO_CHOOSE = 60
"""Judged items from which on more than the score's own scale may be learned.

On the six sets of `tests/benchmarks/bench_difficulty.py`, picks among unlabelled items were worse by .01 of quality
where the choice was made with 25 or 50; from 75 on, on the four sets that have so many to give, better.
"""
MOST_ITEMS = 4_000
"""Judged items that are learned from; more add nothing to a few weights."""
N_FOLDS = 5
SCORE = "score"
SCALED = "scaled"
"""The model that keeps the cold start's order."""

_MADE_UP_SCORES = np.array([-5.0, -2.5, 0.0, 2.5, 5.0]) / 3.0
_MADE_UP_WEIGHT = 3.0
_WITHIN_ITEM_CORRELATION = 1.0 / 3.0  # of outcomes, at the concentration 2 of typical pools
_SCORE_SCALE = 10.0  # so that the ridge penalty hardly touches the score's slope,
_SIGNAL_SCALE = np.sqrt(0.02)  # and holds every other weight near 0
_TYPICAL_CONCENTRATION = 2.0
_PENALTY_OF_CONCENTRATION = 5.0
_CAUTION = 0.5
_LEAST_SLOPE = 0.1  # of logit p over the score where it is only rescaled, so that its order stays
_LEAST_P = 0.005


class Labelled(NamedTuple):
    """Judged items: rows of the features, their counts, and each one's fold (0 … N_FOLDS - 1)."""

    rows: NDArray[np.intp]
    n_correct: NDArray[np.int64]
    k: NDArray[np.int64]
    fold: NDArray[np.int64]

    def where(self, chosen: NDArray[np.bool_]) -> "Labelled":
        """Only the chosen ones."""
        return Labelled(self.rows[chosen], self.n_correct[chosen], self.k[chosen], self.fold[chosen])


@dataclass(frozen=True, slots=True)
class Calibration:
    """A logistic model of p: everything that its predictions follow from, fit for JSON.

    A number is standardised as (number - `center`) / `spread`; one that is missing becomes 0. The signals added up by
    `rule` and standardised again are `score`, the cold start's. With q the logistic function of `intercept` and the
    standardised numbers times `weights`, the prediction m is `least_p` + (1 - 2·`least_p`)·q, and p of the item is
    Beta(c·m, c·(1 - m)) with the `concentration` c. `losses` are the cross-validated log losses of the models that
    were compared; empty where there were too few items to compare.
    """

    model: str
    intercept: float
    weights: dict[str, float]
    rule: dict[str, float]
    center: dict[str, float]
    spread: dict[str, float]
    least_p: float
    concentration: float
    losses: dict[str, float]
    n_items: int
    n_samples: int


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated:
    """Predictions: `p` (n,) for every item with samples (nan without), `held_out` (n,) only for the judged items.

    `held_out` predicts each judged item by a model that was chosen and fitted without its fold.
    """

    calibration: Calibration
    p: NDArray[np.float64]
    held_out: NDArray[np.float64]


def calibrate(features: Features, labelled: Labelled) -> Calibrated | None:
    """Fit, choose and predict; None for fewer than FEWEST_ITEMS judged items.

    Candidates, simplest first: the cold start's score rescaled (Platt 1999), the signals as corrections to it, the
    prompts' TF-IDF components beside them, all ridge-penalised logistic regressions in which every judged item brings
    all its samples, discounted for their correlation. The simplest whose cross-validated loss is within one standard
    error of the best is taken, and below FEWEST_TO_CHOOSE judged items the simplest. Rescaling never turns the cold
    start's order round: labels that contradict it flatten the predictions. The other models may, and are taken only
    where items that they did not see speak for them.

    Where more than MOST_ITEMS are judged, the first are learned from: give them in random order.
    """
    if len(labelled.rows) < FEWEST_ITEMS:
        return None
    learned = labelled.where(np.arange(len(labelled.rows)) < MOST_ITEMS)
    table = _Table(cold_score(features), features)
    chosen = _choose(table, learned)
    fitted = _fit(table, chosen.columns, learned)
    held_out = np.full(len(features.sampled), np.nan)
    for fold in np.unique(labelled.fold):
        inside, outside = labelled.where(labelled.fold == fold), learned.where(learned.fold != fold)
        model = _fit(table, _choose(table, outside).columns, outside)
        held_out[inside.rows] = model.predict(table, inside.rows)
    p = np.where(features.sampled, fitted.predict(table, np.arange(len(held_out))), np.nan)
    concentration = _concentration(held_out[learned.rows], learned)
    return Calibrated(_record(features, fitted, chosen, concentration, learned), p, held_out)


class _Table(NamedTuple):
    score: NDArray[np.float64]
    features: Features

    def columns(self, names: Sequence[str], rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """The score, then the named features, on the scale at which the penalty is the same for all."""
        others = self.features.of(names)[rows] * _SIGNAL_SCALE
        return np.column_stack([np.nan_to_num(self.score[rows]) * _SCORE_SCALE, others])


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    names: tuple[str, ...]
    intercept: float
    slopes: NDArray[np.float64]

    def predict(self, table: _Table, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        from scipy.special import expit

        predicted = expit(self.intercept + weighted_sum(table.columns(self.names, rows), self.slopes))
        return _LEAST_P + (1.0 - 2.0 * _LEAST_P) * np.asarray(predicted)


@dataclass(frozen=True, slots=True)
class _Choice:
    model: str
    columns: tuple[str, ...]
    losses: dict[str, float]


def _candidates(features: Features) -> dict[str, tuple[str, ...]]:
    components = tuple(name for name in features.names if name not in SIGNALS)
    prompts = {"signals and prompts": (*SIGNALS, *components)} if components else {}
    return {SCALED: (), "signals": SIGNALS, **prompts}


def _choose(table: _Table, labelled: Labelled) -> _Choice:
    """Take the simplest model within one standard error of the best cross-validated loss (Breiman et al. 1984)."""
    candidates = _candidates(table.features)
    if len(labelled.rows) < FEWEST_TO_CHOOSE:
        return _Choice(SCALED, (), {})
    loss = np.array([_cross_validated(table, columns, labelled) for columns in candidates.values()])
    weight = _weight(labelled) / _weight(labelled).sum()
    mean = loss @ weight
    behind = loss - loss[int(np.argmin(mean))]
    error = np.sqrt(((behind - (behind @ weight)[:, None]) ** 2 @ weight) / len(labelled.rows))
    best = next(place for place in range(len(mean)) if behind[place] @ weight <= error[place])
    name = list(candidates)[best]
    return _Choice(name, candidates[name], dict(zip(candidates, mean.tolist(), strict=True)))


def _cross_validated(table: _Table, columns: tuple[str, ...], labelled: Labelled) -> NDArray[np.float64]:
    """Log loss per outcome of every judged item, predicted without its fold."""
    predicted = np.empty(len(labelled.rows))
    for inside in (labelled.fold == fold for fold in np.unique(labelled.fold)):
        predicted[inside] = _fit(table, columns, labelled.where(~inside)).predict(table, labelled.rows[inside])
    share = labelled.n_correct / labelled.k
    return np.asarray(-(share * np.log(predicted) + (1.0 - share) * np.log1p(-predicted)))


def _weight(labelled: Labelled) -> NDArray[np.float64]:
    """Count k samples of one item as fewer independent ones (design effect, Kish 1965)."""
    return np.asarray(labelled.k / (1.0 + (labelled.k - 1.0) * _WITHIN_ITEM_CORRELATION))


def _fit(table: _Table, names: tuple[str, ...], labelled: Labelled) -> _Fit:
    """Fit on the judged items and on made-up ones that follow the cold start (Greenland 2007, prior data)."""
    from sklearn.linear_model import LogisticRegression

    made_up = np.zeros((len(_MADE_UP_SCORES), 1 + len(names)))
    made_up[:, 0] = _MADE_UP_SCORES * _SCORE_SCALE
    columns = np.concatenate([table.columns(names, labelled.rows), made_up])
    share = np.concatenate([labelled.n_correct / labelled.k, typical_p(_MADE_UP_SCORES)])
    each = np.full(len(made_up), _MADE_UP_WEIGHT / len(made_up))
    weight = np.concatenate([_weight(labelled), each])
    model = LogisticRegression(solver="newton-cholesky").fit(
        np.concatenate([columns, columns]),
        np.repeat([True, False], len(share)),
        sample_weight=np.concatenate([weight * share, weight * (1 - share)]),
    )
    if not names and model.coef_[0, 0] * _SCORE_SCALE < _LEAST_SLOPE:
        return _in_order(columns[:, 0] / _SCORE_SCALE, share, weight)
    return _Fit(names, float(model.intercept_[0]), model.coef_[0])


def _in_order(score: NDArray[np.float64], share: NDArray[np.float64], weight: NDArray[np.float64]) -> _Fit:
    """Fit the intercept at the least slope: the best fit, where labels speak against the cold start's order."""
    from scipy.optimize import brentq
    from scipy.special import expit

    def excess(intercept: float) -> float:
        return float(weight @ (expit(intercept + _LEAST_SLOPE * score) - share))

    return _Fit((), brentq(excess, -20.0, 20.0), np.array([_LEAST_SLOPE / _SCORE_SCALE]))


def _concentration(predicted: NDArray[np.float64], labelled: Labelled) -> float:
    """Fit how far p lies from its prediction, by beta-binomial likelihood around a typical value.

    Half of what fits best is returned: at that, 90 % intervals of unseen items held 89 % instead of 87 % on real sets.
    Intercept and slope, learned from n items, add 2/n to the variance of an unseen item about its prediction (as in
    least squares): with 10 items, intervals held 89.2 % instead of 88.6 % on six real sets, with 5 89.2 % and 88.1 %.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import betaln

    n, missed = labelled.n_correct, labelled.k - labelled.n_correct

    def loss(logarithm: float) -> float:
        a, b = np.exp(logarithm) * predicted, np.exp(logarithm) * (1.0 - predicted)
        off = logarithm - np.log(_TYPICAL_CONCENTRATION)
        return float(_PENALTY_OF_CONCENTRATION * 0.5 * off**2 - (betaln(n + a, missed + b) - betaln(a, b)).sum())

    best = float(np.exp(minimize_scalar(loss, bounds=(-3.0, 5.0), method="bounded").x))
    return _CAUTION * best / (1.0 + 2.0 / len(n))


def _record(features: Features, fitted: _Fit, chosen: _Choice, concentration: float, labelled: Labelled) -> Calibration:
    names = list(dict.fromkeys((*SIGNALS, *fitted.names)))
    at = [features.names.index(name) for name in names]
    scales, score = np.array([_SCORE_SCALE, *[_SIGNAL_SCALE] * len(fitted.names)]), cold_scale(features)
    return Calibration(
        model=chosen.model,
        intercept=fitted.intercept,
        weights=dict(zip((SCORE, *fitted.names), (fitted.slopes * scales).tolist(), strict=True)),
        rule=RULE,
        center=dict(zip(names, features.center[at].tolist(), strict=True)) | {SCORE: score.center},
        spread=dict(zip(names, features.spread[at].tolist(), strict=True)) | {SCORE: score.spread},
        least_p=_LEAST_P,
        concentration=concentration,
        losses=chosen.losses,
        n_items=len(labelled.rows),
        n_samples=int(labelled.k.sum()),
    )
