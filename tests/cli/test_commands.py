import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from budgetplan.cli import app
from budgetplan.errors import Interrupted

COMMANDS = (
    """demo probe import-samples rank shortlist ingest validate export verify recall forget status config""".split()
)


def only_json(result: Any) -> dict[str, Any]:
    """Stdout as one document."""
    document = json.loads(result.stdout)
    assert isinstance(document, dict)
    return document


def test_help_names_every_command_in_the_order_of_the_journey(run: Any) -> None:
    _, _, listed = run("--help").stdout.partition("Commands:")
    assert [line.split()[0] for line in listed.splitlines() if line.strip()][: len(COMMANDS)] == list(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_an_example_and_the_shared_options(run: Any, command: str) -> None:
    text = run(command, "--help").stdout
    assert "Example: " in text
    assert f"budgetplan {command}" in text
    assert "--json" in text
    assert "--log-file" in text
    assert "--db" in text or command == "demo"


def test_help_loads_nothing_heavy() -> None:
    heavy = "torch transformers vllm trl ray datasets duckdb pyarrow numpy scipy pydantic sklearn".split()
    code = f"""
import sys
sys.argv = ["budgetplan", "--help"]
try:
    from budgetplan.cli import main
    main()
finally:
    print([name for name in {heavy} if name in sys.modules], file=sys.stderr)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr.strip() == "[]"


def test_the_version_is_shown(run: Any) -> None:
    assert run("--version").stdout.startswith("budgetplan 0.")


def test_the_journey_on_imported_samples(imported: Any) -> None:
    ranked = imported("rank", "--top", "3")
    assert ranked.exit_code == 0
    assert "p̂" in ranked.stdout
    assert ranked.stdout.splitlines()[-1] == "Next: budgetplan shortlist --budget 10%"
    chosen = imported("shortlist", "--budget", "10%")
    assert "Policy hard, budget 10% of 20 items: 2 items." in chosen.stdout
    assert "sl-0001.annotators.csv" in chosen.stdout
    assert Path("sl-0001.csv").exists()
    stood = imported("status")
    assert "tiny" in stood.stdout
    assert "sl-0001: 2 items, hard, 10%" in stood.stdout


def test_the_tie_at_the_cut_is_on_the_screen(run: Any, rollouts: Path) -> None:
    rows = [json.loads(line) | {"completions": ["no"] * 4} for line in rollouts.read_text().splitlines()]
    rollouts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run("import-samples", str(rollouts))
    shown = run("shortlist", "--budget", "10%", "--dry-run").stdout
    assert "Tied at the cut: 20 items have the same score (p̂ = 0.00), 2 of them are in." in shown
    assert "Dry run: nothing was written." in shown


@pytest.mark.parametrize("words", [("rank",), ("status",), ("shortlist", "-b", "10%"), ("verify",), ("config",)])
def test_json_is_one_document_on_stdout(imported: Any, words: tuple[str, ...]) -> None:
    assert only_json(imported(*words, "--json"))


def test_json_has_the_stable_names(imported: Any) -> None:
    item = only_json(imported("rank", "--json"))["items"][0]
    stable = "item_id id k n_correct p_hat p_mean p_low p_high learnable score rank cost policy source outcomes"
    assert set(stable.split()) <= set(item)
    document = only_json(imported("shortlist", "--budget", "3", "--json"))
    assert (document["n_items"], document["policy"], len(document["items"])) == (3, "hard", 3)
    assert document["items"][0]["prompt"]


def test_an_error_says_what_and_how_on_and_exits_with_1(imported: Any) -> None:
    failed = imported("shortlist", "--budget", "40h")
    assert failed.exit_code == 1
    assert failed.stdout == ""
    assert "error: budget" in failed.stderr
    assert "--cost-per-item" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_an_error_under_json_is_a_document_too(imported: Any) -> None:
    failed = imported("shortlist", "--budget", "-5", "--json")
    assert failed.exit_code == 1
    assert "-5" in only_json(failed)["error"]["message"]


@pytest.mark.parametrize(
    ("budget", "says"),
    [
        ("500 items", "above the pool"),
        ("-5", "-5"),
        ("110%", "more than the whole pool"),
        ("40h", "needs a cost per item"),
        ("5parsecs", "parsecs"),
        ("1%", "below the cheapest item"),
        ("000", "quote"),
    ],
)
def test_budgets_that_cannot_be_spent(imported: Any, budget: str, says: str) -> None:
    failed = imported("shortlist", "--budget", budget)
    assert failed.exit_code == 1
    assert says in failed.stderr.replace("\n", " ")
    assert not Path("sl-0001.csv").exists()


def test_wrong_usage_exits_with_2(run: Any) -> None:
    assert run("export").exit_code == 2
    assert run("rank", "--policy", "hardest").exit_code == 2
    assert run("rnak").exit_code == 2


def test_an_interruption_exits_with_130(imported: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for stop in (KeyboardInterrupt(), Interrupted("stopped", hint="again")):
        monkeypatch.setattr("budgetplan.project.Project.rank", lambda *_, stop=stop, **__: (_ for _ in ()).throw(stop))
        assert imported("rank").exit_code == 130


def test_an_incomplete_probe_exits_with_3(run: Any, tmp_path: Path, scripted: Any) -> None:
    from scripted import reply

    scripted(lambda request, index: reply(request, index, "", finish_reason="error", error="gone", n_tokens=0))
    (tmp_path / "pool.jsonl").write_text('{"prompt": "1+1=?"}\n')
    ended = run("probe", "pool.jsonl", "--model", "tiny", "--template", "none", "--yes")
    assert ended.exit_code == 3
    assert "still missing" in ended.stderr


def test_settings_come_from_flag_environment_file_and_default(run: Any, tmp_path: Path) -> None:
    (tmp_path / "budgetplan.toml").write_text('model = "from-file"\nk = 5\nmax-tokens = 99\n')
    shown = only_json(run("config", "--json", "--db", "x.duckdb", BUDGETPLAN_K="6"))
    assert shown["db"] == {"value": "x.duckdb", "from": "flag"}
    assert shown["k"] == {"value": 6, "from": "environment"}
    assert shown["model"] == {"value": "from-file", "from": "budgetplan.toml"}
    assert shown["max_tokens"]["value"] == 99
    assert shown["seed"] == {"value": 0, "from": "default"}
    assert "budgetplan.toml" in run("config").stdout


@pytest.mark.parametrize(
    ("content", "says"),
    [("modle = 'x'", "no setting 'modle'"), ("k = 'many'", "budgetplan.toml: k = 'many'"), ("k =", "not valid TOML")],
)
def test_settings_that_make_no_sense_are_named(run: Any, tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "budgetplan.toml").write_text(content)
    failed = run("config")
    assert failed.exit_code == 1
    assert says in failed.stderr


def test_a_log_file_tells_what_happened(imported: Any, tmp_path: Path) -> None:
    imported("shortlist", "--budget", "40h", "--log-file", "run.log")
    text = (tmp_path / "run.log").read_text()
    assert "started: budgetplan shortlist" in text
    assert "BudgetError" in text


def test_an_unknown_model_names_the_ways_on(run: Any, tmp_path: Path) -> None:
    (tmp_path / "pool.jsonl").write_text('{"prompt": "1+1=?"}\n')
    failed = run("probe", "pool.jsonl", "--model", "./no-such-model", "--yes")
    assert failed.exit_code == 1
    assert "no-such-model" in failed.stderr
    assert not (tmp_path / "budgetplan.duckdb").exists()


def test_the_next_command_stays_on_the_store(run: Any, rollouts: Path) -> None:
    ended = run("import-samples", str(rollouts), "--db", "my store.duckdb")
    assert ended.stdout.splitlines()[-1] == "Next: budgetplan rank --db 'my store.duckdb'"
    assert run(*"import-samples rollouts.jsonl".split()).stdout.splitlines()[-1] == "Next: budgetplan rank"


def test_an_unknown_verifier_is_met_before_anything_is_stored(run: Any, rollouts: Path) -> None:
    assert "no verifier 'foo'" in run("import-samples", str(rollouts), "--verifier", "foo").stderr
    assert not Path("budgetplan.duckdb").exists()


def test_commands_are_registered_under_their_names() -> None:
    group: Any = typer.main.get_command(app)
    assert set(group.commands) == set(COMMANDS)


def test_what_looks_like_markup_is_shown_as_it_is(run: Any, rollouts: Path) -> None:
    rows = [json.loads(line) | {"id": "q[train]1[/]"} for line in rollouts.read_text().splitlines()[:1]]
    rollouts.write_text(json.dumps(rows[0]) + "\n")
    run("import-samples", str(rollouts), "--model", "[bold]tiny")
    assert "q[train]1[/]" in run("rank").stdout
    assert "[bold]tiny" in run("status").stdout
    assert run("config", BUDGETPLAN_TEMPLATE="[INST] {prompt} [/INST]").exit_code == 0
