"""Real trainings of tiny models, in their own process."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc
import pytest
import torch
import training_folders
from safetensors.torch import load_file
from training_folders import ALL_WRONG, BROKEN, items, spec, verifier_file

from budgetplan.errors import TrainingError
from budgetplan.probing import reaper
from budgetplan.records import Silent
from budgetplan.steps.train_arm import train_arm
from budgetplan.validation.progress_file import read_how_far
from budgetplan.validation.records_of_training import GROUPS_FILE, METRIC_NAMES, groups, metrics

pytestmark = pytest.mark.slow

TWO_PROCESSES = """
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_GPU
use_cpu: true
num_machines: 1
num_processes: 2
machine_rank: 0
mixed_precision: 'no'
main_process_port: {port}
"""

PROGRAM = """
import sys
from pathlib import Path
import training_folders as made
from budgetplan.records import Silent
from budgetplan.steps.train_arm import train_arm
model, verifier, folder = sys.argv[1:]
train_arm(made.spec(Path(model), verifier, steps=8), made.items(), Path(folder), Silent())
"""


class Counted(Silent):
    def __init__(self):
        self.task, self.total, self.done = "", None, 0

    def start(self, task, total):
        self.task, self.total = task, total

    def advance(self, steps):
        self.done += steps


@pytest.fixture
def model(tiny_model):
    return lambda family="qwen3": tiny_model(family, chat_template=True, eos_logit=3.0)


def _weights(checkpoint):
    (path,) = checkpoint.folder.glob("*.safetensors")
    return load_file(path)


def _check_records(folder, *, n_updates, n_groups=4):
    kept = groups(folder)
    places = [(step, place) for step in range(1, n_updates + 1) for place in range(n_groups)]
    assert list(zip(kept["step"].to_pylist(), kept["position"].to_pylist(), strict=True)) == places
    assert set(kept["item_id"].to_pylist()) <= {"item-0", "item-1", "item-2"}
    assert all(len(rewards) == 4 for rewards in kept["rewards"].to_pylist())
    told = metrics(folder)
    names = set(told["name"].to_pylist())
    assert names == set(METRIC_NAMES.values())
    assert told.num_rows == n_updates * len(names)
    first = told.filter(pc.equal(told["step"], 1))
    means = dict(zip(first["name"].to_pylist(), first["value"].to_pylist(), strict=True))
    rewards = pc.list_flatten(kept.filter(pc.equal(kept["step"], 1))["rewards"]).to_numpy()
    assert means["reward"] == pytest.approx(rewards.mean())
    assert 0 < rewards.mean() < 1
    assert means["grad_norm"] > 0


@pytest.mark.parametrize("lora", [True, False], ids=["lora", "full"])
@pytest.mark.parametrize("family", ["qwen3", "llama", "phi3"])
def test_every_family_trains_with_an_adapter_and_with_full_weights(model, tmp_path, family, lora):
    told = Counted()
    asked = spec(model(family), verifier_file(tmp_path), lora=lora)
    trained = train_arm(asked, items(), tmp_path / "arm", told)
    assert (told.task, told.total, told.done) == ("training hard, seed 7", 2, 2)
    assert [checkpoint.step for checkpoint in trained.checkpoints] == [2]
    assert trained.stopped == ""
    assert trained.seconds > 0
    assert trained.peak_memory_bytes > 100 * 2**20
    _check_records(trained.folder, n_updates=2)
    weights = _weights(trained.checkpoints[0])
    if lora:
        moved = [tensor for name, tensor in weights.items() if "lora_B" in name]
        assert moved
        assert all(tensor.abs().max() > 0 for tensor in moved)
    else:
        first = load_file(model(family) / "model.safetensors")
        assert any(not torch.equal(weights[name], tensor) for name, tensor in first.items())


def test_two_processes_keep_whole_groups_once(model, tmp_path):
    config = tmp_path / "two.yaml"
    config.write_text(TWO_PROCESSES.format(port=29600 + os.getpid() % 300))
    asked = spec(model(), verifier_file(tmp_path), prompts_per_update=3)  # 12 completions: the second group is shared
    trained = train_arm(asked, items(), tmp_path / "arm", Silent(), config)
    _check_records(trained.folder, n_updates=2, n_groups=3)
    assert (trained.checkpoints[0].folder / "rng_state_1.pth").exists()


def test_a_killed_training_ends_as_one_that_was_never_stopped(model, tmp_path):
    verifier, killed = verifier_file(tmp_path), tmp_path / "killed"
    tests = os.pathsep.join(map(str, (Path(training_folders.__file__).parent, *filter(None, sys.path))))
    command = [sys.executable, "-c", PROGRAM, str(model()), verifier, str(killed)]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": tests})
    while read_how_far(killed).step < 5:
        assert process.poll() is None, "ended before it could be killed"
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    _wait_for_the_workers_end(killed)
    _tear(killed)

    asked = spec(model(), verifier, steps=8)
    resumed = train_arm(asked, items(), killed, Silent())
    whole = train_arm(asked, items(), tmp_path / "whole", Silent())

    assert [checkpoint.step for checkpoint in resumed.checkpoints] == [2, 4, 6, 8]
    ends, expected = _weights(resumed.checkpoints[-1]), _weights(whole.checkpoints[-1])
    assert ends.keys() == expected.keys()
    assert all(torch.equal(ends[name], expected[name]) for name in expected)
    assert groups(killed).equals(groups(whole.folder))
    assert _timeless(metrics(killed)).equals(_timeless(metrics(whole.folder)))
    _check_records(killed, n_updates=8)


def _wait_for_the_workers_end(folder):
    log = (folder / "training.log").stat()
    for _ in range(200):
        if not reaper.writers(log.st_dev, log.st_ino):
            return
        time.sleep(0.1)
    raise AssertionError("the worker outlives the process that started it")


def _tear(folder):
    """Leave behind what a kill in the middle of writing would."""
    with (folder / GROUPS_FILE).open("a") as file:
        file.write('{"step": 9, "item_')
    torn = folder / "checkpoints" / "checkpoint-7"
    torn.mkdir(exist_ok=True)
    (torn / "trainer_state.json").write_text("{")


def _timeless(told):
    return told.filter(pc.not_equal(told["name"], "seconds"))


def test_a_finished_training_is_found_and_another_configuration_refused(model, tmp_path):
    asked = spec(model(), verifier_file(tmp_path), steps=1)
    first = train_arm(asked, items(), tmp_path / "arm", Silent())
    log = (first.folder / "training.log").stat()
    assert train_arm(asked, items(), tmp_path / "arm", Silent()) == first
    assert (first.folder / "training.log").stat().st_mtime_ns == log.st_mtime_ns
    with pytest.raises(TrainingError, match=r"recipe\.beta is 0\.1 there and 0\.2 here"):
        train_arm(replace(asked, recipe=replace(asked.recipe, beta=0.2)), items(), tmp_path / "arm", Silent())
    with pytest.raises(TrainingError, match="items is"):
        train_arm(asked, items(4), tmp_path / "arm", Silent())


def test_equal_rewards_stop_early_with_weights_to_evaluate(model, tmp_path):
    asked = spec(model(), verifier_file(tmp_path, ALL_WRONG), steps=50, prompts_per_update=100, evaluate_every=50)
    trained = train_arm(asked, items(), tmp_path / "arm", Silent())
    assert trained.stopped == "no group of the first 200 had mixed rewards: all wrong"
    assert [checkpoint.step for checkpoint in trained.checkpoints] == [2]
    assert groups(trained.folder).num_rows == 200
    assert train_arm(asked, items(), tmp_path / "arm", Silent()) == trained


def test_a_verifier_that_always_fails_is_told_with_its_first_error(model, tmp_path):
    asked = spec(model(), verifier_file(tmp_path, BROKEN))
    with pytest.raises(TrainingError, match=r"no reward for any completion.*LookupError: no such rubric"):
        train_arm(asked, items(), tmp_path / "arm", Silent())


def test_a_worker_killed_from_outside_names_the_knobs_of_memory(model, tmp_path):
    source = "import os, signal\ndef f(completions, answer, **columns):\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    with pytest.raises(TrainingError, match=r"memory runs out.*--group-size.*--four-bit.*--max-tokens"):
        train_arm(spec(model(), verifier_file(tmp_path, source)), items(), tmp_path / "arm", Silent())


def test_any_other_failure_is_the_last_error_of_the_log(model, tmp_path):
    asked = spec(model(), verifier_file(tmp_path))
    broken = tmp_path / "broken"
    broken.mkdir()
    for path in model().iterdir():
        (broken / path.name).write_bytes(path.read_bytes())
    config = json.loads((broken / "config.json").read_text())
    (broken / "config.json").write_text(json.dumps({**config, "hidden_act": "no such thing"}))
    with pytest.raises(TrainingError, match=r"the training failed: KeyError: .*no such thing.*training\.log"):
        train_arm(replace(asked, model=str(broken)), items(), tmp_path / "arm", Silent())
