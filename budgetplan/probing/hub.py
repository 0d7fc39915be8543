"""Models of the Hugging Face hub: which commit a name means, and its files in the local cache.

A commit that is wholly in the cache needs no network. Every failure says which it was: offline, gated or not found.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from budgetplan.errors import ModelError
from budgetplan.probing.weights import WAYS_ON, missing_weights

TIMEOUT_SECONDS = 10
COMMIT = re.compile(r"[0-9a-f]{40}")
SMALL_FILES = ["*.json", "*.txt", "*.model", "*.jinja", "*.tiktoken", "*.py"]
SECOND_COPIES = ["original/*", "onnx/*", "consolidated*", "*.gguf", "*.onnx"]


@dataclass(frozen=True, slots=True)
class Pin:
    """A commit, and its folder where all its weights are already in the cache."""

    commit: str
    folder: str | None


def pin(repo: str, revision: str | None) -> Pin:
    """Find the commit a hub name means now: from the hub, else from the cache.

    Raises ModelError where the weights cannot be had.
    """
    if revision is not None and COMMIT.fullmatch(revision) and (folder := cached_folder(repo, revision)):
        return Pin(revision, folder)
    from httpx import ConnectError, TimeoutException
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled, RepositoryNotFoundError

    try:
        with _explained(repo, revision):
            commit = _readable_commit(repo, revision)
    except ModelError as error:
        reachable_but_refused = isinstance(error.__cause__, RepositoryNotFoundError)
        unreachable = isinstance(error.__cause__, (ConnectError, TimeoutException, OfflineModeIsEnabled, HfHubHTTPError))
        folder = cached_folder(repo, revision) if unreachable and not reachable_but_refused else None
        if folder is None:
            raise
        return Pin(Path(folder).name, folder)
    return Pin(commit, cached_folder(repo, commit))


def cached_folder(repo: str, revision: str | None) -> str | None:
    """The cached snapshot of a revision, where it is there with all its weights."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    patterns = [*SMALL_FILES, "*.safetensors", "*.bin"]
    try:
        folder = snapshot_download(
            repo, revision=revision, local_files_only=True, allow_patterns=SMALL_FILES, ignore_patterns=SECOND_COPIES
        )
    except LocalEntryNotFoundError:
        return None
    whole = (Path(folder) / "config.json").exists() and not missing_weights(Path(folder))
    return folder if whole else None


def download(repo: str, commit: str) -> str:
    """Fetch a commit's configuration, tokenizer and weights into the cache and return the folder."""
    from huggingface_hub import HfApi, snapshot_download

    with _explained(repo, commit):
        files = HfApi().list_repo_files(repo, revision=commit)
        weights = "*.safetensors" if any(file.endswith(".safetensors") for file in files) else "*.bin"
        return snapshot_download(
            repo, revision=commit, allow_patterns=[*SMALL_FILES, weights], ignore_patterns=SECOND_COPIES
        )
