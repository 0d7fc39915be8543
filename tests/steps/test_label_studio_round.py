"""The whole round through the product and a real Label Studio: see install_label_studio.sh."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from label_studio_server import (
    Account,
    LabelProject,
    form,
    label_studio,
    label_studio_or_skip,
    open_shortlist,
)
from scripted import number_in, reply

from budgetplan import Project
from budgetplan.records import Completion, SampleRequest
from budgetplan.steps.ingest import IngestReport

pytestmark = pytest.mark.slow

N_OUT, N_UNTOUCHED = 36, 3


@dataclass(frozen=True, slots=True)
class Said:
    """What one annotator says of one task; `at_first` is what they said before they thought again."""

    answer: str | None = None
    verdict: str | None = "ok"
    skip: bool = False
    at_first: str | None = None


SKIP, AMBIGUOUS = Said(skip=True), Said(verdict="ambiguous")


@pytest.fixture(scope="module")
def owner(tmp_path_factory):
    with label_studio(label_studio_or_skip(), tmp_path_factory.mktemp("label-studio")) as account:
        yield account


@pytest.fixture(scope="module")
def ana(owner: Account) -> Account:
    return owner.invite("ana@example.com")


@pytest.fixture
def probed(project: Project, write_pool, scripted, monkeypatch, tmp_path) -> Project:
    """Sixty sums without answers; the model is right on N+N with N % 5 of 4 samples."""

    def answer(request: SampleRequest, index: int) -> Completion:
        number = number_in(request.messages)
        return reply(request, index, f"The answer is {2 * number if index < number % 5 else 999}.")

    scripted(answer)
    project.probe(write_pool([{"id": f"q{n}", "question": f"{n}+{n}=?"} for n in range(60)]))
    monkeypatch.chdir(tmp_path)
    return project


def number_of(task: dict[str, Any]) -> int:
    return int(task["data"]["prompt"].split("+")[0])


def spoken(place: int, number: int) -> dict[str, Said]:
    """Who says what of the task at a place: both the right answer, where nothing else is meant to happen."""
    right, wrong = Said(str(2 * number)), Said(str(2 * number + 1))
    strange: dict[int, dict[str, Said]] = {
        0: {"owner": Said("1/2"), "ana": Said("0.5")},
        1: {"owner": Said(f"{2 * number}.0"), "ana": right},
        2: {"owner": right, "ana": wrong},
        3: {"owner": wrong, "ana": right},
        4: {"owner": SKIP, "ana": right},
        5: {"owner": wrong, "ana": SKIP},
        6: {"owner": AMBIGUOUS, "ana": right},
        7: {"owner": Said(str(2 * number), at_first="4 apples"), "ana": right},
        8: {"owner": SKIP, "ana": SKIP},
        9: {"ana": right},
    }
    return strange.get(place, {"owner": right, "ana": right})


def seconds_of(place: int, who: str) -> float:
    return place + (12.5 if who == "owner" else 30.25)


def say(who: Account, task: dict[str, Any], said: Said, seconds: float) -> int:
    """Annotate as the editor does; returns the annotation's id."""
    body = {"result": form(said.at_first or said.answer, said.verdict), "lead_time": seconds}
    made = who.json("POST", f"/api/tasks/{task['id']}/annotations/", body | {"was_cancelled": said.skip})
    if said.at_first:
        correct(who, made["id"], said)
    return int(made["id"])


def correct(who: Account, annotation: int, said: Said) -> None:
    who.json("PATCH", f"/api/annotations/{annotation}/", {"result": form(said.answer, said.verdict)})


def ingest_export(project: Project, opened: LabelProject, kind: str) -> IngestReport:
    file = Path(f"export{len(list(Path.cwd().iterdir()))}")
    file.write_bytes(opened.export(kind))
    return project.ingest([file])


def counted(report: IngestReport) -> dict[str, int]:
    changes = {change: report.n(change) for change in ("new", "changed", "unchanged", "skipped", "rejected")}
    return {change: count for change, count in changes.items() if count}


def everything(project: Project) -> list[Any]:
    """Every row that labels made, `status` and the ranking."""
    with project.store.reading() as connection:
        rows = [
            connection.execute(f"SELECT COLUMNS(*)::VARCHAR FROM {table} ORDER BY ALL").fetchall()
            for table in ("label", "adjudicated", "answer_group", "gold", "verdict", "ledger")
        ]
    return [*rows, p_hats(project)]


def p_hats(project: Project) -> dict[str, float | None]:
    return {row["item_id"]: row["p_hat"] for row in project.rank().table.to_pylist()}


def alpha_of(said: list[dict[str, Said]]) -> float:
    """The library's alpha over the answers as numbers."""
    answers = [[Fraction(one.answer) for one in people.values() if one.answer] for people in said]
    values = sorted({answer for group in answers for answer in group})
    counts = np.array([[group.count(value) for value in values] for group in answers])
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))


def test_a_round_through_label_studio(owner: Account, ana: Account, probed: Project) -> None:
    people = {"owner": owner, "ana": ana}
    names = {name: str(who.json("GET", "/api/current-user/whoami")["id"]) for name, who in people.items()}
    made = probed.shortlist(f"{N_OUT} items", tool="label-studio", batch="100%")
    assert made.files is not None
    out = set(made.table["item_id"].to_pylist())
    assert len(out) == N_OUT

    opened = open_shortlist(owner, *made.files.annotators)
    tasks = opened.tasks
    assert {task["data"]["item_id"] for task in tasks} == out
    untouched = [task["data"]["item_id"] for task in tasks[-N_UNTOUCHED:]]
    said = [spoken(place, number_of(task)) for place, task in enumerate(tasks[:-N_UNTOUCHED])]
    annotations = {
        (place, name): say(people[name], tasks[place], one, seconds_of(place, name))
        for place, all_said in enumerate(said)
        for name, one in all_said.items()
    }

    # All three exports, one after the other: the first brings everything, the others change nothing.
    first = ingest_export(probed, opened, "JSON")
    n_skips = sum(one.skip for all_said in said for one in all_said.values())
    assert counted(first) == {"new": len(annotations) - n_skips, "skipped": n_skips}
    assert set(first.missing) == set(untouched)
    assert [first.files[0].tool, first.files[0].bad, first.unknown, first.unasked] == ["label-studio", [], [], []]
    before = everything(probed)
    for kind in ("JSON_MIN", "CSV", "JSON"):
        again = ingest_export(probed, opened, kind)
        assert counted(again).keys() <= {"unchanged", "skipped"}
        assert again.n("unchanged") == len(annotations) - (0 if kind == "JSON" else n_skips)
        assert (again.missing, everything(probed)) == (first.missing, before)

    # What they said, and how long it took.
    with probed.store.reading() as connection:
        rows = connection.execute("SELECT item_id, annotator, answer, verdict, status, seconds FROM current_label")
        stored = {(item_id, annotator): rest for item_id, annotator, *rest in rows.fetchall()}
    assert stored == {
        (tasks[place]["data"]["item_id"], names[name]): (
            [None, None, "skipped", seconds_of(place, name)]
            if one.skip
            else [one.answer, one.verdict, "submitted", seconds_of(place, name)]
        )
        for place, all_said in enumerate(said)
        for name, one in all_said.items()
    }
    status = probed.status()
    hours = sum(seconds_of(place, name) for place, name in annotations) / 3600
    (spent,) = [row for row in status.ledger if (row.kind, row.state) == ("labels", "spent")]
    assert (spent.items, spent.hours) == (len(said) - 1, pytest.approx(hours))  # all but the one that both skipped
    assert {row.annotator: (row.n_labels, row.n_skipped) for row in status.labels.annotators} == {
        names["owner"]: (len(said) - 3, 2),
        names["ana"]: (len(said) - 2, 2),
    }
    assert status.labels.alpha == pytest.approx(alpha_of(said))

    # What follows: ties and contradictions for another look, p̂ from the samples that were there.
    items = [task["data"]["item_id"] for task in tasks]
    assert status.labels.states == {"agreed": len(said) - 4, "tied": 2, "unusable": 1, "skipped": 1}
    assert {item.item_id: item.state for item in probed.disagreements()} == {
        items[2]: "tied",
        items[3]: "tied",
        items[6]: "unusable",
    }
    known = {
        task["data"]["item_id"]: number_of(task) % 5 / 4
        for place, task in enumerate(tasks[:-N_UNTOUCHED])
        if place not in (2, 3, 6, 8)
    }
    known |= {items[0]: 0.0, items[5]: 0.0}
    assert {item_id: p_hat for item_id, p_hat in p_hats(probed).items() if p_hat is not None} == known

    # A correction made after the first export arrives with the next one.
    correct(owner, annotations[5, "owner"], Said(str(2 * number_of(tasks[5]))))
    assert counted(ingest_export(probed, opened, "JSON_MIN"))["changed"] == 1
    known[items[5]] = number_of(tasks[5]) % 5 / 4
    assert p_hats(probed)[items[5]] == known[items[5]]

    # Another look at the disagreements decides alone, against its own annotator's earlier word too.
    look = probed.look_again(tool="label-studio")
    looked = open_shortlist(owner, *look.files.annotators)
    assert {task["data"]["item_id"] for task in looked.tasks} == {items[place] for place in (2, 3, 6)}
    for task in looked.tasks:
        say(ana, task, Said(str(2 * number_of(task))), 5)
    report = ingest_export(probed, looked, "JSON")
    assert (len(report.changes), report.disagreements, report.unasked) == (3, [], [])
    known |= {items[place]: number_of(tasks[place]) % 5 / 4 for place in (2, 3, 6)}
    assert {item_id: p_hat for item_id, p_hat in p_hats(probed).items() if p_hat is not None} == known
    assert counted(ingest_export(probed, opened, "JSON")).keys() <= {"unchanged", "skipped"}  # the old export again
    assert probed.disagreements() == []

    # The next round buys none of it again.
    following = probed.shortlist("20 items", tool="label-studio")
    assert (following.table.num_rows, out & set(following.table["item_id"].to_pylist())) == (20, set())
