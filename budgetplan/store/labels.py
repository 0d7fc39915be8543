"""Labels in the store: every word of every annotator that ever came back, none overwritten.

Invariant: what holds is a view (`current_label`), one row per item and annotator: their last submitted label by its own
time, or by its arrival where it has none, one for another look before all others; a skip counts only where no label
came. So the order in which files arrive decides nothing that the records themselves decide.
"""

from dataclasses import dataclass

import duckdb
import pyarrow as pa

from budgetplan.store.connection import scalar

_SAYS = "answer, verdict, status, seconds, shortlist_id"


@dataclass(frozen=True, slots=True)
class LabelSource:
    """A file of labels: its digest, its name and the tool that wrote it."""

    sha256: str
    name: str
    tool: str


def unknown_items(connection: duckdb.DuckDBPyConnection, item_ids: pa.Array | pa.ChunkedArray) -> set[str]:
    """Those of the ids that no pool of the store has."""
    connection.register("asked", pa.table({"item_id": item_ids}))
    rows = connection.execute("SELECT DISTINCT item_id FROM asked ANTI JOIN item USING (item_id)").fetchall()
    connection.unregister("asked")
    return {item_id for (item_id,) in rows}


def first_name(connection: duckdb.DuckDBPyConnection, sha256: str) -> str | None:
    """What a file of labels was called when it first came."""
    rows = connection.execute("SELECT name FROM label_file WHERE sha256 = ?", [sha256]).fetchall()
    return str(rows[0][0]) if rows else None


def watch_changes(connection: duckdb.DuckDBPyConnection) -> None:
    """Remember what holds now, for `changes` to compare with."""
    connection.execute(f"CREATE TEMP TABLE held AS SELECT item_id, annotator, {_SAYS} FROM current_label")
    connection.execute("CREATE TEMP TABLE touched (item_id VARCHAR, annotator VARCHAR)")


def add_labels(connection: duckdb.DuckDBPyConnection, source: LabelSource, labels: pa.Table) -> int:
    """Add the labels (`LABELS_SCHEMA`, items known, annotators named) of one file to the history; between watches.

    The same annotation in another export of its tool (same native id and item) keeps the annotator's first name, where
    one of the names is a number or a pseudonym: exports differ in that. Records that were removed stay out; returns how
    many.
    """
    connection.register("incoming", labels)
    connection.execute(
        """CREATE OR REPLACE TEMP TABLE fresh AS
           WITH named AS (
               SELECT i.* REPLACE (coalesce(known.annotator, i.annotator) AS annotator)
               FROM incoming AS i LEFT JOIN (
                   SELECT item_id, native_id, any_value(annotator) AS annotator FROM label
                   WHERE tool = $tool AND native_id IS NOT NULL GROUP BY item_id, native_id) AS known
               ON known.item_id = i.item_id AND known.native_id = i.native_id
               AND (regexp_full_match(known.annotator, '[0-9]+|annotator-.*')
                    OR regexp_full_match(i.annotator, '[0-9]+')))
           SELECT DISTINCT ON (item_id, annotator, answer, verdict, status, seconds, shortlist_id, labeled_at) *
           FROM named ORDER BY place DESC""",
        {"tool": source.tool},
    )
    connection.unregister("incoming")
    n_removed = scalar(
        connection,
        """DELETE FROM fresh WHERE sha256(annotator) IN (SELECT digest FROM removed_annotator)
           OR ($tool, native_id, item_id) IN (SELECT (tool, native_id, item_id) FROM removed_label)""",
        {"tool": source.tool},
    )
    connection.execute("INSERT INTO touched SELECT item_id, annotator FROM fresh")
    connection.execute(
        """INSERT INTO label
           SELECT f.item_id, f.annotator, f.answer, f.verdict, f.status, f.seconds, f.labeled_at, f.shortlist_id, $tool,
                  f.native_id, $sha256, f.place, f.raw, now(), (SELECT coalesce(max(arrival), 0) + 1 FROM label)
           FROM fresh AS f
           LEFT JOIN current_label AS c ON c.item_id = f.item_id AND c.annotator = f.annotator
           WHERE NOT coalesce(
               (c.answer, c.verdict, c.status, c.seconds)
                   IS NOT DISTINCT FROM (f.answer, f.verdict, f.status, f.seconds)
               AND coalesce(f.shortlist_id = c.shortlist_id, f.shortlist_id IS NULL)
               AND coalesce(f.labeled_at <= c.labeled_at, true), false)
           AND NOT EXISTS (
               FROM label AS h WHERE h.item_id = f.item_id AND h.annotator = f.annotator
               AND (h.answer, h.verdict, h.status, h.seconds)
                   IS NOT DISTINCT FROM (f.answer, f.verdict, f.status, f.seconds)
               AND coalesce(h.shortlist_id = f.shortlist_id, f.shortlist_id IS NULL)
               AND (h.labeled_at = f.labeled_at OR (
                   f.labeled_at IS NULL AND $sha256 IN (SELECT sha256 FROM label_file))))""",
        {"tool": source.tool, "sha256": source.sha256},
    )
    connection.execute(
        """INSERT INTO label_file SELECT $sha256, $name, $tool, $n, now()
           WHERE $sha256 NOT IN (SELECT sha256 FROM label_file)""",
        {"sha256": source.sha256, "name": source.name, "tool": source.tool, "n": labels.num_rows},
    )
    return int(n_removed)


def changes(connection: duckdb.DuckDBPyConnection) -> pa.Table:
    """What the files since `watch_changes` brought: item_id, annotator and `change`, one row for each of their pairs.

    `change` is new, changed or unchanged, or skipped or rejected where that is all the annotator says of the item. What
    was decided about items whose labels changed no longer holds.
    """
    table = connection.sql(
        """WITH pairs AS (SELECT DISTINCT item_id, annotator FROM touched)
           SELECT p.item_id, p.annotator, CASE
               WHEN (h.answer, h.verdict, h.status, h.seconds, h.shortlist_id)
                    IS NOT DISTINCT FROM (c.answer, c.verdict, c.status, c.seconds, c.shortlist_id) THEN 'unchanged'
               WHEN c.status <> 'submitted' THEN c.status
               WHEN h.status = 'submitted' THEN 'changed' ELSE 'new' END AS change
           FROM pairs AS p JOIN current_label AS c USING (item_id, annotator)
           LEFT JOIN held AS h ON h.item_id = p.item_id AND h.annotator = p.annotator
           ORDER BY p.item_id, p.annotator"""
    ).to_arrow_table()
    connection.register("changed", table)
    for decided in ("adjudicated", "answer_group"):
        connection.execute(
            f"DELETE FROM {decided} WHERE item_id IN (SELECT item_id FROM changed WHERE change <> 'unchanged')"
        )
    connection.unregister("changed")
    connection.execute("DROP TABLE held; DROP TABLE touched")
    return table


def never_asked_for(connection: duckdb.DuckDBPyConnection, item_ids: pa.ChunkedArray) -> list[str]:
    """Those of the items that were on no shortlist."""
    connection.register("asked", pa.table({"item_id": item_ids}))
    rows = connection.execute(
        "SELECT DISTINCT item_id FROM asked ANTI JOIN shortlist_item USING (item_id) ORDER BY ALL"
    )
    never = [item_id for (item_id,) in rows.fetchall()]
    connection.unregister("asked")
    return never


def still_missing(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Items that are out and of which nobody said anything (for another look: since), shortlist by shortlist."""
    rows = connection.execute(
        """SELECT item_id FROM shortlist_item AS i JOIN shortlist AS s USING (shortlist_id)
           WHERE recalled_at IS NULL AND NOT EXISTS (
               FROM label AS l WHERE l.item_id = i.item_id
               AND (s.purpose = 'selection' OR l.shortlist_id = s.shortlist_id))
           GROUP BY item_id ORDER BY min(number), min(rank) NULLS LAST, item_id"""
    ).fetchall()
    return [item_id for (item_id,) in rows]


def label_votes(connection: duckdb.DuckDBPyConnection) -> pa.Table:
    """Every answer that holds on an item of two or more annotators: item_id, annotator, answer (equal ones as one)."""
    return connection.sql(
        """SELECT c.item_id, c.annotator, coalesce(g.same_as, c.answer) AS answer FROM current_label AS c
           LEFT JOIN answer_group AS g ON g.item_id = c.item_id AND g.answer = c.answer
           WHERE c.status = 'submitted' AND c.answer IS NOT NULL
           QUALIFY count(*) OVER (PARTITION BY c.item_id) > 1 ORDER BY ALL"""
    ).to_arrow_table()


def item_seconds(connection: duckdb.DuckDBPyConnection, pool_id: str) -> pa.ChunkedArray:
    """What an item's labels took together, in seconds, in file order; null where no time was measured."""
    return connection.sql(
        """SELECT seconds FROM (SELECT item_id, row FROM pool_item WHERE pool_id = ?) AS p
           LEFT JOIN (SELECT item_id, sum(seconds) AS seconds FROM current_label
                      WHERE status = 'submitted' AND seconds > 0 GROUP BY item_id) USING (item_id)
           ORDER BY row, p.item_id""",
        params=[pool_id],
    ).to_arrow_table()["seconds"]
