"""Which model: a name or a path becomes pinned weights, so that a probe run says exactly what it looked at.

A resolved model carries a revision that changes whenever the weights or the tokenizer change, wherever they lie.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from budgetplan.errors import ModelError
from budgetplan.probing import hub, weights
from budgetplan.records import ModelIdentity

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedTokenizerBase

ALIASES = {
    "phi-4": "microsoft/phi-4",
    "qwen3-4b": "Qwen/Qwen3-4B",
    "qwen3-14b": "Qwen/Qwen3-14B",
    "llama-3.1-8b": "meta-llama/Llama-3.1-8B-Instruct",
}

CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "seq_length", "n_ctx")
UNLIMITED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A model that can be had: `location` is a local folder, or a hub name to be read at `hub_revision`."""

    identity: ModelIdentity
    location: str
    hub_revision: str | None


def resolve_model(name: str, revision: str | None = None) -> ResolvedModel:
    """Pin a model: an alias, a local folder or a hub name; reads a few small files, never the weights of the hub.

    The identity's name is the hub name, or the path as given. Offline, a hub name is pinned to the cached snapshot.
    Raises ModelError where the weights cannot be had: offline, gated, not found and incomplete are told apart.
    """
    if name not in ALIASES and weights.is_local(name):
        folder = Path(name).expanduser()
        weights.check_folder(name, folder)
        return ResolvedModel(ModelIdentity(name, weights.digest_of(folder)), str(folder.resolve()), None)
    repo = ALIASES.get(name, name)
    pin = hub.pin(repo, revision)
    return ResolvedModel(ModelIdentity(repo, pin.commit), pin.folder or repo, pin.commit)


def fetch_weights(resolved: ResolvedModel) -> ResolvedModel:
    """Download a hub model into the cache where it is not there yet; afterwards `location` is a local folder.

    Raises ModelError where the download fails.
    """
    if resolved.hub_revision is None or Path(resolved.location).is_dir():
        return resolved
    folder = hub.download(resolved.identity.name, resolved.hub_revision)
    return ResolvedModel(resolved.identity, folder, resolved.hub_revision)


def load_tokenizer(resolved: ResolvedModel, *, trust_remote_code: bool = False) -> "PreTrainedTokenizerBase":
    """Load the model's tokenizer; raises ModelError where it has none that can be read."""
    from transformers import AutoTokenizer

    folder = Path(resolved.location)
    if folder.is_dir() and not weights.has_tokenizer(folder):
        raise ModelError(f"model {resolved.identity.name}: the folder has no tokenizer.", hint=weights.WAYS_ON)
    try:
        return AutoTokenizer.from_pretrained(
            resolved.location, revision=resolved.hub_revision, trust_remote_code=trust_remote_code
        )
    except Exception as error:  # transformers raises anything from OSError to KeyError here
        raise load_failure(resolved, "its tokenizer cannot be loaded", error) from error


def load_config(resolved: ResolvedModel, *, trust_remote_code: bool = False) -> "PretrainedConfig":
    """Load the model's configuration; raises ModelError where it cannot be read."""
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(
            resolved.location, revision=resolved.hub_revision, trust_remote_code=trust_remote_code
        )
    except Exception as error:  # as above
        raise load_failure(resolved, "its configuration cannot be loaded", error) from error


def context_length(config: "PretrainedConfig") -> int:
    """How many tokens, prompt and completion together, the model can read; `UNLIMITED` where it names no limit."""
    text_config = config.get_text_config()
    lengths = (getattr(text_config, key, None) for key in CONTEXT_KEYS)
    return next((int(length) for length in lengths if isinstance(length, int)), UNLIMITED)


def has_cuda() -> bool:
    """Whether torch can use a GPU here."""
    import torch

    return torch.cuda.is_available()


def load_failure(resolved: ResolvedModel, what: str, cause: Exception) -> ModelError:
    """The error for a model that is there but does not load, with a hint that fits the cause."""
    text = str(cause)
    hint = weights.WAYS_ON
    if "trust_remote_code" in text:
        hint = "It brings its own code. If you trust it, add --trust-remote-code."
    first_line = text.strip().splitlines()[0] if text.strip() else type(cause).__name__
    return ModelError(f"model {resolved.identity.name}: {what}: {first_line}", hint=hint)
