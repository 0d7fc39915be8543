"""`--quota`, `--must` and `--never`: items by the user's ids and columns, from the file to the record."""

import json
from pathlib import Path
from typing import Any

import pytest
from scripted import right_below

from budgetplan import PoolError, Project


@pytest.fixture
def probed(project: Project, sums: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """Ten items of topics t0 and t1 in turn: q0 to q3 have p̂ 1, .75, .5, .25, the other six 0."""
    scripted(right_below(4))
    project.probe(sums)
    monkeypatch.chdir(tmp_path)
    return project


def listed(name: str, *ids: str) -> Path:
    path = Path(name)
    path.write_text("".join(f"{one}\n" for one in ids))
    return path


def ids(shortlisted: Any) -> list[str]:
    return sorted(shortlisted.table["id"].to_pylist())


def test_the_record_holds_quotas_must_and_never(probed: Project) -> None:
    must, never = listed("must.txt", "q0", "", "q1 "), listed("never.txt", "q4")
    shortlisted = probed.shortlist("5 items", quota=["topic=t0:40%.."], must=must, never=never)
    assert {"q0", "q1"} <= set(ids(shortlisted))
    assert "q4" not in ids(shortlisted)
    n_even = sum(int(name[1:]) % 2 == 0 for name in ids(shortlisted))
    assert n_even >= 2
    assert shortlisted.table["rank"].to_pylist() == [1, 2, 3, 4, 5]
    assert shortlisted.choice.n_pool == 9
    assert shortlisted.files is not None
    manifest = json.loads(shortlisted.files.manifest.read_text())
    assert manifest["quotas"] == [{"quota": "topic=t0:40%..", "n_items": n_even, "share": n_even / 5}]
    assert (manifest["must"]["file"], manifest["must"]["n_items"], manifest["never"]["n_items"]) == ("must.txt", 2, 1)
    assert len(manifest["must"]["item_ids"]) == 2
    assert len(manifest["must"]["digest"]) == 16


def test_must_have_items_that_are_bought_already_cost_nothing_more(probed: Project) -> None:
    probed.shortlist("2 items", must=listed("must.txt", "q0", "q1"))
    again = probed.shortlist("2 items", must=listed("must.txt", "q0", "q1", "q2"), dry_run=True)
    assert (again.choice.n_must, again.n_must_bought, len(again.choice.order)) == (1, 2, 2)
    assert "q2" in ids(again)


def test_a_must_have_item_of_the_audit_slice_is_paid_once_and_a_pick(probed: Project) -> None:
    everything = listed("must.txt", *(f"q{n}" for n in range(10)))
    shortlisted = probed.shortlist("10 items", must=everything, audit="5")
    assert ids(shortlisted) == [f"q{n}" for n in range(10)]
    assert shortlisted.table["rank"].null_count == 0
    assert sum(shortlisted.table["audit"].to_pylist()) == 5


def test_items_go_by_our_item_ids_too(probed: Project) -> None:
    item_id = dict(zip(*(probed.rank().table[name].to_pylist() for name in ("id", "item_id")), strict=True))["q2"]
    assert "q2" in ids(probed.shortlist("1", must=listed("must.txt", item_id), dry_run=True))


@pytest.mark.parametrize(
    ("must", "never", "message"),
    [
        (["q1", "zz", "yy"], ["q4"], "--must must.txt: the pool has no item zz, yy"),
        (["q1"], ["q1", "q2"], r"is in both must.txt \(--must\) and never.txt \(--never\)"),
        ([], ["q1"], "--must must.txt: no id in it"),
    ],
)
def test_lists_that_make_no_sense_name_the_item(
    probed: Project, must: list[str], never: list[str], message: str
) -> None:
    with pytest.raises(PoolError, match=message):
        probed.shortlist("3", must=listed("must.txt", *must), never=listed("never.txt", *never))


def test_a_list_must_be_a_file_of_text(probed: Project) -> None:
    with pytest.raises(PoolError, match=r"--never nowhere.txt: No such file"):
        probed.shortlist("3", never="nowhere.txt")
    Path("bytes.txt").write_bytes(b"\xff\xfe\x00q")
    with pytest.raises(PoolError, match="not text in UTF-8"):
        probed.shortlist("3", must="bytes.txt")


def test_what_is_kept_out_is_no_must_have(probed: Project) -> None:
    with pytest.raises(PoolError, match=r"is kept out by --exclude topic=t1, and so are 1 more"):
        probed.shortlist("3", exclude=["topic=t1"], must=listed("must.txt", "q1", "q2", "q3"))


def test_a_quota_on_what_no_item_has_names_what_there_is(probed: Project) -> None:
    with pytest.raises(PoolError, match="--quota topic=t7: no item has this value") as caught:
        probed.shortlist("3", quota=["topic=t7:1.."])
    assert "t0 (5), t1 (5)" in caught.value.hint
    with pytest.raises(PoolError, match="--quota level=3: no item has a column 'level'; there is: id, topic"):
        probed.shortlist("3", quota=["level=3:1.."])
