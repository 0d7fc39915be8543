import json
from pathlib import Path
from typing import Any


def wished(imported: Any, *more: str) -> Any:
    Path("must.txt").write_text("q19\n")
    Path("never.txt").write_text("q0\nq1\n")
    words = ("--quota", "minutes=5:3..", "--must", "must.txt", "--never", "never.txt", "--dry-run")
    return imported("shortlist", "--budget", "4", *words, *more)


def test_the_screen_says_how_each_wish_came_out(imported: Any) -> None:
    shown = wished(imported)
    assert shown.exit_code == 0
    assert "Must-have (--must): 1 item of these." in shown.stdout
    assert "Never (--never): 2 items kept out." in shown.stdout
    row = next(line for line in shown.stdout.splitlines() if line.strip().startswith("minutes=5"))
    assert row.split() == ["minutes=5", "3..", "4", "of", "4", "100.0%"]


def test_the_document_has_the_same(imported: Any) -> None:
    document = json.loads(wished(imported, "--json").stdout)
    assert document["quotas"] == [{"quota": "minutes=5:3..", "n_items": 4, "share": 1.0}]
    assert (document["n_must"], document["n_must_bought"], document["n_never"]) == (1, 0, 2)
    assert "q19" in [item["id"] for item in document["items"]]


def test_a_quota_that_cannot_be_kept_ends_with_the_fix(imported: Any) -> None:
    failed = imported("shortlist", "--budget", "4", "--quota", "minutes=5:..50%")
    assert failed.exit_code == 1
    assert "minutes=5:..50% cannot be kept" in failed.stderr
    assert "Widen it" in failed.stderr
