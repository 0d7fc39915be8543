import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from budgetplan.errors import NothingToDo, StoreError, StoreLocked, StoreTooNew
from budgetplan.store import connection as module
from budgetplan.store.connection import Store
from budgetplan.store.migrations import MIGRATIONS, Migration


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.duckdb")


def version(store: Store) -> int:
    with duckdb.connect(store.path, read_only=True) as connection:
        row = connection.execute("SELECT max(version) FROM schema_migration").fetchone()
    assert row is not None
    return int(row[0])


def test_writing_makes_the_store_and_commits(store: Store) -> None:
    with store.writing() as connection:
        connection.execute("INSERT INTO item VALUES ('bp-1', 'why?', NULL)")
    with store.reading() as connection:
        assert connection.execute("SELECT prompt FROM item").fetchall() == [("why?",)]
    assert version(store) == len(MIGRATIONS)


def test_a_failed_write_leaves_nothing(store: Store) -> None:
    with store.writing():
        pass
    with pytest.raises(RuntimeError), store.writing() as connection:
        connection.execute("INSERT INTO item VALUES ('bp-1', 'why?', NULL)")
        raise RuntimeError
    with store.reading() as connection:
        assert connection.execute("SELECT count(*) FROM item").fetchone() == (0,)


def test_reading_a_store_that_is_not_there_says_how_to_make_one(store: Store) -> None:
    with pytest.raises(NothingToDo, match="budgetplan probe POOL"), store.reading():
        pass
    assert not store.path.exists()


def test_an_older_store_is_migrated_and_keeps_its_rows(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.writing() as connection:
        connection.execute("INSERT INTO item VALUES ('bp-1', 'why?', NULL)")
    newer = (*MIGRATIONS, Migration("note", "ALTER TABLE item ADD COLUMN note VARCHAR"))
    monkeypatch.setattr(module, "MIGRATIONS", newer)
    with store.reading() as connection:
        assert connection.execute("SELECT item_id, note FROM item").fetchall() == [("bp-1", None)]
    assert version(store) == len(newer)


def test_a_broken_migration_changes_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.writing():
        pass
    broken = Migration("broken", "ALTER TABLE item ADD COLUMN note VARCHAR; SELECT * FROM nowhere")
    monkeypatch.setattr(module, "MIGRATIONS", (*MIGRATIONS, broken))
    with pytest.raises(duckdb.Error), store.writing():
        pass
    assert version(store) == len(MIGRATIONS)
    with duckdb.connect(store.path) as connection:
        assert [row[0] for row in connection.execute("DESCRIBE item").fetchall()] == ["item_id", "prompt", "messages"]


def test_a_store_of_a_newer_version_is_refused(store: Store) -> None:
    with store.writing() as connection:
        connection.execute("INSERT INTO schema_migration VALUES (99, 'from the future', now())")
    for operation in (store.reading, store.writing):
        with pytest.raises(StoreTooNew, match="schema 99"), operation():
            pass


def test_a_lock_names_its_holder(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.writing():
        pass
    monkeypatch.setattr(module, "LOCK_PATIENCE_SECONDS", 0.2)
    code = f"import duckdb, sys; c = duckdb.connect({str(store.path)!r}); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(StoreLocked, match=f"PID {holder.pid}"), store.reading():
            pass
        holder.communicate()
    with store.reading():
        pass


def test_a_file_that_is_no_store_is_left_alone(store: Store) -> None:
    store.path.write_text("my diary " * 100)
    with pytest.raises(StoreError, match="is no DuckDB file"), store.writing():
        pass
    assert store.path.read_text().startswith("my diary")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="mkdir -p"), Store(tmp_path / "no" / "store.duckdb").writing():
        pass


def test_someone_elses_database_is_left_alone(store: Store) -> None:
    with duckdb.connect(store.path) as connection:
        connection.execute("CREATE TABLE item (mine INTEGER)")
    for operation in (store.reading, store.writing):
        with pytest.raises(StoreError, match="of something else"), operation():
            pass
    with duckdb.connect(store.path) as connection:
        assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(1,)]
