"""Validation without a model: trainings that leave what real ones leave, and an engine that answers as trained."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from scripted import ScriptedEngine, reply

from budgetplan.probing.models import ResolvedModel
from budgetplan.records import Completion, ModelIdentity, Progress, SampleRequest
from budgetplan.steps import evaluate, validate, validation_plan, validation_setup
from budgetplan.steps.train_arm import Trained
from budgetplan.validation.arms import ARM_NAMES
from budgetplan.validation.checkpoints import CHECKPOINTS, checkpoints, mark_whole
from budgetplan.validation.records_of_training import append_groups
from budgetplan.validation.spec import TrainSpec

BASE_P = 0.5


@dataclass
class Academy:
    """What was trained and opened; `p` says how often a model is right after training on an arm."""

    p: dict[str, float]
    trained: list[tuple[str, int]] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    arm_of: dict[str, str] = field(default_factory=dict)
    before: Callable[[TrainSpec], None] = lambda spec: None
    stopped: str = ""

    def train(
        self, spec: TrainSpec, items: pa.Table, folder: Path, progress: Progress, config: Path | None = None
    ) -> Trained:
        """Leave groups, metrics and checkpoints."""
        self.arm_of[folder.name] = spec.arm
        if not checkpoints(folder):
            self.before(spec)
            self.trained.append((spec.arm, spec.seed))
            folder.mkdir(parents=True, exist_ok=True)
            for step in range(1, spec.recipe.steps + 1):
                rewards = [[0.0, 1.0], [1.0, 1.0]] if spec.arm == "hard" else [[1.0, 1.0], [1.0, 1.0]]
                columns = {"item_id": items["item_id"].to_pylist()[:2], "rewards": rewards, "n_truncated": [0, 0]}
                append_groups(folder, step, columns | {"mean_tokens": [3.0, 3.0]})
            for step in range(spec.recipe.evaluate_every, spec.recipe.steps + 1, spec.recipe.evaluate_every):
                _write_checkpoint(folder / CHECKPOINTS / f"checkpoint-{step}", step)
        return Trained(folder, checkpoints(folder), self.stopped, 36.0, 1 << 20)

    def engine(self, name: str, model: ResolvedModel, *_: Any, **__: Any) -> ScriptedEngine:
        """An engine that is right as often as its model's arm says."""
        self.opened.append(model.identity.revision)
        arm = self.arm_of.get(model.identity.revision.rpartition("-")[0])
        return ScriptedEngine(answering(self.p[arm] if arm else BASE_P, model.identity.revision))


def answering(p: float, name: str) -> Callable[[SampleRequest, int], Completion]:
    """Right with probability p, decided by the model, the prompt and the sample's seed."""

    def answer(request: SampleRequest, index: int) -> Completion:
        seed = request.seed + index - request.first_index
        right = random.Random(f"{name} {request.item_id} {seed}").random() < p
        prompt = request.messages[-1].content
        return reply(request, index, f"#### {prompt.split()[-1]}" if right else "#### none")

    return answer


def _write_checkpoint(folder: Path, step: int) -> None:
    folder.mkdir(parents=True)
    history = [{"step": at, "reward": 0.5, "entropy": 1.0, "kl": 0.0, "step_time": 2.0} for at in range(1, step + 1)]
    (folder / "trainer_state.json").write_text(json.dumps({"global_step": step, "log_history": history}))
    mark_whole(folder)


@pytest.fixture
def academy(monkeypatch: pytest.MonkeyPatch) -> Academy:
    """Put scripted trainings and engines in the place of real ones."""
    made = Academy(dict.fromkeys(ARM_NAMES, BASE_P) | {"hard": 0.8, "shortlist": 0.8})
    monkeypatch.setattr(validate, "train_arm", made.train)
    monkeypatch.setattr(validation_plan, "train_arm", made.train)
    monkeypatch.setattr(validate, "fetch_weights", lambda model: model)
    monkeypatch.setattr(validate, "whole_model", lambda checkpoint, base, into, **_: into)
    monkeypatch.setattr(evaluate, "open_engine", made.engine)
    monkeypatch.setattr(validation_plan, "open_engine", made.engine)
    monkeypatch.setattr(
        validation_setup,
        "resolve_model",
        lambda name, revision: ResolvedModel(ModelIdentity(name, f"rev-{name}"), name, None),
    )
    return made
