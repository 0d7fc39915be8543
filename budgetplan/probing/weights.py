"""Model folders on this machine: are they whole, and which weights do they hold.

The digest depends on what the files hold, never on where the folder lies or what it is called.
"""

import hashlib
import json
import re
from pathlib import Path

from budgetplan.errors import ModelError

WAYS_ON = (
    "Ways on: --model PATH (a folder with the weights), budgetplan import-samples FILE (samples made elsewhere), "
    "or budgetplan demo (the shipped example)."
)

SMALL_FILE_BYTES = 64 << 20
BLOCK_BYTES = 16 << 10
BLOCKS = 257  # odd: the middle is one of them

READ_SUFFIXES = {".json", ".txt", ".model", ".jinja", ".tiktoken", ".py", ".safetensors", ".bin"}
VOCABULARIES = ("tokenizer.json", "*.model", "vocab*", "*.tiktoken")
NOT_READ = {"training_args.bin", "trainer_state.json", "all_results.json", "train_results.json", "eval_results.json"}
HUB_NAME = re.compile(r"[\w][\w.-]*(/[\w][\w.-]*)?")


def is_local(name: str) -> bool:
    """Whether a model name means this machine: something that exists, or that could not be a hub name."""
    return Path(name).expanduser().exists() or not HUB_NAME.fullmatch(name)


def check_folder(name: str, folder: Path) -> None:
    """Raise ModelError unless `folder` holds a whole model: configuration, and every weight file its index names."""
    if not folder.exists():
        raise ModelError(f"model {name}: not found, there is no such folder.", hint=WAYS_ON)
    if not folder.is_dir():
        raise ModelError(f"model {name}: is a file; a folder in the Hugging Face layout is needed.", hint=WAYS_ON)
    if (folder / "adapter_config.json").exists() and not (folder / "config.json").exists():
        raise _adapter_error(name, folder)
    if not (folder / "config.json").exists():
        found = "the folder is empty" if not any(folder.iterdir()) else "it has no config.json"
        raise ModelError(f"model {name}: no model in this folder, {found}.", hint=WAYS_ON)
    missing = missing_weights(folder)
    if missing:
        raise ModelError(f"model {name}: incomplete, the folder has no {missing}.", hint=WAYS_ON)


def missing_weights(folder: Path) -> str:
    """Name the first weight file that is not there; empty where all are."""
    gaps = [_missing_shard(index) for index in sorted(folder.glob("*.index.json"))]
    if gaps:
        return "" if "" in gaps else gaps[0]
    candidates = [*folder.glob("*.safetensors"), *folder.glob("pytorch_model*.bin")]
    return "" if any(map(_is_weight_file, candidates)) else "*.safetensors"


def has_tokenizer(folder: Path) -> bool:
    """Whether a vocabulary is there; without one, transformers loads an empty tokenizer and says nothing."""
    return any(path for pattern in VOCABULARIES for path in folder.glob(pattern))


def digest_of(folder: Path) -> str:
    """Digest what a model folder holds: small files whole, large ones by size and 257 blocks from head to tail."""
    total = hashlib.sha256()
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.suffix in READ_SUFFIXES and path.name not in NOT_READ and path.is_file():
            total.update(f"{path.name}:{_file_digest(path)}\n".encode())
    return "files-" + total.hexdigest()[:16]


def _file_digest(path: Path) -> str:
    size = path.stat().st_size
    digest = hashlib.sha256(f"{size}:".encode())
    with path.open("rb") as file:
        if size <= SMALL_FILE_BYTES:
            digest.update(file.read())
            return digest.hexdigest()
        for block in range(BLOCKS):
            file.seek((size - BLOCK_BYTES) * block // (BLOCKS - 1))
            digest.update(file.read(BLOCK_BYTES))
    return digest.hexdigest()


def _missing_shard(index: Path) -> str:
    try:
        shards = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    except (ValueError, KeyError):
        return f"readable {index.name}"
    gone = next((shard for shard in shards if not _is_weight_file(index.parent / shard)), "")
    return gone and f"{gone} (named in {index.name})"


def _is_weight_file(path: Path) -> bool:
    """False for a file that is missing, empty, or the pointer that a clone without git-lfs leaves."""
    if not path.is_file() or path.stat().st_size == 0:
        return False
    with path.open("rb") as file:
        return not file.read(40).startswith(b"version https://git-lfs")


def _adapter_error(name: str, folder: Path) -> ModelError:
    merged = f"{folder.name}-merged"
    return ModelError(
        f"model {name}: is a LoRA adapter, not a whole model.",
        hint=(
            "Merge it into its base first: "
            'python -c "from peft import AutoPeftModelForCausalLM as M; from transformers import AutoTokenizer as T; '
            f"m = M.from_pretrained('{folder}'); m.merge_and_unload().save_pretrained('{merged}'); "
            "T.from_pretrained(m.peft_config['default'].base_model_name_or_path)"
            f".save_pretrained('{merged}')\", then --model ./{merged}"
        ),
    )
