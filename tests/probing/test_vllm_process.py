import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from budgetplan.probing.vllm_process import EngineProcesses, interruptible

PARENT = """
import subprocess, sys, time
from budgetplan.probing.vllm_process import EngineProcesses

processes = EngineProcesses()
with processes.quiet():
    child = subprocess.Popen(["sleep", "1000"])
    stubborn = subprocess.Popen(["sh", "-c", "trap '' TERM; while :; do sleep 1; done"])
bystander = subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL)
print(child.pid, stubborn.pid, bystander.pid, flush=True)
time.sleep(1000)
"""


@pytest.fixture
def processes() -> Iterator[EngineProcesses]:
    opened = EngineProcesses()
    yield opened
    opened.close()


def is_running(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_a_killed_parent_leaves_none_of_its_engine_s_processes_behind() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child, stubborn, bystander = map(int, parent.stdout.readline().split())
        assert is_running(child)
        assert is_running(stubborn)
        parent.kill()
        deadline = time.monotonic() + 20
        while (is_running(child) or is_running(stubborn)) and time.monotonic() < deadline:
            time.sleep(0.1)
        survivors = [pid for pid in (child, stubborn, bystander) if is_running(pid)]
        for pid in survivors:
            os.kill(pid, signal.SIGKILL)
        assert survivors == [bystander]


def test_output_goes_to_the_log_and_comes_back_to_the_terminal(
    processes: EngineProcesses, capfd: pytest.CaptureFixture[str]
) -> None:
    with processes.quiet():
        os.write(1, b"loading\n")
        os.write(2, b"ValueError: too little memory\n")
        subprocess.run([sys.executable, "-c", "print('engine core')"], check=True)
    print("done")
    assert capfd.readouterr() == ("done\n", "")
    assert processes.cause() == "ValueError: too little memory"


def test_the_cause_is_the_last_error_that_is_not_about_another(processes: EngineProcesses) -> None:
    assert processes.cause() == ""
    log = (
        "(Worker pid=7) ERROR 11-20 11:11:50 [core.py:14] OSError: first\n"
        "(Worker pid=7) ERROR 11-20 11:11:50 [core.py:14] vllm.x.MemoryError: 3 GiB are missing\n"
        "(EngineCore pid=6) ERROR Exception: WorkerProc initialization failed. See stack trace for root cause.\n"
        "RuntimeError: Engine core initialization failed. See root cause above.\n"
    )
    with processes.quiet():
        os.write(1, log.encode())
    assert processes.cause() == "vllm.x.MemoryError: 3 GiB are missing"


def test_a_script_without_a_main_guard_is_told_so(processes: EngineProcesses, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import multiprocessing as m\nm.get_context('spawn').Process(target=print).start()\n")
    with processes.quiet():
        subprocess.run([sys.executable, str(script)], check=False)
    assert '__name__ == "__main__"' in processes.cause()


def test_vllm_is_told_to_report_nothing_to_its_makers(
    processes: EngineProcesses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_LOGGING_LEVEL", "DEBUG")
    monkeypatch.delenv("VLLM_NO_USAGE_STATS", raising=False)
    with processes.quiet():
        assert os.environ["VLLM_NO_USAGE_STATS"] == "1"
        assert os.environ["VLLM_LOGGING_LEVEL"] == "DEBUG"  # the user's own setting stays


def test_ctrl_c_gets_through_code_that_swallows_it() -> None:
    before = signal.default_int_handler  # a shell starts what runs in the background with SIGINT ignored
    signal.signal(signal.SIGINT, before)
    with pytest.raises(KeyboardInterrupt), interruptible():
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        pytest.fail("swallowed")
    assert signal.getsignal(signal.SIGINT) is before


def test_another_ctrl_c_handler_is_left_alone() -> None:
    caught: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: caught.append(number))
    try:
        with interruptible():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert caught == [signal.SIGINT]
