"""A disk that fills up in the middle of an import. A limit on file sizes stands for it: the write fails in both."""

import json
import resource
import subprocess
import sys
from pathlib import Path

from budgetplan import Project

LIMIT_BYTES = 4 * 2**20


def budgetplan(folder: Path, *words: str, limited: bool) -> "subprocess.CompletedProcess[str]":
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, LIMIT_BYTES))

    script = str(Path(sys.executable).with_name("budgetplan"))
    return subprocess.run(
        [script, *words], cwd=folder, capture_output=True, text=True, check=False, preexec_fn=limit if limited else None
    )


def test_a_full_disk_is_an_error_and_what_was_stored_stays(tmp_path: Path) -> None:
    small = {"prompt": "1+1=?", "answer": "2", "completions": ["The answer is 2."]}
    (tmp_path / "small.jsonl").write_text(json.dumps(small) + "\n")
    assert budgetplan(tmp_path, "import-samples", "small.jsonl", limited=False).returncode == 0
    with (tmp_path / "large.jsonl").open("w") as file:
        for n in range(3_000):
            noise = "".join(chr(33 + (n * i * i + i) % 90) for i in range(4_000))
            file.write(json.dumps({"prompt": f"{n}: {noise}", "completions": [noise[::-1]]}) + "\n")
    failed = budgetplan(tmp_path, "import-samples", "large.jsonl", limited=True)
    assert failed.returncode == 1, failed.stderr
    assert "error: " in failed.stderr
    assert "df -h" in failed.stderr
    assert "Traceback" not in failed.stderr
    ranking = Project(db=tmp_path / "budgetplan.duckdb").rank()
    assert ranking.table["p_hat"].to_pylist() == [1.0]
