"""Annotators as people: pseudonyms for a whole store, and one person's records removed from it."""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from budgetplan.annotation.people import is_pseudonym, pseudonym, without_names
from budgetplan.errors import LabelError, StoreError
from budgetplan.records import Progress
from budgetplan.steps.adjudicate import Rescored, adjudicate_labels
from budgetplan.steps.recalibrate import recalibrate
from budgetplan.store.annotators import annotators, remove_annotator, rename_annotators
from budgetplan.store.connection import Store
from budgetplan.store.ledger import enter_labels_spent


def key_file(store: Store) -> Path:
    """Where the key of a store's pseudonyms lies: beside it, never in it."""
    return store.path.with_name(store.path.name + ".pseudonyms.key")


def uses_pseudonyms(store: Store) -> bool:
    """Whether names are replaced in this store; once begun, always."""
    if key_file(store).exists():
        return True
    with store.reading() as connection:
        begun = any(is_pseudonym(row.annotator) for row in annotators(connection))
    if begun:
        raise StoreError(
            f"the annotators of {store.path} have pseudonyms, but their key {key_file(store)} is not there.",
            hint="Put it back beside the store: without it nobody could tell who is who.",
        )
    return False


def use_pseudonyms(store: Store) -> None:
    """Make the key where there is none, and replace every name that is stored."""
    if not uses_pseudonyms(store):
        _make_key(key_file(store))
    key = key_file(store).read_bytes()
    with store.writing() as connection:
        new_names = {row.annotator: pseudonym(row.annotator, key) for row in annotators(connection)}
        if any(old != new for old, new in new_names.items()):
            rename_annotators(connection, new_names, without_names)


def _make_key(path: Path) -> None:
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(secrets.token_bytes(32))
    except OSError as error:
        raise StoreError(
            f"the key of the pseudonyms, {path}, cannot be written: {error.strerror}.",
            hint="Free some space, or make the folder writable.",
        ) from error


def under_pseudonyms(store: Store, labels: pa.Table) -> pa.Table:
    """Replace the names in labels that are about to be stored."""
    key = key_file(store).read_bytes()
    names = labels["annotator"].combine_chunks().dictionary_encode()
    people = pa.array([pseudonym(name, key) for name in names.dictionary.to_pylist()], pa.string()).take(names.indices)
    raw = pa.array([without_names(text) for text in labels["raw"].to_pylist()], pa.string())
    for name, column in (("annotator", people), ("raw", raw)):
        labels = labels.set_column(labels.schema.get_field_index(name), name, column)
    return labels


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Whose records were removed, how many, and what was decided again without them."""

    annotator: str
    n_records: int
    rescored: Rescored


def forget(store: Store, annotator: str, progress: Progress) -> Forgotten:
    """Remove everything one annotator said; the items are decided again without it."""
    with store.reading() as connection:
        known = {row.annotator for row in annotators(connection)}
    stored = annotator
    if annotator not in known and uses_pseudonyms(store):
        stored = pseudonym(annotator, key_file(store).read_bytes())
    if stored not in known:
        raise LabelError(
            f"no labels of an annotator {annotator!r} are stored.",
            hint=f"The annotators are: {', '.join(sorted(known)) or 'none yet'}.",
        )
    with store.writing() as connection:
        n_records = remove_annotator(connection, stored, annotator)
        enter_labels_spent(connection, "removed", "removed")
    store.compact()
    rescored = adjudicate_labels(store, progress)
    recalibrate(store, progress)
    return Forgotten(stored, n_records, rescored)
