"""Run as a program beside vLLM: when the process that started it is gone, end the processes it left behind.

vLLM's engine process does not notice that its parent was killed. Its processes are known by their standard output, a
file of their own, so nothing else is ever touched. Arguments: the parent's process id, the file's device and inode.
"""

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

POLL_SECONDS = 0.5
GRACE_SECONDS = 5.0


def writers(device: int, inode: int) -> list[int]:
    """Processes whose standard output is this file, without multiprocessing's tracker, which cleans up after them."""
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and _writes_to(process, device, inode):
                found.append(int(process.name))
    return found


def end(device: int, inode: int) -> None:
    """Ask the writers to stop, and kill those that have not after the grace time."""
    _signal(writers(device, inode), signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < deadline and writers(device, inode):
        time.sleep(0.1)
    _signal(writers(device, inode), signal.SIGKILL)


def _writes_to(process: Path, device: int, inode: int) -> bool:
    target = (process / "fd" / "1").stat()
    return (target.st_dev, target.st_ino) == (device, inode) and b"resource_tracker" not in (
        process / "cmdline"
    ).read_bytes()


def _signal(processes: list[int], number: signal.Signals) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)


if __name__ == "__main__":
    parent, device, inode = (int(argument) for argument in sys.argv[1:])
    # Polling, not a pipe: a forked engine would hold the pipe's other end and keep it open.
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    end(device, inode)
