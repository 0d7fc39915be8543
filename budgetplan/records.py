"""The nouns that travel between rooms: small frozen values, and the Arrow schemas of what is as large as the pool."""

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NewType, Protocol

import pyarrow as pa

from budgetplan.outcome import COUNTED as COUNTED  # noqa: PLC0414
from budgetplan.outcome import Outcome as Outcome  # noqa: PLC0414

ItemId = NewType("ItemId", str)
FinishReason = Literal["stop", "length", "error"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How completions are drawn; defaults as in the paper (section 2.2)."""

    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 1024
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Which weights: the name as given, and the hub commit or the digest of the local files."""

    name: str
    revision: str


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """`count` consecutive samples of one prompt: sample `first_index + j` is drawn with `seed + j`."""

    item_id: ItemId
    messages: tuple[Message, ...]
    first_index: int
    count: int
    seed: int


@dataclass(frozen=True, slots=True)
class Completion:
    """One sample. A failed one has `finish_reason="error"`, its message in `error`, and no text."""

    item_id: ItemId
    sample_index: int
    seed: int
    text: str
    n_tokens: int
    finish_reason: FinishReason
    mean_logprob: float | None
    error: str | None = None


COMPLETION_SCHEMA = pa.schema(
    [
        ("item_id", pa.string()),
        ("sample_index", pa.int32()),
        ("seed", pa.int64()),
        ("text", pa.string()),
        ("n_tokens", pa.int32()),
        ("finish_reason", pa.string()),
        ("mean_logprob", pa.float64()),
        ("error", pa.string()),
    ]
)

POOL_SCHEMA = pa.schema(
    [
        ("item_id", pa.string()),
        ("prompt", pa.string()),  # what a person reads: the text, or the chat as a transcript
        ("messages", pa.string()),  # null for a plain text prompt, else JSON [{"role", "content"}, ...]
        ("answers", pa.list_(pa.string())),  # distinct known answers in file order; empty: none known
        ("ids", pa.list_(pa.string())),  # the user's own ids, in file order
        ("columns", pa.string()),  # JSON object of the user's other columns (first row)
        ("row", pa.int64()),  # 1-based line (JSONL, CSV) or row of the first appearance
    ]
)
"""One row per item: exact duplicates are already one row."""

DUPLICATES_KEY = "_duplicates"
"""The key in `columns` under which an item keeps the columns of its later rows, where they differ from the first's."""

SAMPLES_SCHEMA = pa.schema(
    [
        ("item_id", pa.string()),
        ("source", pa.string()),  # digest of the row the sample came in: the same row twice adds nothing
        ("position", pa.int32()),  # place in that row, from 0
        ("model", pa.string()),
        ("text", pa.string()),
        ("n_tokens", pa.int32()),
        ("finish_reason", pa.string()),
        ("mean_logprob", pa.float64()),
    ]
)
"""Completions sampled elsewhere."""

LABELS_SCHEMA = pa.schema(
    [
        ("item_id", pa.string()),  # as the record carries it; null where it carries none
        ("prompt", pa.string()),  # the task's text as it came back, for records without an item_id
        ("shortlist_id", pa.string()),
        ("annotator", pa.string()),  # null: the record does not say
        ("answer", pa.string()),  # null: none given
        ("verdict", pa.string()),  # a `LabelVerdict`; null: none given
        ("status", pa.string()),  # a `LabelStatus`
        ("seconds", pa.float64()),  # the annotator's time on this item; null: not measured
        ("labeled_at", pa.timestamp("us", tz="UTC")),
        ("native_id", pa.string()),  # the tool's own id of this annotation
        ("place", pa.int64()),  # 1-based line or record of the file
        ("raw", pa.string()),  # the record as it came, a JSON object
    ]
)
"""What annotators returned: one row per annotator and item, skips included, blanks not."""

LabelVerdict = Literal["ok", "ambiguous", "unanswerable"]
LabelStatus = Literal["submitted", "skipped", "rejected"]


class Progress(Protocol):
    """Where a stage reports how far it is; the terminal's bar implements it."""

    def start(self, task: str, total: int | None) -> None:
        """Begin a task of `total` steps (None: not known)."""

    def advance(self, steps: int) -> None:
        """Count finished steps of the running task."""

    def note(self, text: str) -> None:
        """Say something beside the bar."""

    def finish(self) -> None:
        """End the running task."""


class Silent:
    """Progress for nobody."""

    def start(self, task: str, total: int | None) -> None:
        """Say nothing."""

    def advance(self, steps: int) -> None:
        """Say nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""

    def finish(self) -> None:
        """Say nothing."""


def canonical_text(text: str) -> str:
    r"""Newlines as `\n`, Unicode NFC, no white space at either end: equal prompts become equal strings."""
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n")).strip(" \t\n")


def item_id_of(messages: Sequence[Message]) -> ItemId:
    """Identity is content: a text prompt and the same text as a single user message are one item."""
    parts = []
    for message in messages:
        content = canonical_text(message.content)
        parts.append(f"{message.role}:{len(content.encode())}:{content}")
    return ItemId("bp-" + hashlib.sha256("".join(parts).encode()).hexdigest()[:16])


def sample_seed(run_seed: int, item_id: ItemId, sample_index: int) -> int:
    """A seed below 2**63 per (run seed, item, sample); two samples of an item never share one.

    The item takes the upper 42 bits and the sample index the lower 20, so the seeds of an item are consecutive.
    """
    digest = hashlib.sha256(f"{run_seed}:{item_id}".encode()).digest()
    return (int.from_bytes(digest[:8], "big") >> 22 << 20) + sample_index
