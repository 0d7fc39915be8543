"""Batches of completions to verdicts, in worker processes: what hangs or crashes costs its own completion and no other.

Row order is kept, every row gets exactly one verdict, and memory is bounded by the batch.
"""

import time
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import wait
from types import TracebackType
from typing import Self

import pyarrow as pa

from budgetplan.records import Progress, Silent
from budgetplan.verifying.function import RewardFunction
from budgetplan.verifying.judging import Judged, Row, failed
from budgetplan.verifying.process import WorkerLostError, WorkerProcess
from budgetplan.verifying.verifier import Verifier

JUDGED_SCHEMA = pa.schema([("outcome", pa.string()), ("extracted", pa.string()), ("answer_key", pa.string())])

_CHUNK_SECONDS = 0.25
_FIRST_CHUNK, _LARGEST_CHUNK = 64, 4096
_START_SECONDS = 0.3
_FIRST_GUESS_SECONDS = 1e-4


class Judge:
    """Workers for one verifier, kept over many batches; use it in a `with` statement.

    `seconds_per_completion` is how long one completion may take. A chunk that takes longer, or whose worker dies, is
    judged again one by one, so that only the culprit is a `verifier_error`; `first_error` tells why the first one was.
    Entering raises VerifierError where the verifier cannot be loaded.
    """

    def __init__(
        self, verifier: str | Verifier | RewardFunction, *, workers: int, seconds_per_completion: float = 5.0
    ) -> None:
        self.verifier = verifier if isinstance(verifier, str) else verifier.name
        self.first_error: str | None = None
        self._most_workers = max(workers, 1)
        self._seconds = seconds_per_completion
        self._row_seconds = _FIRST_GUESS_SECONDS
        self._measured = False
        self._workers: list[WorkerProcess] = []

    def __enter__(self) -> Self:
        self._workers.append(WorkerProcess(self.verifier, self._seconds))
        try:
            self._workers[0].wait_until_ready()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers:
            worker.kill()
        self._workers.clear()

    def judge(self, batch: pa.Table | pa.RecordBatch, progress: Progress | None = None) -> pa.Table:
        """Judge a batch with the columns text, finish_reason, gold and columns; returns `JUDGED_SCHEMA`, row by row.

        Progress advances by completions; its task is the caller's. Raises VerifierError where a user's function breaks
        its contract.
        """
        work = _Work(_rows(batch))
        progress = progress or Silent()
        try:
            while not work.done:
                self._hand_out(work)
                progress.advance(self._collect(work))
        except BaseException:
            # Workers may still owe verdicts of this batch.
            self.close()
            raise
        return _table(work.judged)

    def _hand_out(self, work: "_Work") -> None:
        for worker in self._workers:
            if worker.rows is None and work.waiting:
                self._give(worker, work)
        # Another worker pays only where what is left takes longer than starting one.
        while len(self._workers) < self._most_workers and (
            not self._workers or work.waiting * self._row_seconds > _START_SECONDS
        ):
            self._workers.append(WorkerProcess(self.verifier, self._seconds))
            self._give(self._workers[-1], work)

    def _give(self, worker: WorkerProcess, work: "_Work") -> None:
        target = min(_CHUNK_SECONDS, self._seconds / 8)
        size = int(target / self._row_seconds) if self._measured else _FIRST_CHUNK
        share = -(-work.waiting // (2 * self._most_workers))
        indices = work.take(max(1, min(size, max(share, _FIRST_CHUNK), _LARGEST_CHUNK)))
        if indices:
            worker.give(indices, [work.rows[index] for index in indices])

    def _collect(self, work: "_Work") -> int:
        """Wait for news of the busy workers; returns how many completions were judged."""
        busy = {worker.pipe: worker for worker in self._workers if worker.rows is not None}
        ready = wait(list(busy), timeout=max(0.0, min(worker.seconds_left() for worker in busy.values())))
        return sum(self._listen(worker, pipe in ready, work) for pipe, worker in busy.items())

    def _listen(self, worker: WorkerProcess, has_news: bool, work: "_Work") -> int:
        indices = worker.rows or ()
        try:
            if not has_news:
                worker.check_deadline()
                return 0
            judged: Sequence[Judged] | None = worker.receive()
        except WorkerLostError as loss:
            self._workers.remove(worker)
            if len(indices) > 1:
                self._row_seconds = max(self._row_seconds, self._seconds / len(indices))
                work.put_back_singly(indices)
                return 0
            judged = [failed(str(loss))]
        if judged is None:
            return 0
        self._learn(judged, worker)
        work.settle(indices, judged)
        return len(judged)

    def _learn(self, judged: Sequence[Judged], worker: WorkerProcess) -> None:
        taken = (time.monotonic() - worker.given_at) / len(judged)
        self._row_seconds = taken if not self._measured else 0.5 * self._row_seconds + 0.5 * taken
        self._measured = True
        self.first_error = self.first_error or next((verdict.error for verdict in judged if verdict.error), None)


class _Work:
    """The rows of a batch: which are waiting, and the verdicts so far."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.judged: list[Judged | None] = [None] * len(rows)
        self._next = 0
        self._single: deque[int] = deque()
        self._settled = 0

    @property
    def done(self) -> bool:
        return self._settled == len(self.rows)

    @property
    def waiting(self) -> int:
        return len(self.rows) - self._next + len(self._single)

    def take(self, size: int) -> Sequence[int]:
        if self._single:
            return (self._single.popleft(),)
        start, self._next = self._next, min(self._next + size, len(self.rows))
        return range(start, self._next)

    def put_back_singly(self, indices: Sequence[int]) -> None:
        self._single.extend(indices)

    def settle(self, indices: Sequence[int], judged: Sequence[Judged]) -> None:
        for index, verdict in zip(indices, judged, strict=True):
            self.judged[index] = verdict
        self._settled += len(judged)


def judge(
    verifier: str | Verifier | RewardFunction,
    batch: pa.Table | pa.RecordBatch,
    *,
    workers: int,
    seconds_per_completion: float = 5.0,
    progress: Progress | None = None,
) -> pa.Table:
    """Judge one batch with workers of its own; see `Judge`."""
    progress = progress or Silent()
    with Judge(verifier, workers=workers, seconds_per_completion=seconds_per_completion) as open_judge:
        progress.start("verifying", batch.num_rows)
        try:
            return open_judge.judge(batch, progress)
        finally:
            progress.finish()


def _rows(batch: pa.Table | pa.RecordBatch) -> list[Row]:
    columns = [batch.column(name).to_pylist() for name in Row._fields]
    return [
        Row(text or "", finish_reason, gold, of_item)
        for text, finish_reason, gold, of_item in zip(*columns, strict=True)
    ]


def _table(judged: list[Judged | None]) -> pa.Table:
    outcome, extracted, key = [], [], []
    for verdict in judged:
        assert verdict is not None
        outcome.append(str(verdict.outcome))
        extracted.append(verdict.extracted)
        key.append(verdict.key)
    return pa.table([outcome, extracted, key], schema=JUDGED_SCHEMA)
