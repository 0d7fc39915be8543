"""Items without an answer: their place by signals, and p by calibration as soon as some samples were judged.

Invariant: what is said of an item follows from its signals and from other items' judged samples, never from its own.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from budgetplan.difficulty.calibration import N_FOLDS, Calibrated, Labelled, calibrate
from budgetplan.difficulty.cold_start import cold_score, typical_p
from budgetplan.selection.ties import id_hashes, keyed
from budgetplan.steps.signals import RunSignals

_FOLD_SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class Unanswered:
    """One entry per item of the pool: `place` between hard (0) and easy (1) by signals alone, nan without samples.

    `calibrated` is None while too few items were judged.
    """

    signals: RunSignals
    place: NDArray[np.float64]
    calibrated: Calibrated | None

    @property
    def blind(self) -> NDArray[np.float64] | None:
        """Predictions of p that never saw the item's own label, also where it has one; None without a calibration."""
        if self.calibrated is None:
            return None
        held_out = self.calibrated.held_out
        return np.where(np.isnan(held_out), self.calibrated.p, held_out)


def unanswered(
    signals: RunSignals, item_id: pa.ChunkedArray, n_correct: NDArray[np.int64], k: NDArray[np.int64]
) -> Unanswered:
    """Place every item; the items with judged samples (k > 0) are learned from."""
    rows = np.flatnonzero((k > 0) & signals.features.sampled)
    keys = keyed(id_hashes(item_id.take(pa.array(rows)).combine_chunks()), _FOLD_SEED, "fold")
    rows = rows[np.argsort(keys, kind="stable")]
    labelled = Labelled(rows, n_correct[rows], k[rows], np.arange(len(rows)) % N_FOLDS)
    place = typical_p(cold_score(signals.features))
    return Unanswered(signals, place, calibrate(signals.features, labelled))
