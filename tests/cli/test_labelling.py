"""From the shortlist to the training set: what each command shows, its one document, its exit code, what comes next."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.testing import Result

from budgetplan.annotation.tools.detection import TOOLS
from budgetplan.cli import options

Run = Callable[..., Result]


@pytest.fixture
def asked(run: Run) -> Run:
    """Ten prompts without answers, on which the model agrees less and less with itself; five are out in sl-0001."""
    import_items(run, [f"q{n}" for n in range(10)])
    assert run("shortlist", "--budget", "5", "--audit", "0", "--format", "jsonl").exit_code == 0
    return run


def import_items(run: Run, ids: list[str], *options: str) -> None:
    rows = [
        {
            "id": name,
            "prompt": f"{n}+{n}=?",
            "completions": [f"The answer is {2 * n + max(0, s - 4)}." for s in range(n)],
        }
        for n, name in enumerate(ids, start=2)
    ]
    Path("rollouts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("import-samples", "rollouts.jsonl", *options).exit_code == 0


def out() -> list[str]:
    """The items that sl-0001 sent out, in the annotators' order."""
    return [json.loads(line)["item_id"] for line in Path("sl-0001.annotators.jsonl").read_text().splitlines()]


def back(name: str, *said: tuple[str, str, str]) -> str:
    """Write what annotators said: (item, annotator, answer)."""
    rows = [{"item_id": item, "annotator": who, "answer": answer, "seconds": 60} for item, who, answer in said]
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return name


def disagree(run: Run) -> str:
    """Let two annotators say different things of one item, which is returned."""
    (item, *_) = out()
    assert run("ingest", back("both.jsonl", (item, "ana", "7"), (item, "bo", "8"))).exit_code == 0
    return item


def document(result: Result) -> dict[str, Any]:
    """Stdout as one document."""
    assert result.exit_code == 0, result.stderr
    read = json.loads(result.stdout)
    assert isinstance(read, dict)
    return read


def last_line(result: Result) -> str:
    return result.stdout.splitlines()[-1]


def refusal(result: Result) -> str:
    """What stderr says of a command that the user can mend."""
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr.replace("\n", " ")


def test_ingest_says_what_came_in_and_what_is_missing(asked: Run) -> None:
    path = back("labels.jsonl", *((item, "ana", "4") for item in out()[:3]))
    shown = asked("ingest", path)
    assert shown.exit_code == 0
    assert "labels.jsonl: jsonl, 3 labels." in shown.stdout
    counts = "Labels: 3 new, 0 changed, 0 unchanged, 0 skipped, 0 rejected; unknown item 0; still missing 2."
    assert counts in shown.stdout
    assert (
        "Decided 3 items: answers new or changed for 3; the stored samples of 1 run were judged by them."
        in shown.stdout
    )
    assert "warning" not in shown.stderr
    assert last_line(shown) == "Next: budgetplan rank"
    assert "Labels: 0 new, 0 changed, 3 unchanged" in asked("ingest", path).stdout


def test_ingest_names_the_items_in_its_document(asked: Run) -> None:
    first, second, *rest = out()
    stranger = "bp-00000000000000aa"
    said = document(asked("ingest", back("labels.jsonl", (first, "ana", "4"), (stranger, "ana", "4")), "--json"))
    assert said["labels"]["new"] == [{"item_id": first, "annotator": "ana"}]
    assert said["unknown"] == [{"file": "labels.jsonl", "place": 2, "item": stranger}]
    assert sorted(said["missing"]) == sorted([second, *rest])
    assert said["next"] == "budgetplan rank"
    said = document(asked("ingest", back("more.jsonl", (first, "ana", "5"), (second, "bo", "6")), "--json"))
    assert [item["item_id"] for item in said["labels"]["changed"]] == [first]
    assert [item["item_id"] for item in said["labels"]["new"]] == [second]


def test_bad_records_are_named_and_left_out_only_if_told(asked: Run) -> None:
    path = back("labels.jsonl", (out()[0], "ana", "4"))
    with Path(path).open("a") as stream:
        stream.write('{"item_id": "bp-')
    assert "labels.jsonl:2: broken JSON" in refusal(asked("ingest", path))
    assert "--skip-bad" in refusal(asked("ingest", path))
    shown = asked("ingest", path, "--skip-bad")
    assert "labels.jsonl: jsonl, 1 label, 1 bad." in shown.stdout
    assert "labels.jsonl:2 left out: broken JSON" in shown.stderr.replace("\n", " ")


def test_a_wrong_file_or_format_is_refused_with_the_way_on(asked: Run) -> None:
    path = back("labels.jsonl", (out()[0], "ana", "4"))
    assert asked("ingest", path, "--format", "excel").exit_code == 2
    assert asked("ingest").exit_code == 2
    assert "labels.jsonl" in refusal(asked("ingest", path, "--format", "parquet"))
    assert "no-such.json" in refusal(asked("ingest", "no-such.json"))
    assert "no store" in refusal(asked("ingest", path, "--db", "other.duckdb"))
    failed = asked("ingest", "no-such.json", "--json")
    assert failed.exit_code == 1
    assert "no-such.json" in json.loads(failed.stdout)["error"]["message"]


def test_help_shows_how_labels_come_back(run: Run) -> None:
    text = run("ingest", "--help").stdout
    assert "Example: budgetplan ingest export.json" in text
    for option in ("--format", "--annotator", "--skip-bad", "--replace-known", "--pseudonyms"):
        assert option in text


def test_disagreements_are_shown_and_go_out_once_more(asked: Run) -> None:
    (item, *_) = out()
    shown = asked("ingest", back("both.jsonl", (item, "ana", "7"), (item, "bo", "8")))
    assert "Annotators differ on 1 item." in shown.stdout
    assert last_line(shown) == "Next: budgetplan status --disagreements"
    shown = asked("status", "--disagreements")
    assert "ana: 7; bo: 8" in shown.stdout
    assert (shown.exit_code, last_line(shown)) == (0, "Next: budgetplan shortlist --disagreements")
    shown = asked("shortlist", "--disagreements", "--format", "jsonl")
    assert "sl-0002: 1 item for another look" in shown.stdout
    assert "sl-0002.annotators.jsonl" in shown.stdout
    assert (shown.exit_code, last_line(shown)) == (0, "Next: budgetplan ingest FILE")
    assert json.loads(Path("sl-0002.annotators.jsonl").read_text())["item_id"] == item


def test_disagreements_are_one_document(asked: Run) -> None:
    item = disagree(asked)
    said = document(asked("status", "--disagreements", "--json"))
    (found,) = said["disagreements"]
    assert (found["item_id"], found["state"], found["said"]) == (item, "tied", {"ana": "7", "bo": "8"})
    assert said["next"] == "budgetplan shortlist --disagreements"
    made = document(asked("shortlist", "--disagreements", "--json"))
    assert (made["shortlist_id"], made["n_items"], made["next"]) == ("sl-0002", 1, "budgetplan ingest FILE")


def test_where_nobody_disagrees_there_is_nothing_to_look_at(asked: Run) -> None:
    shown = asked("status", "--disagreements")
    assert "Annotators disagree on nothing." in shown.stdout
    assert (shown.exit_code, last_line(shown)) == (0, "Next: budgetplan status")
    assert document(asked("status", "--disagreements", "--json"))["disagreements"] == []
    assert "annotators disagree on nothing" in refusal(asked("shortlist", "--disagreements"))


def test_recall_takes_back_what_is_out(asked: Run) -> None:
    first, *rest = out()
    shown = asked("recall", "sl-0001", first)
    assert "1 item of sl-0001 taken back, to be chosen again." in shown.stdout
    assert (shown.exit_code, last_line(shown)) == (0, "Next: budgetplan shortlist")
    said = document(asked("recall", "sl-0001", "--json"))
    assert sorted(said["item_ids"]) == sorted(rest)
    assert (said["freed"], said["freed_unit"], said["next"]) == (4, "items", "budgetplan shortlist")
    again = asked("shortlist", "--audit", "0", "--dry-run")
    assert "what is left (5 items)" in again.stdout


def test_recall_of_what_is_not_out_is_refused(asked: Run) -> None:
    assert asked("recall").exit_code == 2
    assert "The shortlists are: sl-0001." in refusal(asked("recall", "sl-0007"))
    assert "bp-00000000000000aa is not out in sl-0001" in refusal(asked("recall", "sl-0001", "bp-00000000000000aa"))


def test_forget_removes_one_persons_records(asked: Run) -> None:
    disagree(asked)
    shown = asked("forget", "bo")
    assert "1 record of bo removed." in shown.stdout
    assert (shown.exit_code, last_line(shown)) == (0, "Next: budgetplan status")
    assert asked("status", "--disagreements").stdout.startswith("Annotators disagree on nothing.")
    assert "The annotators are: ana." in refusal(asked("forget", "cy"))
    said = document(asked("forget", "ana", "--json"))
    assert (said["annotator"], said["n_records"], said["next"]) == ("ana", 1, "budgetplan status")
    assert asked("forget").exit_code == 2


def test_export_says_what_it_wrote_and_where(asked: Run) -> None:
    assert "budgetplan ingest FILE" in refusal(asked("export", "--for", "trl"))
    asked("ingest", back("labels.jsonl", *((item, "ana", "4") for item in out()[:3])))
    shown = asked("export", "--for", "trl")
    assert "Wrote 3 items to train.trl.parquet for trl: answers from labels 3, known beforehand 0." in shown.stdout
    assert (shown.exit_code, last_line(shown)) == (0, "Next: budgetplan status")
    assert "train.trl.parquet exists" in refusal(asked("export", "--for", "trl"))
    said = document(asked("export", "--for", "trl", "--force", "--json"))
    assert (said["path"], said["n_items"], said["n_from_labels"]) == ("train.trl.parquet", 3, 3)
    assert asked("export", "--for", "jax").exit_code == 2


def test_status_shows_who_labelled_and_what_it_took(asked: Run) -> None:
    assert last_line(asked("status")) == "Next: budgetplan ingest FILE"
    item = disagree(asked)
    asked("ingest", back("rest.jsonl", *((other, "ana", "4") for other in out() if other != item)))
    shown = asked("status")
    for part in ("sl-0001: 5 items", "5 labelled", "Labelled items: agreed 4, tied 1.", "Krippendorff's alpha", "60 s"):
        assert part in shown.stdout
    assert last_line(shown) == "Next: budgetplan status --disagreements"
    said = document(asked("status", "--json"))
    assert {row["annotator"]: row["n_labels"] for row in said["labels"]["annotators"]} == {"ana": 5, "bo": 1}
    spent = {row["state"]: row for row in said["ledger"] if row["kind"] == "labels"}
    assert (spent["planned"]["items"], spent["spent"]["items"]) == (5, 5)
    assert spent["spent"]["hours"] == pytest.approx(6 * 60 / 3600)


def test_the_next_command_stays_on_the_store(run: Run) -> None:
    import_items(run, [f"q{n}" for n in range(10)], "--db", "my.duckdb")
    run("shortlist", "--budget", "5", "--audit", "0", "--format", "jsonl", "--db", "my.duckdb")
    (item, *_) = out()
    ingested = run("ingest", back("both.jsonl", (item, "ana", "7"), (item, "bo", "8")), "--db", "my.duckdb")
    assert last_line(ingested) == "Next: budgetplan status --disagreements --db my.duckdb"
    for words in (("status", "--disagreements"), ("forget", "bo"), ("recall", "sl-0001"), ("export", "--for", "trl")):
        assert last_line(run(*words, "--db", "my.duckdb")).endswith(" --db my.duckdb")


def test_what_looks_like_markup_is_shown_as_it_is(run: Run) -> None:
    import_items(run, [f"q[b]{n}[/]" for n in range(10)], "--model", "[u]tiny[/]")
    made = run("shortlist", "--budget", "5", "--audit", "0", "--format", "jsonl", "--out", "[i]sl[/i].csv")
    assert made.exit_code == 1  # that is a folder which is not there
    Path("[i]sl[").mkdir()
    made = run("shortlist", "--budget", "5", "--audit", "0", "--format", "jsonl", "--out", "[i]sl[/i].csv")
    assert "[i]sl[/i].annotators.jsonl" in made.stdout
    tasks = Path("[i]sl[/i].annotators.jsonl").read_text().splitlines()
    first, second = (json.loads(line)["item_id"] for line in tasks[:2])
    said = [(first, "[red]ana[/]", "[b]7[/]"), (first, "bo", "8"), (second, "[red]ana[/]", "9"), ("bp-x[/]", "bo", "1")]
    path = back("[dim]labels.jsonl", *said)
    with Path(path).open("a") as stream:
        stream.write('{"item_id": "[bold]x[/]"}\n')
    refused = refusal(run("ingest", path))
    assert "[dim]labels.jsonl:5" in refused
    assert "[bold]x[/]" in refused
    shown = run("ingest", path, "--skip-bad")
    assert "[dim]labels.jsonl: jsonl" in shown.stdout
    assert "bp-x[/]" in shown.stderr
    assert "[bold]x[/]" in shown.stderr
    shown = run("status", "--disagreements")
    assert "q[b]" in shown.stdout
    assert "[red]ana[/]: [b]7[/]; bo: 8" in shown.stdout
    shown = run("status")
    assert "[red]ana[/]" in shown.stdout
    assert "[u]tiny[/]" in shown.stdout
    assert "[x]cy[/]" in refusal(run("forget", "[x]cy[/]"))
    assert "sl[/]" in refusal(run("recall", "sl[/]"))
    assert "bp-[/]" in refusal(run("recall", "sl-0001", "bp-[/]"))
    assert "[s]train.parquet" in run("export", "--for", "trl", "--out", "[s]train.parquet").stdout
    assert "[s]train.parquet exists" in refusal(run("export", "--for", "trl", "--out", "[s]train.parquet"))
    assert "1 record of bo" in run("forget", "bo").stdout
    assert "2 records of [red]ana[/] removed." in run("forget", "[red]ana[/]").stdout


def test_every_tool_can_be_named() -> None:
    assert get_args(options.Tool) == tuple(TOOLS)
