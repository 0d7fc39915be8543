"""Models of the Hugging Face hub: which commit a name means, and its files in the local cache.

A commit that is wholly in the cache needs no network. Every failure says which it was: offline, gated or not found.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from budgetplan.errors import ModelError
from budgetplan.probing.weights import WAYS_ON, has_tokenizer, missing_weights

TIMEOUT_SECONDS = 10.0
COMMIT = re.compile(r"[0-9a-f]{40}")
SMALL_FILES = ["*.json", "*.txt", "*.model", "*.jinja", "*.tiktoken", "*.py"]
SECOND_COPIES = ["original/*", "onnx/*", "consolidated*", "*.gguf", "*.onnx"]


@dataclass(frozen=True, slots=True)
class Pin:
    """A commit, and its folder where all its weights are already in the cache."""

    commit: str
    folder: str | None


def pin(repo: str, revision: str | None) -> Pin:
    """Find the commit a hub name means: asked of the hub, or read from the cache where the hub does not give it.

    Raises ModelError where neither has it.
    """
    from httpx import HTTPError

    if revision is not None and COMMIT.fullmatch(revision) and (folder := cached_folder(repo, revision)):
        return Pin(revision, folder)
    try:
        commit = _readable_commit(repo, revision)
    except (HTTPError, OSError, ValueError) as error:
        folder = cached_folder(repo, revision)
        if folder is None:
            raise _explained(repo, revision, error) from error
        return Pin(Path(folder).name, folder)
    return Pin(commit, cached_folder(repo, commit))


def cached_folder(repo: str, revision: str | None) -> str | None:
    """The cached snapshot of a revision, where configuration, tokenizer and all weights are in it."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(repo, revision=revision, local_files_only=True, allow_patterns=["config.json"]))
    except (LocalEntryNotFoundError, HFValidationError):
        return None
    return str(folder) if has_tokenizer(folder) and not missing_weights(folder) else None


def download(repo: str, commit: str) -> str:
    """Fetch a commit's configuration, tokenizer and weights into the cache and return the folder."""
    from httpx import HTTPError
    from huggingface_hub import HfApi, snapshot_download

    try:
        files = HfApi().list_repo_files(repo, revision=commit)
        weights = "*.safetensors" if any(file.endswith(".safetensors") for file in files) else "*.bin"
        patterns = [*SMALL_FILES, weights]
        folder = str(snapshot_download(repo, revision=commit, allow_patterns=patterns, ignore_patterns=SECOND_COPIES))
    except (HTTPError, OSError, ValueError) as error:
        raise _explained(repo, commit, error) from error
    if missing := missing_weights(Path(folder)):
        raise ModelError(f"model {repo}: the hub has no {missing}.", hint=WAYS_ON)
    return folder


def _readable_commit(repo: str, revision: str | None) -> str:
    """Ask the hub for the commit, and for its configuration: a gated model is refused here, not after an hour."""
    from huggingface_hub import HfApi, hf_hub_download

    commit: str | None = HfApi().model_info(repo, revision=revision, timeout=TIMEOUT_SECONDS).sha
    if commit is None:
        raise ValueError("the hub names no commit")
    hf_hub_download(repo, "config.json", revision=commit, etag_timeout=TIMEOUT_SECONDS)
    return commit


def _explained(repo: str, revision: str | None, error: Exception) -> ModelError:
    """Tell the causes apart; the order is from the most to the least particular class."""
    from httpx import TransportError
    from huggingface_hub import constants, errors

    at = f" at revision {revision}" if revision else ""
    unreachable = f"offline: the hub cannot be reached, and the cache does not have it{at}."
    ask = f"Ask for access at {constants.ENDPOINT}/{repo}, then run: hf auth login."
    causes: list[tuple[type[Exception], str]] = [
        (errors.GatedRepoError, f"gated, its owner has to let you in. {ask}"),
        (errors.RevisionNotFoundError, f"not found{at}: the model exists, this revision does not."),
        (
            errors.RepositoryNotFoundError,
            "not found, neither as a folder nor on the hub (private? run: hf auth login).",
        ),
        (errors.RemoteEntryNotFoundError, "not usable: it has no config.json (GGUF or adapter only?)."),
        (errors.OfflineModeIsEnabled, f"offline (HF_HUB_OFFLINE is set), and the cache does not have it{at}."),
        (errors.HfHubHTTPError, f"the hub refuses it: {_first_line(error)}"),
        (errors.LocalEntryNotFoundError, unreachable),
        (TransportError, unreachable),
    ]
    told = next((text for kind, text in causes if isinstance(error, kind)), f"cannot be had: {_first_line(error)}")
    return ModelError(f"model {repo}: {told}", hint=WAYS_ON)


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
