"""The process that judges: rows in, verdicts out, over one pipe, until the pipe closes or the parent kills it.

It prints nothing, imports neither torch nor the caller's main module, and does not outlive a hang: should the parent be
gone, a timer in C ends it.
"""

import faulthandler
import resource
import sys
from collections.abc import Sequence
from enum import Enum
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from budgetplan.errors import VerifierError
from budgetplan.verifying.function import RewardFunction
from budgetplan.verifying.judging import Judged, Row, judge_rows
from budgetplan.verifying.verifier import load_verifier

LOAD_SECONDS = 120.0
"""How long a user's file, or SymPy on a busy machine, may take to import."""

_MEMORY_BYTES = 4 << 30


class Kind(Enum):
    """What a message from the worker says."""

    READY = "ready"
    LOADING = "loading"
    LOADED = "loaded"
    JUDGED = "judged"
    FAILED = "failed"


class Message(NamedTuple):
    """One message from the worker: `judged` with JUDGED, `failure` (message, hint) with FAILED."""

    kind: Kind
    judged: Sequence[Judged] = ()
    failure: tuple[str, str] = ("", "")


def main() -> None:
    """Serve the pipe whose descriptor is the first argument: the verifier's name and time limit, then lists of rows."""
    pipe: Connection[Message, list[Row]] = Connection(int(sys.argv[1]))
    try:
        _serve(pipe, sys.argv[2], float(sys.argv[3]))
    except VerifierError as error:
        pipe.send(Message(Kind.FAILED, failure=(error.message, error.hint)))
    except (EOFError, BrokenPipeError):
        pass


def _serve(pipe: "Connection[Message, list[Row]]", name: str, seconds: float) -> None:
    verifier = load_verifier(name)
    if isinstance(verifier, RewardFunction):
        verifier.load()
    else:
        # A tower of powers must not take the machine down; a user's function may need all the memory there is.
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    loaded = False

    def load() -> None:
        nonlocal loaded
        if loaded or isinstance(verifier, RewardFunction):
            return
        pipe.send(Message(Kind.LOADING))
        verifier.load()
        pipe.send(Message(Kind.LOADED))
        loaded = True

    pipe.send(Message(Kind.READY))
    with Path("/dev/null").open("w") as nowhere:
        while True:
            rows = pipe.recv()
            faulthandler.dump_traceback_later(2 * seconds + LOAD_SECONDS, exit=True, file=nowhere)
            pipe.send(Message(Kind.JUDGED, judge_rows(verifier, rows, load)))
            faulthandler.cancel_dump_traceback_later()
