import os
import subprocess
import sys

SCRIPT = """
import ctypes
from budgetplan.selection.silence import silent_stdout
libc = ctypes.CDLL(None)
print("before", flush=True)
with silent_stdout():
    libc.printf(b"%s", b"from the library\\n")
print("after", flush=True)
try:
    with silent_stdout():
        raise ValueError
except ValueError:
    print("raised")
"""


def test_what_c_prints_inside_never_reaches_a_pipe():
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env=buffered)
    assert done.stdout == "before\nafter\nraised\n"
    assert done.stderr == ""
