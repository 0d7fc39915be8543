"""Judging stored completions: what has no verdict is read out, judged in workers, and written back in one step."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from budgetplan.errors import StoreError
from budgetplan.records import Progress
from budgetplan.store.completions import some_texts
from budgetplan.store.connection import Store
from budgetplan.store.runs import ProbeRun, find_run, save_run
from budgetplan.store.verdicts import outcome_counts, save_verdicts, write_pending
from budgetplan.verifying.exact import Exact
from budgetplan.verifying.judge import Judge
from budgetplan.verifying.verifier import auto_verifier, load_verifier

BATCH_ROWS = 50_000
GOLD_SAMPLE = 2_000
"""How many known answers are looked at to choose a verifier."""


def check_verifier(asked: str | None) -> None:
    """Raise VerifierError for a verifier that cannot be had, before anything is sampled or stored under its name."""
    if asked not in (None, "auto"):
        load_verifier(str(asked))


JudgeOf = Callable[[str], Judge]


@contextmanager
def kept_judges() -> Iterator[JudgeOf]:
    """Hand out judges by the name of their verifier, whose workers live until the end: starting them takes seconds."""
    with ExitStack() as stack:

        @cache
        def judge_of(verifier: str) -> Judge:
            return stack.enter_context(Judge(verifier, workers=os.cpu_count() or 1))

        yield judge_of


def verify_run(
    store: Store, run: ProbeRun, asked: str, progress: Progress, judge_of: JudgeOf | None = None
) -> ProbeRun:
    """Bring a run's verdicts up to date under the verifier asked for; returns the run with the verifier it got."""
    verifier = load_verifier(_suitable(store, run) if asked == "auto" else asked)
    verdicts_by = f"{verifier.name}@{verifier.version}"
    judged_run = replace(run, verifier=asked, verdicts_by=verdicts_by)
    with _scratch_folder() as folder:
        pending, verdicts = folder / "pending.parquet", folder / "verdicts.parquet"
        with store.reading() as connection:
            n_pending = write_pending(connection, run.run_id, verdicts_by, pending)
        if n_pending:
            with nullcontext(judge_of) if judge_of else kept_judges() as judges:
                _judge_file(judges(verifier.name), pending, verdicts, n_pending, progress)
        with store.writing() as connection:
            if n_pending:
                save_verdicts(connection, run.run_id, verdicts_by, verdicts)
            save_run(connection, judged_run)
    return judged_run


@contextmanager
def _scratch_folder() -> Iterator[Path]:
    """A folder for what is on its way between the store and the workers."""
    try:
        with tempfile.TemporaryDirectory(prefix="budgetplan-") as folder:
            yield Path(folder)
    except OSError as error:
        raise StoreError(
            f"no room to verify in {tempfile.gettempdir()}: {error.strerror or error}.",
            hint="The samples are stored. Free some space, or set TMPDIR to another folder, then: budgetplan verify",
        ) from error


def _suitable(store: Store, run: ProbeRun) -> str:
    """The verifier that suits the known answers, or, where none is known, those that the samples end with."""
    golds = _some_golds(store, run.pool_id)
    if golds:
        return auto_verifier(golds)
    with store.reading() as connection:
        texts = some_texts(connection, run.run_id, GOLD_SAMPLE)
    found = [Exact().extract(text) for text in texts]
    return auto_verifier([answer.text for answer in found if answer])


def _some_golds(store: Store, pool_id: str) -> list[str]:
    with store.reading() as connection:
        rows = connection.execute(
            """SELECT answer FROM gold SEMI JOIN (SELECT item_id FROM pool_item WHERE pool_id = ?) USING (item_id)
               ORDER BY item_id LIMIT ?""",
            [pool_id, GOLD_SAMPLE],
        ).fetchall()
    return [row[0] for row in rows]


def _judge_file(judge: Judge, pending: Path, verdicts: Path, n_pending: int, progress: Progress) -> None:
    progress.start(f"verifying ({judge.verifier})", n_pending)
    writer = None
    for batch in pq.ParquetFile(pending).iter_batches(BATCH_ROWS):
        rows = pa.Table.from_batches([batch])
        judged = judge.judge(rows, progress)
        table = rows.select(["item_id", "sample_index"])
        for name in ("outcome", "extracted", "answer_key"):
            table = table.append_column(name, judged.column(name))
        writer = writer or pq.ParquetWriter(verdicts, table.schema)
        writer.write_table(table)
    if writer:
        writer.close()
    if judge.first_error:
        progress.note(f"the first sample that could not be judged: {judge.first_error}")
    progress.finish()


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Which verifier judged a run, and how the outcomes moved."""

    run: ProbeRun
    before: dict[str, int]
    after: dict[str, int]


def verify(store: Store, wanted: str | None, asked: str | None, progress: Progress) -> VerifyReport:
    """Judge a run's stored completions with another verifier or version; texts and earlier verdicts stay."""
    with store.reading() as connection:
        run = find_run(connection, wanted)
        before = outcome_counts(connection, run.run_id, run.pool_id, run.verdicts_by)
    run = verify_run(store, run, asked or run.verifier, progress)
    with store.reading() as connection:
        after = outcome_counts(connection, run.run_id, run.pool_id, run.verdicts_by)
    return VerifyReport(run, before, after)
