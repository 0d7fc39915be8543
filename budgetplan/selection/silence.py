"""Keep what a C library prints off this process's stdout.

Invariant: stdout is back where it was afterwards, and nothing that was printed inside reaches it, not even late.
"""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silent_stdout() -> Iterator[None]:
    """Send file descriptor 1 to nowhere; HiGHS (in scipy 1.17) prints debugging lines there with its output off.

    C buffers what it prints to a pipe, so it is flushed before stdout comes back, else it would spoil a JSON document.
    """
    sys.stdout.flush()
    libc = ctypes.CDLL(None)
    libc.fflush(None)
    saved, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        libc.fflush(None)
        os.dup2(saved, 1)
        os.close(saved)
        os.close(nowhere)
