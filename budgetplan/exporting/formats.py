"""Which training frameworks are served, by the name that `--for` takes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from budgetplan.exporting import dataset_folder, open_instruct, trl, verl


@dataclass(frozen=True, slots=True)
class Format:
    """How a training set is written, and what its name ends in if nobody says; "": a folder, placed by the writer;
    `endings` are those it may have.

    `write(rows, path)` takes one row per item: item_id, prompt, messages (the chat as sent to the model, JSON), answer,
    verifier, and whatever else shall travel along. No name stands twice.
    """

    write: Callable[[pa.Table, Path], None]
    suffix: str
    endings: tuple[str, ...]


FORMATS = {
    "trl": Format(trl.write, ".parquet", (".parquet", ".jsonl")),
    "verl": Format(verl.write, ".parquet", (".parquet",)),
    "open-instruct": Format(open_instruct.write, ".parquet", (".parquet", ".jsonl")),
    "datasets": Format(dataset_folder.write, "", ("", ".datasets")),
}
