"""Who labelled: every annotator's work, other names for them, and the removal of one person's records."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from budgetplan.store.connection import scalar


@dataclass(frozen=True, slots=True)
class AnnotatorRow:
    """One annotator: labels and skips that hold, median seconds per label, share of labels that were decided for."""

    annotator: str
    n_labels: int
    n_skipped: int
    median_seconds: float | None
    agreement: float | None


def annotators(connection: duckdb.DuckDBPyConnection) -> list[AnnotatorRow]:
    """Every annotator, the most labels first; agreement only over items that two or more labelled."""
    rows = connection.execute(
        """SELECT c.annotator, count(*) FILTER (status = 'submitted') AS n, count(*) FILTER (status <> 'submitted'),
                  median(seconds) FILTER (status = 'submitted'),
                  avg((coalesce(g.same_as, c.answer) IS NOT DISTINCT FROM a.answer)::INT)
                      FILTER (status = 'submitted' AND a.n_annotators > 1 AND a.answer IS NOT NULL)
           FROM current_label AS c LEFT JOIN adjudicated AS a USING (item_id)
           LEFT JOIN answer_group AS g ON g.item_id = c.item_id AND g.answer = c.answer
           GROUP BY c.annotator ORDER BY n DESC, c.annotator"""
    ).fetchall()
    return [AnnotatorRow(*row) for row in rows]


def removed_people(connection: duckdb.DuckDBPyConnection) -> set[str]:
    """The SHA-256 of the names whose records were removed."""
    return {digest for (digest,) in connection.execute("SELECT digest FROM removed_annotator").fetchall()}


def remove_annotator(connection: duckdb.DuckDBPyConnection, annotator: str, also_known_as: str) -> int:
    """Delete all that one person said, and leave their records out from now on; returns the records deleted.

    What was decided about their items is to be decided again. Files that held their labels lose their names.
    """
    for decided in ("adjudicated", "answer_group"):
        connection.execute(
            f"DELETE FROM {decided} WHERE item_id IN (SELECT item_id FROM label WHERE annotator = ?)", [annotator]
        )
    connection.execute(
        """INSERT INTO removed_label SELECT tool, native_id, item_id FROM label
           WHERE annotator = ? AND native_id IS NOT NULL""",
        [annotator],
    )
    connection.execute(
        """UPDATE label_file SET name = left(sha256, 12)
           WHERE sha256 IN (SELECT file_sha256 FROM label WHERE annotator = ?)""",
        [annotator],
    )
    n = scalar(connection, "DELETE FROM label WHERE annotator = ?", [annotator])
    if n:
        connection.execute("INSERT INTO removed_annotator VALUES (sha256(?)), (sha256(?))", [annotator, also_known_as])
    return int(n)


def rename_annotators(
    connection: duckdb.DuckDBPyConnection, new_names: Mapping[str, str], cleaned: Callable[[str], str]
) -> None:
    """Give annotators other names, and pass every stored raw record through `cleaned`."""
    rows = connection.sql("SELECT rowid, annotator, raw FROM label ORDER BY rowid").to_arrow_table()
    table = pa.table(
        {
            "stored_row": rows["rowid"],
            "annotator": pa.array([new_names[name] for name in rows["annotator"].to_pylist()], pa.string()),
            "raw": pa.array([cleaned(raw) for raw in rows["raw"].to_pylist()], pa.string()),
        }
    )
    connection.register("renamed", table)
    connection.execute(
        "UPDATE label SET annotator = renamed.annotator, raw = renamed.raw FROM renamed WHERE label.rowid = stored_row"
    )
    connection.unregister("renamed")
    connection.execute("UPDATE label_file SET name = left(sha256, 12)")
