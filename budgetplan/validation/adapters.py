"""A checkpoint as a model that any engine loads: the adapter merged into its base, or the full weights.

Invariant: configuration, tokenizer and generation settings are the base's own files, so that a trained model is asked
exactly as the base was.
"""

import shutil
from pathlib import Path

WEIGHTS = ("*.safetensors", "*.bin", "*.safetensors.index.json", "*.bin.index.json")
BESIDE_WEIGHTS = ("*.json", "*.txt", "*.model", "*.jinja", "*.tiktoken", "*.py")


def whole_model(checkpoint: Path, base: str, into: Path, *, trust_remote_code: bool = False) -> Path:
    """Write the model of a checkpoint to the folder `into` and return it; `base` is the folder of the untrained one."""
    into.mkdir(parents=True, exist_ok=True)
    if (checkpoint / "adapter_config.json").exists():
        _merge(checkpoint, base, into, trust_remote_code)
    else:
        for path in _matching(checkpoint, "*.safetensors", "*.safetensors.index.json"):
            _link(path, into / path.name)
    for path in set(_matching(Path(base), *BESIDE_WEIGHTS)) - set(_matching(Path(base), *WEIGHTS)):
        shutil.copyfile(path, into / path.name)
    return into


def _merge(checkpoint: Path, base: str, into: Path, trust_remote_code: bool) -> None:
    """Add the adapter to the base in the base's own number format."""
    from peft import PeftModel
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    model = AutoModelForCausalLM.from_pretrained(base, dtype="auto", trust_remote_code=trust_remote_code)
    merged = PeftModel.from_pretrained(model, str(checkpoint)).merge_and_unload()
    merged.save_pretrained(into)


def _matching(folder: Path, *patterns: str) -> list[Path]:
    return sorted({path for pattern in patterns for path in folder.glob(pattern)})


def _link(path: Path, target: Path) -> None:
    """Give the file a second name; copy it where the file system has no such thing."""
    try:
        target.hardlink_to(path)
    except OSError:
        shutil.copyfile(path, target)
