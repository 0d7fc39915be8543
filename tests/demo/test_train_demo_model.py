import os
import subprocess
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "train_demo_model.py"


def test_a_short_training_gives_a_model_that_loads_and_has_learned(tmp_path):
    done = subprocess.run(
        [sys.executable, SCRIPT, "--steps", "12", "--seed", "5", "--out", tmp_path / "model"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    losses = [float(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("step")]
    assert losses[-1] < losses[0]
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model", local_files_only=True)
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "model", local_files_only=True)
    assert sum(weight.numel() for weight in model.parameters()) < 500_000
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id
    weights = load_file(tmp_path / "model" / "model.safetensors")
    assert {weight.dtype for weight in weights.values()} == {torch.float32}
