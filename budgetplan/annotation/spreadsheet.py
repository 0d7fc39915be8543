"""The annotators' spreadsheet.

Invariant: blind. It says nothing about rank, p̂ or a known answer, and its rows are in a seeded order that follows none
of them.
"""

import csv
import hashlib

import pyarrow as pa

from budgetplan.annotation.formulas import guarded
from budgetplan.annotation.landing import Unfinished

COLUMNS = ("item_id", "shortlist_id", "prompt", "answer", "verdict", "annotator", "minutes", "notes")
_TO_FILL = ("",) * 5


def write_spreadsheet(items: pa.Table, path: Unfinished, shortlist_id: str, seed: int) -> None:
    """Write `item_id` and `prompt` of the picks to a CSV file from `landing`, with empty columns to fill in.

    UTF-8 with a byte order mark, every cell quoted, CRLF, no formulas: what Excel and Label Studio open as it is.
    """
    shuffled = items.select(["item_id", "prompt"]).take(_shuffled(items["item_id"].to_pylist(), seed))
    ids, prompts = shuffled["item_id"].to_pylist(), guarded(shuffled["prompt"]).to_pylist()
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
        writer.writerow(COLUMNS)
        writer.writerows((item, shortlist_id, prompt, *_TO_FILL) for item, prompt in zip(ids, prompts, strict=True))


def _shuffled(item_ids: list[str], seed: int) -> list[int]:
    """Order the rows by a hash of (seed, id): the same items and seed give the same file, whatever their order."""
    keys = [hashlib.sha256(f"{seed}:{item_id}".encode()).digest() for item_id in item_ids]
    return sorted(range(len(keys)), key=keys.__getitem__)
