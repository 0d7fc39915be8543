"""What every command that reads a run does first: merge chunks that a killed probe left, decide about labels that a
killed ingest left, judge what has no verdict.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from budgetplan.records import Progress
from budgetplan.steps.adjudicate import adjudicate_labels
from budgetplan.steps.verify import verify_run
from budgetplan.store.adjudications import n_undecided
from budgetplan.store.chunks import chunk_files
from budgetplan.store.completions import merge_chunks
from budgetplan.store.connection import Store
from budgetplan.store.runs import ProbeRun, find_run
from budgetplan.store.verdicts import has_pending


def merge_finished(store: Store) -> int:
    """Merge every complete chunk beside the store, in one transaction for each run; returns the samples added."""
    added = 0
    for folder in sorted(store.samples_folder.glob("run-*")):
        if not chunk_files(folder):
            continue
        with store.writing() as connection:
            files = chunk_files(folder)
            if files:
                added += merge_chunks(connection, folder.name, files)
                connection.execute("COMMIT")
                for file in files:  # while the store is still locked, so that no one else is reading them
                    file.unlink()
                connection.execute("BEGIN")
    return added


def finish_deciding(store: Store, progress: Progress) -> None:
    """Decide about labels that were stored by a command which was killed before it decided."""
    with store.reading() as connection:
        undecided = n_undecided(connection)
    if undecided:
        adjudicate_labels(store, progress)


@contextmanager
def ready_run(store: Store, wanted: str | None, progress: Progress) -> Iterator[ProbeRun]:
    """The run to work on (the last used where none is named), its samples merged, labels decided, samples judged.

    Inside, the store is open for reading, once for all that is read there.
    """
    merge_finished(store)
    with store.reading() as connection:
        run = find_run(connection, wanted)
        undecided = n_undecided(connection) > 0
        if not undecided and not has_pending(connection, run.run_id, run.verdicts_by):
            yield run
            return
    if undecided:
        adjudicate_labels(store, progress)
    run = verify_run(store, run, run.verifier, progress)
    with store.reading():
        yield run
