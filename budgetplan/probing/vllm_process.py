"""vLLM's own processes: silent, with their output kept for the day they fail, and never left behind.

Nothing they write reaches the terminal, and they end when this process ends, however it ends.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread

from budgetplan.probing import reaper

ENVIRONMENT = {
    "VLLM_NO_USAGE_STATS": "1",  # vLLM would report its use to its makers
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",  # the default is stdout, which belongs to --json
}

TAIL_BYTES = 1 << 20
ERROR_LINE = re.compile(r"\b((?:\w+\.)*\w*(?:Error|Exception): .+)")
NO_MAIN_GUARD = (
    'it imports your script again to start its processes; put your calls under `if __name__ == "__main__":`.'
)
SECOND_HAND = re.compile(r"root cause|stack trace|initialization failed", re.IGNORECASE)


class EngineProcesses:
    """The log that vLLM's processes write to instead of the terminal, and the reaper that watches over them."""

    def __init__(self) -> None:
        self._log = tempfile.TemporaryFile(prefix="budgetplan-vllm-")  # noqa: SIM115 - open as long as the engine
        file = os.fstat(self._log.fileno())
        self._reaper = subprocess.Popen(
            [sys.executable, "-E", "-S", reaper.__file__, *map(str, (os.getpid(), file.st_dev, file.st_ino))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C goes to the whole foreground group
        )

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Send what this process and those it starts write to stdout and stderr to the log."""
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        _flush()
        kept = {descriptor: os.dup(descriptor) for descriptor in (1, 2)}
        try:
            for descriptor in kept:
                os.dup2(self._log.fileno(), descriptor)
            yield
        finally:
            _flush()
            for descriptor, copy in kept.items():
                os.dup2(copy, descriptor)
                os.close(copy)

    def cause(self) -> str:
        """The last error in the log that is not about another error; empty where there is none."""
        file = self._log.fileno()
        size = os.fstat(file).st_size
        # pread: the processes share the file offset and may still be writing
        text = os.pread(file, TAIL_BYTES, max(0, size - TAIL_BYTES)).decode(errors="replace")
        if "An attempt has been made to start a new process" in text:
            return NO_MAIN_GUARD
        errors = [match for match in ERROR_LINE.findall(text) if not SECOND_HAND.search(match)]
        return errors[-1].strip() if errors else ""

    def close(self) -> None:
        """Stop watching and drop the log; the engine must be down."""
        self._reaper.kill()
        self._reaper.wait()
        self._log.close()


class _Interrupted(BaseException):
    """Ctrl-C, under a name that vLLM does not know."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end the start of vLLM, which swallows KeyboardInterrupt and would then wait for ten minutes."""
    ours = current_thread() is main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours:
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        raise _Interrupted

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except _Interrupted:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
