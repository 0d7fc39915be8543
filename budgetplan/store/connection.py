"""Opening the DuckDB file: per operation, migrated, with every failure turned into a clear error.

Invariant: whoever is inside `Store.reading()` or `Store.writing()` sees the newest schema; a failed write leaves
nothing.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from budgetplan.errors import NothingToDo, StoreError, StoreLocked, StoreTooNew
from budgetplan.store.migrations import MIGRATIONS

DISK_FAILURES = (
    duckdb.IOException,
    duckdb.FatalException,
    duckdb.OutOfMemoryException,
    duckdb.TransactionException,  # a commit that could not be written
)
LOCK_PATIENCE_SECONDS = 12.0
"""A lock is waited for this long before it becomes an error: the longest operation, a solver's, takes up to ten."""


class Store:
    """One DuckDB file. Nothing is open between operations, so no lock is held across sampling or training."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reader: duckdb.DuckDBPyConnection | None = None

    @property
    def samples_folder(self) -> Path:
        """Where finished chunks wait to be merged."""
        return self.path.with_name(self.path.name + ".samples")

    @property
    def validation_folder(self) -> Path:
        """Where arms are trained: checkpoints, logs, what a killed validation goes on from."""
        return self.path.with_name(self.path.name + ".validation")

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open for queries; several processes may read at once. Inside another reading, its connection is shared."""
        if self._reader:
            yield self._reader
            return
        if not self.path.exists():
            raise NothingToDo(
                f"there is no store at {self.path}.",
                hint="Make one: budgetplan probe POOL, or budgetplan import-samples FILE, or name it with --db.",
            )
        with self._open(read_only=True) as connection:
            outdated = _version(connection, self.path) < len(MIGRATIONS)
            if not outdated:
                with _failures_named(self.path), self._shared(connection):
                    yield connection
        if outdated:
            with self.writing() as connection, self._shared(connection):
                yield connection

    def compact(self) -> None:
        """Write the whole store anew, so that nothing which was deleted can be read in its file any more."""
        aside = self.path.with_name(self.path.name + ".compact")
        aside.unlink(missing_ok=True)
        try:
            with self._open(read_only=False) as connection, _failures_named(self.path):
                connection.execute(f"ATTACH '{quoted(aside)}' AS fresh")
                own = scalar(connection, "SELECT current_database()")
                connection.execute(f'COPY FROM DATABASE "{own}" TO fresh')
                connection.execute("DETACH fresh")
                aside.replace(self.path)  # while the store is still locked
        finally:
            aside.unlink(missing_ok=True)

    @contextmanager
    def _shared(self, connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
        self._reader = connection
        try:
            yield
        finally:
            self._reader = None

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open in one transaction: committed at the end, rolled back on any error."""
        if not self.path.parent.is_dir():
            raise StoreError(f"the folder of {self.path} does not exist.", hint=f"Make it: mkdir -p {self.path.parent}")
        with self._open(read_only=False) as connection, _failures_named(self.path):
            _migrate(connection, self.path)
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def _open(self, *, read_only: bool) -> Iterator[duckdb.DuckDBPyConnection]:
        connection = _connect(self.path, read_only=read_only)
        try:
            connection.execute("SET enable_progress_bar = false")
            yield connection
        finally:
            connection.close()


def _connect(path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    deadline = time.monotonic() + LOCK_PATIENCE_SECONDS
    while True:
        try:
            return duckdb.connect(path, read_only=read_only)
        except duckdb.Error as error:
            locked = "Could not set lock" in str(error)
            if not locked or time.monotonic() > deadline:
                raise (_locked(path, error) if locked else _unopenable(path, error)) from error
            time.sleep(0.05)


def _locked(path: Path, error: duckdb.Error) -> StoreLocked:
    _, _, holder = str(error).partition("Conflicting lock is held in ")
    holder = holder.split(". See also")[0]
    return StoreLocked(
        f"the store {path} is in use by another process ({holder or 'unknown'}).",
        hint="Wait for it to end, close the program that has it open, or use another store: --db other.duckdb",
    )


def _unopenable(path: Path, error: duckdb.Error) -> StoreError:
    reason = str(error).splitlines()[0]
    if path.is_file() and not _is_duckdb(path):
        return StoreError(f"{path} is no DuckDB file.", hint="Name the store: --db budgetplan.duckdb")
    return StoreError(
        f"the store {path} cannot be opened: {reason}", hint="Name another file with --db, or move this one away."
    )


def _is_duckdb(path: Path) -> bool:
    """Whether a file begins as DuckDB's do; one that cannot be read may."""
    try:
        with path.open("rb") as stream:
            return stream.read(12)[8:] == b"DUCK"
    except OSError:
        return True


@contextmanager
def _failures_named(path: Path) -> Iterator[None]:
    """DuckDB's input and output failures (a full disk, a file taken away) as errors that name the store."""
    try:
        yield
    except DISK_FAILURES as error:
        raise StoreError(
            f"the store {path} could not be read or written: {str(error).splitlines()[0]}",
            hint="Nothing of this step was stored. Free some disk space (df -h), then run the same command again.",
        ) from error


def quoted(path: Path) -> str:
    """A path as the inside of an SQL string, where no parameter is allowed."""
    return str(path).replace("'", "''")


def scalar(connection: duckdb.DuckDBPyConnection, query: str, parameters: Any = None) -> Any:
    """The one value a query or statement answers with; everything is fetched, so the connection is free again."""
    ((value,),) = connection.execute(query, parameters).fetchall()
    return value


def _version(connection: duckdb.DuckDBPyConnection, path: Path) -> int:
    try:
        version = int(scalar(connection, "SELECT coalesce(max(version), 0) FROM schema_migration"))
    except duckdb.CatalogException as error:
        if scalar(connection, "SELECT count(*) FROM duckdb_tables()"):
            raise StoreError(
                f"{path} is a DuckDB database of something else.", hint="Name another file: --db budgetplan.duckdb"
            ) from error
        return 0
    if version > len(MIGRATIONS):
        raise StoreTooNew(
            f"the store {path} has schema {version}, and this budgetplan knows up to {len(MIGRATIONS)}.",
            hint="Use the newer version that wrote it: pip install --upgrade budgetplan",
        )
    return version


def _migrate(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    version = _version(connection, path)
    for number, migration in enumerate(MIGRATIONS[version:], start=version + 1):
        connection.execute("BEGIN")
        if number == 1:
            connection.execute("CREATE TABLE schema_migration (version INTEGER, name VARCHAR, applied_at TIMESTAMPTZ)")
        connection.execute(migration.sql)
        connection.execute("INSERT INTO schema_migration VALUES (?, ?, now())", [number, migration.name])
        connection.execute("COMMIT")
