"""`--role reference` on the command line."""

import json
from pathlib import Path
from typing import Any


def test_answers_of_another_model_are_stored_as_a_reference(imported: Any) -> None:
    rows = [{"prompt": f"{n}+{n}=?", "answer": str(n)} for n in range(20)]
    Path("big.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = imported("import-samples", "big.jsonl", "--role", "reference", "--json")
    document = json.loads(done.stdout)
    assert (document["run"]["role"], document["run"]["model"], document["next"]) == (
        "reference",
        "big",
        "budgetplan rank",
    )
    assert document["pool"]["n_new_items"] == document["pool"]["n_changed_answers"] == 0
    again = imported("import-samples", "big.jsonl", "--role", "reference")
    assert "is a reference: rank compares the base model's answers with those of big" in again.stderr
    assert again.stdout.splitlines()[-1] == "Next: budgetplan rank"
    assert json.loads(imported("verify", "--json").stdout)["run"]["model"] == "tiny"
    assert imported("import-samples", "big.jsonl", "--role", "judge").exit_code == 2


def test_it_says_how_much_of_the_pool_a_reference_knows(imported: Any) -> None:
    rows = [{"prompt": f"{n}+{n}=?", "answer": str(n)} for n in range(15, 30)]
    Path("big.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = imported("import-samples", "big.jsonl", "--role", "reference")
    assert "5 of the 20 items of the base model's pool are in it." in done.stdout
    Path("stranger.jsonl").write_text(json.dumps({"prompt": "Who?", "answer": "Nobody"}) + "\n")
    done = imported("import-samples", "stranger.jsonl", "--role", "reference")
    assert "none of its prompts is in the base model's pool, so it changes no ranking" in done.stderr


def test_a_reference_alone_leads_to_the_base_model(run: Any) -> None:
    Path("big.jsonl").write_text(json.dumps({"prompt": "1+1=?", "answer": "2"}) + "\n")
    done = run("import-samples", "big.jsonl", "--role", "reference")
    assert done.stdout.splitlines()[-1] == "Next: budgetplan probe POOL"
    standing = run("status")
    assert "big (reference)" in standing.stdout
    assert standing.stdout.splitlines()[-1] == "Next: budgetplan probe POOL"
