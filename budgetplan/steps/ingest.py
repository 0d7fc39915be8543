"""`ingest`: labels back into the store, decided, and every stored sample judged by them.

Invariant: of all files given, everything goes in or nothing does, except bad records where the user allows it; and what
is stored is never overwritten.
"""

import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from budgetplan.annotation.tools.detection import read_label_file
from budgetplan.annotation.tools.label_file import BadRecord, LabelFile
from budgetplan.errors import LabelError, counted
from budgetplan.records import Message, Progress, item_id_of
from budgetplan.steps.adjudicate import Rescored, adjudicate_labels
from budgetplan.steps.people import under_pseudonyms, use_pseudonyms, uses_pseudonyms
from budgetplan.steps.recalibrate import Recalibrated, recalibrate
from budgetplan.store.adjudications import Disagreement, disagreements, reopen_contradictions
from budgetplan.store.annotators import removed_people
from budgetplan.store.connection import Store
from budgetplan.store.labels import (
    LabelSource,
    add_labels,
    changes,
    first_name,
    never_asked_for,
    still_missing,
    unknown_items,
    watch_changes,
)
from budgetplan.store.ledger import enter_labels_spent
from budgetplan.store.pools import Share, n_answered

NAMED = 5
"""How many bad records an error names."""


@dataclass(frozen=True, slots=True)
class IngestChoices:
    """What holds for one ingest: the tool, whose a file is that names nobody, and what to do with what is amiss."""

    tool: str | None = None
    annotator: str | None = None
    skip_bad: bool = False
    replace_known: bool = False
    pseudonyms: bool = False


@dataclass(frozen=True, slots=True)
class FileReport:
    """What one file held."""

    name: str
    tool: str
    n_labels: int
    n_blank: int
    bad: list[BadRecord]
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class UnknownRecord:
    """A label for an item that no pool of the store has."""

    file: str
    place: int
    item: str


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What came in, and what follows.

    `changes` has one row (item_id, annotator, change) per item and annotator; `answered` counts the items of all pools
    that have an answer, so that p̂ exists where they were sampled.
    """

    files: list[FileReport]
    changes: pa.Table
    unknown: list[UnknownRecord]
    unasked: list[str]
    missing: list[str]
    n_removed: int
    rescored: Rescored
    answered_before: Share
    answered: Share
    disagreements: list[Disagreement]
    recalibrated: Recalibrated | None

    def n(self, change: str) -> int:
        """How many labels are new, changed, unchanged, skipped or rejected."""
        return int(pc.sum(pc.equal(self.changes["change"], change)).as_py() or 0)


@dataclass(frozen=True, slots=True, eq=False)
class _Incoming:
    """A file that was read, which of its labels are for items of the store, and how many are of removed people."""

    path: Path
    source: LabelSource
    read: LabelFile
    labels: pa.Table
    unknown: list[UnknownRecord]
    n_nameless: int
    n_removed: int


def ingest(store: Store, paths: Sequence[Path], choices: IngestChoices, progress: Progress) -> IngestReport:
    """Take labels back; the same file twice changes nothing."""
    with store.reading() as connection:  # a store that is not there is an error, not made
        answered_before = n_answered(connection)
    read = [(path, read_label_file(path, choices.tool)) for path in paths]
    _refuse_bad([(path, file.bad) for path, file in read], choices)
    incoming = [_resolved(store, path, file, choices) for path, file in read]
    _refuse_strangers(incoming)
    _refuse_namesakes(incoming, choices)
    if choices.pseudonyms or uses_pseudonyms(store):  # also where replacing them was interrupted
        use_pseudonyms(store)
        incoming = [_under_pseudonyms(store, file) for file in incoming]
    with store.writing() as connection:
        watch_changes(connection)
        n_removed = sum(file.n_removed + add_labels(connection, file.source, file.labels) for file in incoming)
        changed = changes(connection)
        if choices.replace_known:
            reopen_contradictions(connection, changed["item_id"])
        enter_labels_spent(connection, ", ".join(file.source.sha256[:12] for file in incoming))
    rescored = adjudicate_labels(store, progress, replace_known=choices.replace_known)
    recalibrated = recalibrate(store, progress)
    with store.reading() as connection:
        return IngestReport(
            files=[_file_report(file) for file in incoming],
            changes=changed,
            unknown=[record for file in incoming for record in file.unknown],
            unasked=never_asked_for(connection, changed["item_id"]),
            missing=still_missing(connection),
            n_removed=n_removed,
            rescored=rescored,
            answered_before=answered_before,
            answered=n_answered(connection),
            disagreements=disagreements(connection),
            recalibrated=recalibrated,
        )


def _refuse_bad(files: Sequence[tuple[Path, list[BadRecord]]], choices: IngestChoices) -> None:
    bad = [f"{path}:{record.place}: {record.reason}" for path, records in files for record in records]
    if bad and not choices.skip_bad:
        more = f" (and {len(bad) - NAMED} more)" if len(bad) > NAMED else ""
        raise LabelError(
            f"{counted(len(bad), 'record')} cannot be read, and nothing was stored: {'; '.join(bad[:NAMED])}{more}.",
            hint="Mend them, or take the good records alone: the same command with --skip-bad",
        )


def _resolved(store: Store, path: Path, file: LabelFile, choices: IngestChoices) -> _Incoming:
    """Name the item and the annotator of every record, and set apart what is for no item of the store."""
    source = LabelSource(_sha256(path), path.name, file.tool)
    labels = _with(file.labels, "item_id", _item_ids(file.labels))
    file = replace(file, warnings=[*file.warnings, *_said_twice(labels)])
    n_nameless = labels["annotator"].null_count
    if n_nameless:
        owner = choices.annotator or _owner(store, source)
        labels = _with(labels, "annotator", pc.fill_null(labels["annotator"], owner))
        if not choices.annotator:
            file = replace(file, warnings=[*file.warnings, _whose(n_nameless, owner)])
    with store.reading() as connection:
        strangers, removed = unknown_items(connection, labels["item_id"]), removed_people(connection)
    people = pc.unique(labels["annotator"]).to_pylist()
    gone = [name for name in people if hashlib.sha256(name.encode()).hexdigest() in removed]
    is_gone = pc.is_in(labels["annotator"], value_set=pa.array(gone, pa.string()))
    labels, n_removed = labels.filter(pc.invert(is_gone)), int(pc.sum(is_gone).as_py() or 0)
    known = pc.invert(pc.is_in(labels["item_id"], value_set=pa.array(sorted(strangers), pa.string())))
    unknown = [
        UnknownRecord(str(path), row["place"], row["item_id"])
        for row in labels.filter(pc.invert(known)).select(["place", "item_id"]).to_pylist()
    ]
    return _Incoming(path, source, file, labels.filter(known), unknown, n_nameless, n_removed)


def _under_pseudonyms(store: Store, file: _Incoming) -> _Incoming:
    source = replace(file.source, name=file.source.sha256[:12])  # a file's name may be a person's
    return replace(file, source=source, labels=under_pseudonyms(store, file.labels))


def _said_twice(labels: pa.Table) -> list[str]:
    """Warn of items to which one annotator gives two different answers in one file."""
    given = labels.filter(pc.is_valid(labels["answer"])).group_by(["item_id", "annotator"])
    answers = given.aggregate([("answer", "count_distinct")])
    twice = answers.filter(pc.greater(answers["answer_count_distinct"], 1))["item_id"]
    if not len(twice):
        return []
    items = counted(len(twice), "item")
    return [f"one annotator gives two different answers to {items} ({twice[0].as_py()} …); the last one holds."]


def _owner(store: Store, source: LabelSource) -> str:
    """Name who labelled a file that does not say after the file, as it was called when it first came."""
    with store.reading() as connection:
        return Path(first_name(connection, source.sha256) or source.name).stem


def _whose(n_labels: int, owner: str) -> str:
    return (
        f"{n_labels:,} labels do not say who gave them; they count as given by {owner!r}. If that is wrong: "
        f"budgetplan forget {shlex.quote(owner)}, then this command with --annotator NAME."
    )


def _item_ids(labels: pa.Table) -> pa.Array | pa.ChunkedArray:
    """The ids as given; where a record carries none, its prompt says which item it is, since identity is content."""
    if not labels["item_id"].null_count:
        return labels["item_id"]
    return pa.array(
        [
            item_id or item_id_of((Message("user", prompt or ""),))
            for item_id, prompt in zip(labels["item_id"].to_pylist(), labels["prompt"].to_pylist(), strict=True)
        ],
        pa.string(),
    )


def _with(table: pa.Table, name: str, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, column)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _refuse_strangers(incoming: Sequence[_Incoming]) -> None:
    """A file of which no record belongs here is another project's."""
    for file in incoming:
        if file.unknown and not file.labels.num_rows and not file.n_removed:
            raise LabelError(
                f"{file.unknown[0].file}: not one of its labels ({len(file.unknown):,}) is for an item of this store "
                f"(the first is for {file.unknown[0].item}), and nothing was stored.",
                hint="Name the store it belongs to: --db other.duckdb",
            )


def _refuse_namesakes(incoming: Sequence[_Incoming], choices: IngestChoices) -> None:
    """Two files that name nobody and are called alike would become one person's."""
    if choices.annotator is None:
        stems = [file.path.stem for file in incoming if file.n_nameless]
        twice = [file.path for file in incoming if file.n_nameless and stems.count(file.path.stem) > 1]
        if twice and len({path.resolve() for path in twice}) > 1:
            raise LabelError(
                f"{twice[0]} and {twice[1]} do not say who labelled, and are called alike; nothing was stored.",
                hint=f"Bring them in one by one: budgetplan ingest {shlex.quote(str(twice[0]))} --annotator NAME",
            )


def _file_report(file: _Incoming) -> FileReport:
    read = file.read
    return FileReport(file.path.name, read.tool, read.labels.num_rows, read.n_blank, read.bad, read.warnings)
