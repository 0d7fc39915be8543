"""`validate`: train every arm, measure base and arms on held-out prompts, say whether the choice was right.

Invariant: what is finished (a training, an evaluation) is stored before the next begins and never done again, so the
same command goes on where it stopped.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from budgetplan.config import Settings
from budgetplan.errors import Interrupted, NothingToDo, VerifierError
from budgetplan.probing.models import ResolvedModel, fetch_weights
from budgetplan.records import COUNTED, ModelIdentity, Outcome, Progress
from budgetplan.steps.evaluate import OpenModel, judge_again, measure
from budgetplan.steps.train_arm import Checkpoint, Trained, train_arm
from budgetplan.steps.validated import ValidationReport
from budgetplan.steps.validation_choices import ValidateChoices
from budgetplan.steps.validation_finished import is_done
from budgetplan.steps.validation_pictures import draw
from budgetplan.steps.validation_results import report_of
from budgetplan.steps.validation_setup import Setup, set_up, trained_identity, training_id
from budgetplan.store.connection import Store
from budgetplan.store.folder_lock import sole_user
from budgetplan.store.ledger import Entry, enter
from budgetplan.store.validations import (
    BASE_MODEL,
    TrainingRow,
    ValidationRow,
    find_training,
    measured_steps,
    save_evaluation,
    save_training,
    save_validation,
)
from budgetplan.store.verdicts import outcome_counts
from budgetplan.validation.adapters import whole_model
from budgetplan.validation.records_of_training import groups, metrics
from budgetplan.validation.refusal import too_small_beforehand
from budgetplan.validation.spec import TrainSpec
from budgetplan.verifying.judge import Judge
from budgetplan.verifying.judging import IS_ANSWER

MERGED = "merged-"
"""How folders of whole models begin, which are there only while they are measured."""
GOLDS_TRIED = 200
"""How many known answers the verifier is tried on, before hours are spent on its rewards."""
PICTURES = Path("validation")
"""The folder of pictures, where none is named."""
FOR_GOING_ON = ("optimizer.pt", "scheduler.pt")
"""Files of a checkpoint that nothing needs once its training is finished."""


def validate(store: Store, settings: Settings, choices: ValidateChoices, progress: Progress) -> ValidationReport:
    """Train and measure what is not in the store yet, and report; raises Interrupted when the user stops it."""
    setup = set_up(store, settings, choices, progress)
    _check_verifier_on_golds(store, setup)
    for note in setup.said:
        progress.note(note)
    _ask_first(setup)
    with store.writing() as connection:
        save_validation(connection, _row(setup))
    with sole_user(store.validation_folder, "training for"):
        _measure_base(store, setup, progress)
        for seed in setup.seeds:
            for arm in setup.arms.arms:
                _train_and_measure(store, setup, arm.name, seed, progress)
        _judge_again(store, setup, progress)
    report = report_of(store, setup)
    return replace(report, pictures=draw(report, choices.out or PICTURES))


def _row(setup: Setup) -> ValidationRow:
    names = [arm.name for arm in setup.arms.arms]
    return ValidationRow(
        validation_id=setup.validation_id,
        run_id=setup.run.run_id,
        pool_id=setup.run.pool_id,
        settings={"recipe": asdict(setup.recipe), "choices": _as_stored(setup.choices)},
        items=setup.items,
        trainings={(name, seed): training_id(setup, name, seed) for name in names for seed in setup.seeds},
    )


def _as_stored(choices: ValidateChoices) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(json.dumps(asdict(replace(choices, confirm=None)), default=str))
    return stored


def _check_verifier_on_golds(store: Store, setup: Setup) -> None:
    """Raise VerifierError where the verifier fails on every known answer and has judged no sample: none gets a reward.

    A user's function may rightly fail on a bare answer that comes without the words around it.
    """
    with store.reading() as connection:
        outcomes = outcome_counts(connection, setup.run.run_id, setup.run.pool_id, setup.run.verdicts_by)
    if any(outcomes.get(outcome) for outcome in COUNTED):
        return
    rows = pa.concat_tables(setup.training_sets.values()).slice(0, GOLDS_TRIED)
    as_answers = pa.repeat(IS_ANSWER, rows.num_rows)
    batch = pa.table(
        {"text": rows["answer"], "finish_reason": as_answers, "gold": rows["answer"], "columns": rows["columns"]}
    )
    with Judge(setup.run.judged_by, workers=1) as judge:
        judged = judge.judge(batch)["outcome"]
    if pc.all(pc.equal(judged, Outcome.VERIFIER_ERROR.value)).as_py():
        raise VerifierError(
            f"the verifier {setup.run.judged_by} fails on each of {rows.num_rows} known answers "
            f"({judge.first_error}), so no sample would get a reward.",
            hint="Mend it, or choose another: budgetplan verify --verifier NAME",
        )


def _ask_first(setup: Setup) -> None:
    """Where no verdict will be possible, say so and ask, before hours are spent."""
    lacks = list(too_small_beforehand(len(setup.seeds), setup.arms.size, len(setup.test.item_ids)))
    confirm = setup.choices.confirm
    if not lacks or confirm is None:
        return
    reasons, enough = (", ".join(getattr(lack, name) for lack in lacks) for name in ("reason", "would_suffice"))
    if not confirm(f"No verdict will be possible: {reasons}. Train all the same?"):
        raise NothingToDo(
            f"not trained: no verdict would be possible ({reasons}).",
            hint=f"Enough would be {enough} (--test FILE, --seeds 3, --arms hard,random). To train all the same: --yes",
        )


def _measure_base(store: Store, setup: Setup, progress: Progress) -> None:
    """Measure the base model once, for all arms."""
    for test in setup.tests:

        @contextmanager
        def base(n_prompts: int = len(test.item_ids)) -> Iterator[ResolvedModel]:
            progress.note(f"measuring the base model on {n_prompts} prompts")
            yield setup.model

        run = measure(store, setup.model.identity, test, base, progress)
        with store.writing() as connection:
            save_evaluation(connection, BASE_MODEL, 0, run.run_id)


def _train_and_measure(store: Store, setup: Setup, arm: str, seed: int, progress: Progress) -> None:
    """Train one arm with one seed and measure its checkpoints, as far as that was not done before."""
    own_id = training_id(setup, arm, seed)
    if is_done(store, setup, own_id):
        return
    folder = store.validation_folder / own_id
    spec = training_spec(setup, arm, seed)
    progress.note(f"{arm}, seed {seed}: training on {len(setup.items[arm])} items")
    try:
        trained = train_arm(spec, setup.training_sets[arm], folder, progress, setup.choices.accelerate_config)
    except KeyboardInterrupt as stop:
        raise Interrupted(
            f"stopped while training {arm}, seed {seed}; checkpoints and everything finished are kept.",
            hint="Go on where it stopped: run the same command again.",
        ) from stop
    _store_training(store, own_id, spec, trained)
    for checkpoint in trained.checkpoints:
        last = checkpoint == trained.checkpoints[-1]
        for test in setup.tests if last else (setup.test,):
            identity = trained_identity(setup, own_id, checkpoint.step)
            run = measure(store, identity, test, _opening(setup, identity, checkpoint), progress)
            with store.writing() as connection:
                save_evaluation(connection, own_id, checkpoint.step, run.run_id)
    _keep_last(trained.checkpoints)


def _judge_again(store: Store, setup: Setup, progress: Progress) -> None:
    """Bring all verdicts up to date, so that every model is judged by the same verifier and the same answers."""
    identities = [setup.model.identity]
    for arm in setup.arms.arms:
        for own_id in (training_id(setup, arm.name, seed) for seed in setup.seeds):
            with store.reading() as connection:
                steps = measured_steps(connection, own_id)
            identities += [trained_identity(setup, own_id, step) for step in steps]
    for identity in identities:
        for test in setup.tests:
            judge_again(store, identity, test, progress)


def training_spec(setup: Setup, arm: str, seed: int) -> TrainSpec:
    """Everything that shapes one training; prompts and answers apart."""
    location = fetch_weights(setup.model)
    return TrainSpec(
        arm=arm,
        seed=seed,
        model=location.location,
        revision=location.hub_revision,
        recipe=setup.recipe,
        lora=setup.choices.lora,
        four_bit=setup.choices.four_bit,
        **asdict(setup.sampling),
        verifier=setup.run.judged_by,
        trust_remote_code=setup.test.trust_remote_code,
    )


def _store_training(store: Store, own_id: str, spec: TrainSpec, trained: Trained) -> None:
    row = TrainingRow(
        own_id, asdict(spec), trained.checkpoints[-1].step, trained.stopped, trained.seconds, trained.peak_memory_bytes
    )
    with store.writing() as connection:
        if find_training(connection, own_id) is None:
            spent = Entry(kind="training", state="spent", reference=own_id, seconds=trained.seconds)
            enter(connection, spent)
        save_training(connection, row, groups(trained.folder), metrics(trained.folder))


def _opening(setup: Setup, identity: ModelIdentity, checkpoint: Checkpoint) -> OpenModel:
    """A way to open a checkpoint as a whole model, in a folder that is gone afterwards."""

    @contextmanager
    def merged() -> Iterator[ResolvedModel]:
        for left in checkpoint.folder.parent.glob(f"{MERGED}*"):  # by a validation that was killed
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(prefix=MERGED, dir=checkpoint.folder.parent) as scratch:
            base = fetch_weights(setup.model).location
            trusted = setup.test.trust_remote_code
            folder = whole_model(checkpoint.folder, base, Path(scratch), trust_remote_code=trusted)
            yield ResolvedModel(identity, str(folder), None)

    return merged


def _keep_last(checkpoints: Sequence[Checkpoint]) -> None:
    """Delete the checkpoints that were measured, but the last, and what only going on from that would need."""
    for checkpoint in checkpoints[:-1]:
        shutil.rmtree(checkpoint.folder, ignore_errors=True)
    for name in FOR_GOING_ON:
        (checkpoints[-1].folder / name).unlink(missing_ok=True)
