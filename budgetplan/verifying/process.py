"""One worker process seen from the caller: started, given rows, watched against a deadline, killed.

It is a fresh interpreter: no fork (unsafe beside threads and CUDA), and none of `multiprocessing`'s start methods,
which import the caller's main module again, often torch with it, and start a script without a main guard over.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from budgetplan.errors import VerifierError
from budgetplan.verifying.judging import Judged, Row
from budgetplan.verifying.worker import LOAD_SECONDS, Kind, Message

_PROGRAM = """
import os, sys
sys.path[:] = sys.argv.pop().split(os.pathsep)
from budgetplan.verifying.worker import main
main()
"""


class WorkerLostError(Exception):
    """The process is gone, by itself or by its deadline, and with it the verdicts it owed."""


class WorkerProcess:
    """A worker for one verifier.

    `rows` are the indices it is at work on since `given_at` (loading apart), None while it is idle.
    """

    def __init__(self, verifier: str, seconds: float) -> None:
        self.rows: Sequence[int] | None = None
        self.given_at = 0.0
        self._verifier = verifier
        self._seconds = seconds
        self.pipe: Connection[list[Row], Message]
        self.pipe, theirs = Pipe()
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-P", "-c", _PROGRAM),
                *(str(theirs.fileno()), verifier, str(seconds), os.pathsep.join(sys.path)),
            ],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        self._loading = True
        self._deadline = time.monotonic() + LOAD_SECONDS

    def wait_until_ready(self) -> None:
        """Wait for the verifier to be loaded; raises VerifierError where it cannot be."""
        while self._loading:
            if self.pipe.poll(max(0.0, self._deadline - time.monotonic())):
                self.receive()
            else:
                self.check_deadline()

    def give(self, indices: Sequence[int], rows: list[Row]) -> None:
        """Hand over rows; the time limit runs from now, or from when the worker is ready."""
        self.rows, self.given_at = indices, time.monotonic()
        self._deadline = max(self._deadline if self._loading else 0.0, self.given_at + self._seconds)
        # A worker that is already gone is found out by `receive`.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send(rows)

    def receive(self) -> Sequence[Judged] | None:
        """Take one message: verdicts, or None for news of loading; raises WorkerLostError or VerifierError."""
        try:
            message = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            raise self._end(f"the worker ended with exit code {self._process.wait()}") from None
        if message.kind is Kind.FAILED:
            text, hint = message.failure
            raise VerifierError(text, hint=hint)
        if message.kind is Kind.JUDGED:
            self.rows = None
            return message.judged
        self._loading = message.kind is Kind.LOADING
        self.given_at = time.monotonic()
        self._deadline = self.given_at + (LOAD_SECONDS if self._loading else self._seconds)
        return None

    def seconds_left(self) -> float:
        """Return how long the worker may still take."""
        return self._deadline - time.monotonic()

    def check_deadline(self) -> None:
        """Kill the worker if its time is over; raises WorkerLostError then (VerifierError if it was still loading)."""
        if self.seconds_left() <= 0:
            seconds = LOAD_SECONDS if self._loading else self._seconds
            raise self._end(f"no verdict within {seconds:g} s")

    def kill(self) -> None:
        """End the process and all it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.pipe.close()

    def _end(self, reason: str) -> Exception:
        self.kill()
        if self._loading:
            return VerifierError(f"The verifier {self._verifier} could not be loaded: {reason}.")
        return WorkerLostError(reason)
