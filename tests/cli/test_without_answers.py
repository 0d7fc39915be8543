"""What the commands show of a pool without answers, from the first ranking to the second batch."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_pools import MadePool, fill_in, make_pool, prompt, said, write_rows
from typer.testing import Result

Run = Callable[..., Result]
N = 40


@pytest.fixture
def pool() -> MadePool:
    return make_pool(N)


@pytest.fixture
def sampled(run: Run, pool: MadePool) -> Run:
    """Forty items without an answer, eight samples each."""
    bring(run, pool.rows)
    return run


def bring(run: Run, rows: list[dict[str, Any]], *options: str) -> None:
    options = options or ("--model", "tiny")
    assert run("import-samples", str(write_rows(Path("rollouts.jsonl"), rows)), *options).exit_code == 0


def label(run: Run, pool: MadePool, name: str = "sl-0001", *words: str) -> Result:
    return run("ingest", str(fill_in(Path(f"{name}.annotators.csv"), pool.answer_of)), *words)


def shown(result: Result) -> str:
    assert result.exit_code == 0, result.stderr
    return result.stdout


def document(result: Result) -> dict[str, Any]:
    """Stdout as one document without NaN or Infinity."""
    assert result.exit_code == 0, result.stderr

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    read = json.loads(result.stdout, parse_constant=refuse)
    assert isinstance(read, dict)
    return read


def test_before_labels_the_screen_says_what_the_ranking_is_worth(sampled: Run) -> None:
    for words in (("rank",), ("shortlist", "--budget", "50%")):
        screen = shown(sampled(*words))
        assert "40 items have no known answer: ranked by signals of their samples, by a fixed rule." in screen
        assert "Answers are compared by the verifier math." in screen
        assert "AUROC" in screen
        assert screen.count("Signals cannot see items that the model gets wrong the same way every time.") == 1
        assert "No item drawn at random has an answer yet, so nothing tells how far" in screen


def test_a_first_batch_says_why(sampled: Run) -> None:
    screen = shown(sampled("shortlist", "--budget", "60%"))
    assert "A batch of 6 picks: 33% of what the budget grants beside the audit slice; 12 items left." in screen
    assert "Why not all at once (--batch 100%): these labels tell which p to expect of the others" in screen
    assert "--batch 100%" in screen
    whole = shown(sampled("shortlist", "--budget", "60%", "--batch", "100%", "--dry-run"))
    assert "A batch of" not in whole


def test_a_policy_that_ranks_nothing_yet_says_so(sampled: Run) -> None:
    assert "policy learnable can rank none of these items yet" in sampled("rank", "--policy", "learnable").stderr
    assert "can rank none" not in sampled("rank").stderr


@pytest.mark.parametrize("text", ["0%", "200%", "5", "abc"])
def test_what_is_no_share_is_refused(sampled: Run, text: str) -> None:
    refused = sampled("shortlist", "--budget", "50%", "--batch", text)
    assert refused.exit_code in (1, 2)
    assert "--batch" in refused.stderr
    assert f'"{text}"' in refused.stderr
    assert "--batch 30%" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_labels_are_shown_to_have_taught(sampled: Run, pool: MadePool) -> None:
    sampled("shortlist", "--budget", "60%", "--audit", "12", "--batch", "100%")
    came_in = shown(label(sampled, pool))
    assert "Items without an answer: p is predicted, as learned from 24 items with 192 judged samples." in came_in
    ranked = shown(sampled("rank", "--top", "40"))
    assert "16 items have no known answer: ranked by p, which is predicted from signals of their samples" in ranked
    assert "as learned from 24 items with 192 judged samples." in ranked
    for screen in (came_in, ranked, shown(sampled("shortlist", "--budget", "10%", "--dry-run"))):
        assert "The ranking on the audit slice (12 items with an answer, 90% intervals)" in screen
        for part in (" are) with AUROC", "calibration error", "mean p of the pool"):
            assert screen.count(part) == 1
    assert "On six public sets" not in ranked
    assert "calibrated" in ranked


def test_every_document_has_the_same_trust(sampled: Run, pool: MadePool) -> None:
    before = document(sampled("rank", "--json"))["without_answers"]
    assert (before["calibration"], before["trust"]["auroc"], before["reference"]) == (None, None, None)
    document(sampled("shortlist", "--budget", "60%", "--audit", "12", "--batch", "100%", "--json"))
    came_in = document(label(sampled, pool, "sl-0001", "--json"))["recalibrated"]
    assert came_in["before"] is None
    ranked = document(sampled("rank", "--json"))
    assert ranked["without_answers"] == came_in["now"]
    assert ranked["without_answers"]["trust"]["auroc"]["low"] > 0
    assert ranked["without_answers"]["calibration"]["n_items"] == 24
    made = document(sampled("shortlist", "--budget", "10%", "--dry-run", "--json"))
    assert made["without_answers"] == came_in["now"]
    again = document(label(sampled, pool, "sl-0001", "--json"))["recalibrated"]
    assert again["before"] == again["now"] == came_in["now"]


def test_too_few_labels_are_said_once(sampled: Run, pool: MadePool) -> None:
    sampled("shortlist", "--budget", "4", "--audit", "2")
    came_in = shown(label(sampled, pool))
    assert "too few others have one to predict p, so signals rank them by a fixed rule." in came_in
    ranked = sampled("rank")
    assert "4 items with an answer are too few to predict p from (5 are needed)." in shown(ranked)
    assert ranked.stdout.count("Only 2 audit items are labelled and have counted samples") == 1
    assert "audit item" not in ranked.stderr


def test_a_reference_is_named(sampled: Run, pool: MadePool) -> None:
    before = [row["id"] for row in document(sampled("rank", "--json"))["items"]]
    answers = [{"prompt": asked, "answer": answer} for asked, answer in pool.answer_of.items()]
    bring(sampled, answers, "--model", "big", "--role", "reference")
    assert "signals of their samples and the answers of big, by a fixed rule" in shown(sampled("rank"))
    ranked = document(sampled("rank", "--json"))
    assert ranked["without_answers"]["reference"] == "big"
    assert [row["id"] for row in ranked["items"]] != before


def test_a_single_pass_says_that_it_knows_little(sampled: Run) -> None:
    screen = shown(sampled("rank", "--single-pass", "--policy", "base-wrong"))
    assert "ranked by signals of one sample each, by a fixed rule" in screen
    assert "One sample says little" in screen
    assert shown(sampled("shortlist", "--single-pass", "--budget", "20%", "--policy", "base-wrong", "--dry-run"))


def test_free_text_is_said_to_be_compared_as_text(run: Run) -> None:
    towns = ("Paris", "Rome", "Oslo")
    bring(
        run, [{"prompt": prompt(n), "completions": [said(towns[s % (n % 3 + 1)]) for s in range(4)]} for n in range(9)]
    )
    assert "Answers are compared by their normalised text." in shown(run("rank"))


def test_answered_pools_are_spared_all_of_this(run: Run, pool: MadePool) -> None:
    bring(run, pool.with_answers(N))
    for words in (("rank",), ("shortlist", "--budget", "50%")):
        screen = shown(run(*words))
        for word in ("signals", "audit", "drawn at random", "A batch of"):
            assert word not in screen
    assert document(run("rank", "--json"))["without_answers"] is None


@pytest.mark.parametrize(
    ("completions", "sentence"),
    [
        ([said(7)] * 4, "The signals are the same for all 8 items, so only chance orders them."),
        ([said(7)], "The signals are the same for all 8 items, so only chance orders them."),
        ([None] * 4, "8 without samples that count"),
        ([], "8 without samples that count"),
    ],
)
def test_what_cannot_be_estimated_is_said(run: Run, completions: list[str], sentence: str) -> None:
    bring(run, [{"prompt": f"{n:03}?", "completions": completions} for n in range(8)])
    screen = shown(run("rank"))
    assert screen.count(sentence) == 1
    assert "AUROC of" not in screen
    document(run("rank", "--json"))


def test_one_item_is_spoken_of_as_one(run: Run) -> None:
    bring(run, [{"prompt": "Why?", "completions": [said(7), said(8)]}])
    screen = shown(run("rank"))
    assert "1 item has no known answer: ranked by signals of its samples" in screen
    assert "Only one item has samples, so there is nothing to rank it against." in screen
