"""What happens around every update of a training: how far it is, whole checkpoints, stopping where nothing is learned.

Invariant: a checkpoint is marked whole only after all processes have written their part of it.
"""

import time
from pathlib import Path
from typing import Any

from accelerate import PartialState
from transformers import TrainerCallback

from budgetplan.validation import memory
from budgetplan.validation.checkpoints import mark_whole
from budgetplan.validation.patience import Patience
from budgetplan.validation.progress_file import HowFar, read_how_far, write_finished, write_how_far


class Bookkeeping(TrainerCallback):  # type: ignore[misc]  # transformers is untyped
    """The trainer's callback; `stopped` is why the training ended early, "" if it did not."""

    def __init__(self, folder: Path, patience: Patience, started: float) -> None:
        self.stopped = ""
        self._folder = folder
        self._patience = patience
        self._before = read_how_far(folder)
        self._started = started

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        """Say how far it is, and stop with a last checkpoint where nothing can be learned."""
        self.stopped = self._patience.reason if state.global_step < state.max_steps else ""
        if self.stopped:
            control.should_training_stop = control.should_save = True
        self._tell(state)
        return control

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        """Mark the checkpoint once every process has written its part."""
        PartialState().wait_for_everyone()
        if state.is_world_process_zero:
            mark_whole(Path(args.output_dir) / f"checkpoint-{state.global_step}")
        return control

    def finish(self, state: Any) -> None:
        """Say that the training is at its end."""
        self._tell(state)
        if state.is_world_process_zero:
            write_finished(self._folder, self.stopped)

    def _tell(self, state: Any) -> None:
        if state.is_world_process_zero:
            seconds = self._before.seconds + time.monotonic() - self._started
            peak = max(self._before.peak_memory_bytes, memory.peak_bytes())
            write_how_far(self._folder, HowFar(state.global_step, seconds, peak))
