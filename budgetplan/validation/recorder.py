"""The reward that a training calls: it asks the verifier, and keeps whole groups as they were.

Invariant: a group is kept once per update, by the main process, in the order of the update, with every sample in it
however many processes drew them.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from budgetplan.errors import TrainingError
from budgetplan.validation.patience import Patience
from budgetplan.validation.records_of_training import append_groups, rewards_by_update

Verify = Callable[..., list[float | None]]
"""Called with completion_ids, truncated, answer, columns and whatever else the trainer passes."""


class Recorder:
    """TRL's reward function for one training; `ends` are the tokens that end a completion, known once the model is."""

    __name__ = "verifier"

    def __init__(self, verify: Verify, first_error: Callable[[], str | None], folder: Path, group_size: int) -> None:
        self.ends: frozenset[int] = frozenset()
        self.patience = Patience()
        self._verify = verify
        self._first_error = first_error
        self._folder = folder
        self._group_size = group_size

    def remember(self) -> None:
        """Take in what an interrupted training has kept, so that patience goes on where it was."""
        for rewards in rewards_by_update(self._folder):
            self.patience.see(rewards)

    def __call__(
        self, *, completion_ids: Sequence[Sequence[int]], item_id: Sequence[str], trainer_state: Any, **columns: Any
    ) -> list[float | None]:
        """Reward the completions of this process; raises TrainingError where a whole first update gets no reward."""
        truncated = [not ids or ids[-1] not in self.ends for ids in completion_ids]
        rewards = self._verify(
            completion_ids=completion_ids,
            truncated=truncated,
            item_id=item_id,
            trainer_state=trainer_state,
            **columns,
        )
        samples = list(zip(item_id, rewards, truncated, map(len, completion_ids), strict=True))
        self._keep(trainer_state.global_step + 1, samples)
        return rewards

    def _keep(self, step: int, samples: list[tuple[str, float | None, bool, int]]) -> None:
        from accelerate import PartialState
        from accelerate.utils import gather_object

        items, rewards, truncated, tokens = zip(*gather_object(samples), strict=True)
        grouped = np.array(rewards, dtype=np.float64).reshape(-1, self._group_size)
        self.patience.see(grouped)
        if self.patience.no_reward_yet:
            raise _no_rewards(self._first_error())
        if PartialState().is_main_process:
            columns = {
                "item_id": list(items[:: self._group_size]),
                "rewards": _null_for_nan(grouped),
                "n_truncated": np.array(truncated).reshape(grouped.shape).sum(axis=1).tolist(),
                "mean_tokens": np.array(tokens).reshape(grouped.shape).mean(axis=1).tolist(),
            }
            append_groups(self._folder, step, columns)


def _null_for_nan(rewards: NDArray[np.float64]) -> list[object]:
    written = rewards.astype(object)
    written[np.isnan(rewards)] = None
    return list(written.tolist())


def _no_rewards(first_error: str | None) -> TrainingError:
    return TrainingError(
        f"the verifier gave no reward for any completion of the first update: {first_error or 'no answer is known'}.",
        hint="Mend it, or choose another: budgetplan verify --verifier NAME",
    )
