import resource
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from budgetplan.annotation.landing import landing
from budgetplan.annotation.manifest import write_manifest
from budgetplan.annotation.tables import write_table
from budgetplan.annotation.tools.spreadsheet import write_tasks
from budgetplan.errors import BudgetplanError

ITEMS = pa.table(
    {"item_id": [f"bp-{i:06d}" for i in range(3000)], "prompt": [f"question {i * 7919}" for i in range(3000)]}
)


@contextmanager
def small_disk():
    """No file may grow beyond 4 kB: a real failing write, as on a full disk.

    Not a fixture: the limit holds for the whole process, and pytest's own report may be going to a file.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_files_appear_whole_and_together(tmp_path):
    one, two = tmp_path / "a.csv", tmp_path / "a.manifest.json"
    one.write_text("old")
    with landing(one, two) as (first, second):
        assert (first.suffix, second.suffix) == (".csv", ".json")
        first.write_text("new")
        assert one.read_text() == "old"
        second.write_text("{}")
        reader = one.open()
    with reader:  # who had it open reads on undisturbed
        assert reader.read() == "old"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.csv": "new", "a.manifest.json": "{}"}


def test_an_exception_leaves_everything_as_it_was(tmp_path):
    one, two = tmp_path / "a.csv", tmp_path / "b.csv"
    one.write_text("old")
    with pytest.raises(KeyboardInterrupt), landing(one, two) as (first, second):
        first.write_text("new")
        second.write_text("half")
        raise KeyboardInterrupt
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.csv": "old"}


WRITERS = {
    "items.csv": write_table,
    "items.jsonl": write_table,
    "items.parquet": write_table,
    "sheet.csv": lambda items, path: write_tasks(items, [path], shortlist_id="sl-1"),
    "items.manifest.json": lambda items, path: write_manifest({}, items, path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_is_an_error_that_names_the_path_and_leaves_nothing(tmp_path, name):
    path = tmp_path / name
    path.write_text("old")
    with pytest.raises(BudgetplanError) as caught, small_disk(), landing(path) as (file,):
        WRITERS[name](ITEMS, file)
    assert str(path) in caught.value.message
    assert "too large" in caught.value.message
    assert caught.value.hint
    assert {left.name: left.read_text() for left in tmp_path.iterdir()} == {name: "old"}


@pytest.mark.parametrize("name", WRITERS)
def test_a_folder_that_is_not_there_is_an_error_with_the_command_that_makes_it(tmp_path, name):
    path = tmp_path / "not there" / name
    with pytest.raises(BudgetplanError) as caught, landing(path) as (file,):
        WRITERS[name](ITEMS, file)
    assert str(path) in caught.value.message
    assert "mkdir -p" in caught.value.hint
    assert not path.parent.exists()


def test_a_file_in_place_of_the_folder_or_a_folder_in_place_of_the_file(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "a.csv", tmp_path):
        with pytest.raises(BudgetplanError, match=str(path)), landing(path) as (file,):
            write_table(ITEMS, file)
    assert [left.name for left in tmp_path.iterdir()] == ["file"]


def test_a_file_gets_the_usual_permissions(tmp_path):
    plain = tmp_path / "plain"
    plain.touch()
    with landing(tmp_path / "a.csv") as (file,):
        write_table(ITEMS, file)
    assert Path(tmp_path / "a.csv").stat().st_mode == plain.stat().st_mode
