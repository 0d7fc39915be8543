"""Hugging Face datasets: a folder saved with `save_to_disk`, or one fetched by name; always one split."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from budgetplan.errors import PoolError

HUB_PREFIX = "hf://"
_HUB_NAME = re.compile(r"hf://(?P<name>[^/:]+(?:/[^/:]+)?)(?:/(?P<config>[^/:]+))?(?::(?P<split>.+))?")


@dataclass(frozen=True, slots=True)
class SavedDataset:
    """A folder written by `save_to_disk`, and the split wanted of it."""

    path: Path
    split: str | None


def find_saved_dataset(source: str) -> SavedDataset | None:
    """Read `FOLDER` or `FOLDER:SPLIT`; None where no such folder is."""
    if Path(source).is_dir():
        return SavedDataset(Path(source), None)
    folder, colon, split = source.rpartition(":")
    return SavedDataset(Path(folder), split) if colon and Path(folder).is_dir() else None


def saved_table(saved: SavedDataset, source: str, command: str) -> pa.Table:
    """Load the rows of a saved dataset."""
    if not any((saved.path / name).is_file() for name in ("state.json", "dataset_dict.json")):
        raise _no_dataset(saved.path, command)
    datasets = _datasets(source)
    try:
        loaded = datasets.load_from_disk(str(saved.path))
    except Exception as error:
        raise PoolError(f"{source}: the dataset cannot be loaded: {error}") from error
    return _rows(loaded, saved.split, str(saved.path), command)


def hub_table(source: str, command: str) -> pa.Table:
    """Fetch `hf://[owner/]name[:split]` or `hf://owner/name/config[:split]` and load its rows."""
    parts = _HUB_NAME.fullmatch(source)
    if parts is None:
        raise PoolError(
            f"{source}: not a dataset name.",
            hint="Write hf://owner/name, hf://owner/name/config or hf://owner/name:split.",
        )
    datasets = _datasets(source)
    try:
        loaded = datasets.load_dataset(parts["name"], parts["config"], split=parts["split"])
    except Exception as error:
        raise _not_fetched(source, parts["name"], error, command) from error
    return _rows(loaded, None, source, command)


def _datasets(source: str) -> Any:
    try:
        import datasets
    except ImportError as error:
        raise PoolError(
            f"{source}: reading it needs the package `datasets`.", hint="pip install 'budgetplan[train]'"
        ) from error
    return datasets


def _rows(loaded: Any, split: str | None, stem: str, command: str) -> pa.Table:
    """Choose the split; without one named it is `train`, or the only one there is."""
    if not isinstance(loaded, dict):
        if split not in (None, str(loaded.split)):
            raise PoolError(f"{stem}: this dataset has no split '{split}'.", hint=f"{command} {shlex.quote(stem)}")
        return loaded.with_format("arrow")[:]
    chosen = split or ("train" if "train" in loaded or len(loaded) != 1 else next(iter(loaded)))
    if chosen not in loaded:
        raise PoolError(
            f"{stem}: no split '{chosen}'; there is: {', '.join(loaded)}.",
            hint=f"Name one: {command} {shlex.quote(f'{stem}:{next(iter(loaded))}')}",
        )
    return loaded[chosen].with_format("arrow")[:]


def _no_dataset(folder: Path, command: str) -> PoolError:
    files = sorted(p for p in folder.rglob("*") if p.suffix in {".jsonl", ".json", ".csv", ".tsv", ".parquet", ".gz"})
    hint = (
        f"Name one of its files: {command} {shlex.quote(str(files[0]))}"
        if files
        else "Save one there with `dataset.save_to_disk(...)`."
    )
    return PoolError(f"{folder}: this folder is no saved dataset.", hint=hint)


def _not_fetched(source: str, name: str, error: Exception, command: str) -> PoolError:
    reason = " ".join(str(error).split())
    save = f"import datasets; datasets.load_dataset('{name}').save_to_disk('pool')"
    return PoolError(
        f"{source}: the dataset cannot be had: {reason}",
        hint=f'Where there is a network: python -c "{save}", then here: {command} pool',
    )
