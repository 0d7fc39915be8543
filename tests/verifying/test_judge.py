import os
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from budgetplan.errors import VerifierError
from budgetplan.verifying.judge import JUDGED_SCHEMA, Judge, judge


class Counting:
    def __init__(self) -> None:
        self.started: list[tuple[str, int | None]] = []
        self.advanced = 0
        self.finished = 0

    def start(self, task: str, total: int | None) -> None:
        self.started.append((task, total))

    def advance(self, steps: int) -> None:
        self.advanced += steps

    def note(self, text: str) -> None: ...

    def finish(self) -> None:
        self.finished += 1


def outcomes(table):
    return table.column("outcome").to_pylist()


def test_rows_stay_in_order_over_several_workers(batch):
    texts = [f"The answer is {number}." for number in range(3000)]
    golds = [str(number if number % 3 else -1) for number in range(3000)]
    progress = Counting()
    with Judge("math", workers=2) as open_judge:
        open_judge._row_seconds = 1.0  # as if slow: both workers are wanted
        table = open_judge.judge(batch(texts, golds), progress)
        assert len(open_judge._workers) == 2
    assert table.schema == JUDGED_SCHEMA
    assert outcomes(table) == ["correct" if number % 3 else "wrong" for number in range(3000)]
    assert table.column("extracted").to_pylist() == [str(number) for number in range(3000)]
    assert progress.advanced == 3000


def test_one_batch_reports_its_progress(batch):
    progress = Counting()
    judge("math", batch(["The answer is 1."] * 10, "1"), workers=1, progress=progress)
    assert (progress.started, progress.advanced, progress.finished) == ([("verifying", 10)], 10, 1)


def test_an_empty_batch_is_judged(batch):
    assert judge("exact", batch([], "1"), workers=2).num_rows == 0


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(st.characters(codec="utf-8"), max_size=60), max_size=20))
def test_every_row_gets_one_verdict(batch, open_math, texts):
    table = open_math.judge(batch(texts, "1"))
    assert table.num_rows == len(texts)
    assert set(outcomes(table)) <= {"correct", "wrong", "no_answer"}


@pytest.fixture(scope="module")
def open_math():
    with Judge("math", workers=1) as open_judge:
        yield open_judge


HANGS = """
import os, sys, time
def f(completions, answer, **columns):
    for text in completions:
        if text == "hang":
            while True: pass
        if text == "sleep":
            time.sleep(1000)
        if text == "die":
            os._exit(7)
        if text == "exit":
            sys.exit(3)
        if text == "raise":
            raise ValueError("oh")
    print("noise")
    return [1.0] * len(completions)
"""


@pytest.mark.parametrize("culprit", ["hang", "sleep", "die", "exit", "raise"])
def test_only_the_culprit_is_a_verifier_error(batch, users_file, culprit, capfd):
    texts = ["fine"] * 40 + [culprit] + ["fine"] * 40
    with Judge(users_file(HANGS), workers=2, seconds_per_completion=0.7) as open_judge:
        verdicts = outcomes(open_judge.judge(batch(texts, "x")))
        assert open_judge.first_error
        again = outcomes(open_judge.judge(batch(["fine"] * 5, "x")))
    assert verdicts == ["correct"] * 40 + ["verifier_error"] + ["correct"] * 40
    assert again == ["correct"] * 5
    assert capfd.readouterr() == ("", "")


def test_an_expression_that_explodes_is_stopped(batch):
    texts = [r"\boxed{\sqrt{12}}", r"\boxed{9^{9^{9^{9}}} + \sqrt{2}}", r"\boxed{\sqrt{13}}"]
    started = time.monotonic()
    verdicts = outcomes(judge("math", batch(texts, r"2\sqrt{3}"), workers=1, seconds_per_completion=2.0))
    assert verdicts[0] == "correct"
    assert verdicts[1] in ("verifier_error", "wrong")
    assert verdicts[2] == "wrong"
    assert time.monotonic() - started < 60


def test_a_killed_worker_costs_nothing_but_time(batch):
    texts = [f"The answer is {number}." for number in range(5000)]
    with Judge("math", workers=1) as open_judge:
        os.killpg(open_judge._workers[0]._process.pid, 9)
        assert outcomes(open_judge.judge(batch(texts, "7"))).count("verifier_error") == 0


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("raise RuntimeError('broken file')", "cannot be loaded: RuntimeError: broken file"),
        ("import sys; sys.exit(5)", "could not be loaded: the worker ended with exit code 5"),
        ("def g(completions, **c): ...", "has no function 'f'"),
    ],
)
def test_a_verifier_that_cannot_be_loaded_is_refused_at_once(users_file, source, message):
    with pytest.raises(VerifierError, match=message), Judge(users_file(source), workers=2):
        pass


def test_a_breach_of_the_contract_stops_the_judging(batch, users_file):
    verifier = users_file("def f(completions, answer, **columns):\n    return [1.0]\n")
    with (
        pytest.raises(VerifierError, match=r"mine\.py:f returned 1 rewards for 5 completions") as caught,
        Judge(verifier, workers=1) as open_judge,
    ):
        open_judge.judge(batch(["x"] * 5, "y"))
    assert "Return one number or None" in caught.value.hint


def test_columns_reach_the_function(batch, users_file):
    verifier = users_file("def f(completions, answer, weight, **c):\n    return [w or 0.0 for w in weight]\n")
    columns = ['{"weight": 1.0}', '{"weight": 0.25, "other": 3}', None]
    assert outcomes(judge(verifier, batch(["x"] * 3, "y", columns=columns), workers=1)) == ["correct", "wrong", "wrong"]


def test_workers_load_neither_torch_nor_arrow_nor_the_callers_main_module(batch, users_file):
    verifier = users_file(
        "import sys\ndef f(completions, answer, **c):\n"
        "    heavy = {'torch', 'pyarrow', 'numpy', 'sympy', 'pytest'} & set(sys.modules)\n"
        "    return [float(not heavy)] * len(completions)\n"
    )
    assert outcomes(judge(verifier, batch(["x"], "y"), workers=1)) == ["correct"]


SCRIPT = """
import pyarrow as pa
from budgetplan.verifying.judge import judge
print("once")
nothing = pa.nulls(1, pa.string())
batch = pa.table({"text": ["The answer is 5."], "finish_reason": nothing, "gold": ["5"], "columns": nothing})
print(judge("math", batch, workers=2).column("outcome").to_pylist())
"""


def test_a_script_without_a_main_guard_runs_once(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    ran = subprocess.run(
        [sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout.splitlines() == ["once", "['correct']"]
    assert ran.stderr == ""


def test_no_process_is_left_behind(batch, users_file, tmp_path):
    pid_file = tmp_path / "pid"
    verifier = users_file(
        "import pathlib, subprocess\ndef f(completions, answer, **c):\n"
        "    child = subprocess.Popen(['sleep', '1000'])\n"
        f"    pathlib.Path({str(pid_file)!r}).write_text(str(child.pid))\n"
        "    child.wait()\n"
    )
    judge(verifier, batch(["x"], "y"), workers=1, seconds_per_completion=1.0)
    with pytest.raises(ProcessLookupError):
        for _ in range(100):
            os.kill(int(pid_file.read_text()), 0)
            time.sleep(0.05)
