"""What was decided about each labelled item, and the gold that follows from it.

Invariant: an item has a row in `adjudicated` iff it has labels and nothing about them changed since; an answer known
beforehand is never replaced by a label unless asked, and whoever changes gold deletes the verdicts on it.
"""

from dataclasses import dataclass

import duckdb
import pyarrow as pa

from budgetplan.store.connection import scalar

ANOTHER_LOOK = "another look"
"""The purpose of a shortlist of disagreements: labels that come back for it decide alone."""

_PENDING = """(
    SELECT item_id FROM (SELECT item_id FROM label UNION SELECT item_id FROM gold WHERE source = 'label')
    ANTI JOIN adjudicated USING (item_id))"""
"""Items with labels that changed, or whose last label was removed."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What an adjudication changed: items whose gold is new or another, and those that lost it."""

    n_items: int
    n_gold_changed: int
    n_gold_lost: int


def n_undecided(connection: duckdb.DuckDBPyConnection) -> int:
    """How many items wait for `adjudicate`: some, where whoever stored or removed their labels was stopped then."""
    return int(scalar(connection, f"SELECT count(*) FROM {_PENDING}"))


def reopen_contradictions(connection: duckdb.DuckDBPyConnection, item_ids: pa.ChunkedArray) -> None:
    """Let those of the items whose labels contradict what was known be decided once more."""
    connection.register("asked", pa.table({"item_id": item_ids}))
    connection.execute(
        """CREATE TEMP TABLE reopened AS
           SELECT item_id FROM adjudicated SEMI JOIN asked USING (item_id) WHERE contradicts_known"""
    )
    connection.unregister("asked")
    for decided in ("adjudicated", "answer_group"):
        connection.execute(f"DELETE FROM {decided} WHERE item_id IN (FROM reopened)")
    connection.execute("DROP TABLE reopened")


_ANSWERS = f"""
    SELECT item_id, answer, sum(vote)::INT AS n_votes FROM (
        SELECT item_id, answer, 1 AS vote FROM current_label WHERE status = 'submitted' AND answer IS NOT NULL
        UNION ALL SELECT item_id, answer, 0 FROM gold WHERE source = 'pool')
    SEMI JOIN {_PENDING} USING (item_id)
    GROUP BY item_id, answer QUALIFY count(*) OVER (PARTITION BY item_id) > 1"""
"""The different answers to undecided items, where there are several; one known beforehand has 0 votes."""


def answers_to_compare(connection: duckdb.DuckDBPyConnection) -> pa.Table:
    """The different answers to undecided items, where there are several: item_id, answer, n_votes, pool_id, verifier.

    An answer known beforehand is among them, with 0 votes. The pool is that of the last used run that has the item, the
    verifier the one asked for there.
    """
    return connection.sql(
        f"""SELECT item_id, answer, n_votes, pool_id, coalesce(verifier, 'auto') AS verifier
            FROM ({_ANSWERS}) LEFT JOIN (
                SELECT item_id, arg_max(pool_id, used_at) AS pool_id, arg_max(verifier, used_at) AS verifier
                FROM pool_item JOIN probe_run USING (pool_id) GROUP BY item_id) USING (item_id)
            ORDER BY item_id, answer"""
    ).to_arrow_table()


def some_answers(connection: duckdb.DuckDBPyConnection, pool_id: str | None, most: int) -> list[str]:
    """Answers to a pool's items, known or from labels, at most so many."""
    rows = connection.execute(
        """SELECT answer FROM (
               SELECT item_id, answer FROM gold UNION
               SELECT item_id, answer FROM current_label WHERE status = 'submitted' AND answer IS NOT NULL)
           SEMI JOIN (SELECT item_id FROM pool_item WHERE pool_id = coalesce(?, pool_id)) USING (item_id)
           ORDER BY item_id, answer LIMIT ?""",
        [pool_id, most],
    ).fetchall()
    return [answer for (answer,) in rows]


_DECIDE = """
    CREATE TEMP TABLE decided AS
    WITH votes AS (
        SELECT c.item_id, c.verdict, coalesce(g.same_as, c.answer) AS answer
        FROM current_label AS c SEMI JOIN pending USING (item_id)
        LEFT JOIN answer_group AS g ON g.item_id = c.item_id AND g.answer = c.answer
        WHERE c.status = 'submitted'
        QUALIFY c.decisive = bool_or(c.decisive) OVER (PARTITION BY c.item_id)),
    tally AS (
        SELECT item_id, answer, count(*) AS n, max(n) OVER (PARTITION BY item_id) AS top
        FROM votes WHERE answer IS NOT NULL GROUP BY item_id, answer),
    best AS (
        SELECT item_id, min(answer) FILTER (n = top) AS answer, any_value(top) AS n_agreeing,
               count(*) FILTER (n = top) AS n_best, count(*) AS n_answers
        FROM tally GROUP BY item_id),
    cast_votes AS (
        SELECT item_id, count(*) AS n, bool_or(verdict IN ('ambiguous', 'unanswerable')) AS unusable
        FROM votes GROUP BY item_id),
    others AS (SELECT item_id, bool_or(status = 'rejected') AS rejected FROM current_label GROUP BY item_id)
    SELECT p.item_id,
           CASE WHEN v.n IS NULL AND rejected THEN 'rejected' WHEN v.n IS NULL THEN 'skipped'
                WHEN unusable THEN 'unusable' WHEN n_best > 1 THEN 'tied'
                WHEN n_answers > 1 THEN 'majority' ELSE 'agreed' END AS state,
           CASE WHEN state IN ('agreed', 'majority') THEN best.answer END AS answer,
           coalesce(v.n, 0) AS n_annotators, coalesce(n_agreeing, 0) AS n_agreeing
    FROM pending AS p LEFT JOIN cast_votes AS v USING (item_id) LEFT JOIN best USING (item_id)
    LEFT JOIN others USING (item_id)"""


def adjudicate(connection: duckdb.DuckDBPyConnection, groups: pa.Table, *, replace_known: bool) -> Decided:
    """Decide every undecided item by majority; `groups` (item_id, answer, same_as) says which answers are equal.

    Anyone's "ambiguous" or "unanswerable" makes an item unusable. A tie, or an unusable item, has no gold from labels.
    Items with an answer that came after the groups were made stay undecided.
    """
    connection.register("groups", groups)
    connection.execute(
        f"""CREATE TEMP TABLE pending AS
            SELECT item_id FROM {_PENDING}
            ANTI JOIN (SELECT item_id FROM ({_ANSWERS}) ANTI JOIN groups USING (item_id, answer)) USING (item_id)"""
    )
    connection.execute("DELETE FROM answer_group WHERE item_id IN (FROM pending)")
    connection.execute(
        "INSERT INTO answer_group SELECT item_id, answer, same_as FROM groups SEMI JOIN pending USING (item_id)"
    )
    connection.unregister("groups")
    connection.execute(_DECIDE)
    connection.execute(
        """INSERT INTO adjudicated
           SELECT d.item_id, d.state, d.answer, d.n_annotators, d.n_agreeing,
                  coalesce(d.answer <> coalesce(g.same_as, gold.answer), false)
           FROM decided AS d SEMI JOIN label USING (item_id)
           LEFT JOIN gold ON gold.item_id = d.item_id AND gold.source = 'pool'
           LEFT JOIN answer_group AS g ON g.item_id = gold.item_id AND g.answer = gold.answer"""
    )
    connection.execute("DROP TABLE pending")
    return _set_gold(connection, replace_known)


def _set_gold(connection: duckdb.DuckDBPyConnection, replace_known: bool) -> Decided:
    """Bring the gold of the items in `decided` up to date; an item that lost its label falls back to its pool."""
    connection.execute(
        f"""CREATE TEMP TABLE target AS
            SELECT d.item_id, gold.answer AS before, gold.source AS source_before,
                   gold.source = 'pool' AND NOT coalesce(a.contradicts_known AND {replace_known}, false) AS keeps,
                   CASE WHEN keeps THEN gold.answer ELSE coalesce(d.answer, known.answer) END AS answer,
                   CASE WHEN keeps OR d.answer IS NULL THEN 'pool' ELSE 'label' END AS source
            FROM decided AS d LEFT JOIN adjudicated AS a USING (item_id) LEFT JOIN gold USING (item_id)
            LEFT JOIN (SELECT item_id, any_value(answers[1]) AS answer FROM pool_item WHERE len(answers) > 0
                       GROUP BY item_id HAVING max(len(answers)) = 1 AND count(DISTINCT answers) = 1) AS known
            ON known.item_id = d.item_id"""
    )
    connection.execute(
        "DELETE FROM target WHERE answer IS NOT DISTINCT FROM before AND (answer IS NULL OR source = source_before)"
    )
    connection.execute(
        "DELETE FROM verdict WHERE item_id IN (SELECT item_id FROM target WHERE answer IS DISTINCT FROM before)"
    )
    connection.execute("DELETE FROM gold WHERE item_id IN (SELECT item_id FROM target)")
    connection.execute("INSERT INTO gold SELECT item_id, answer, source, now() FROM target WHERE answer IS NOT NULL")
    connection.execute(
        """UPDATE adjudicated SET contradicts_known = false
           WHERE contradicts_known AND item_id IN (SELECT item_id FROM gold WHERE source = 'label')"""
    )
    decided = Decided(
        n_items=scalar(connection, "SELECT count(*) FROM decided"),
        n_gold_changed=scalar(connection, "SELECT count(*) FROM target WHERE answer <> coalesce(before, '')"),
        n_gold_lost=scalar(connection, "SELECT count(*) FROM target WHERE answer IS NULL"),
    )
    connection.execute("DROP TABLE target; DROP TABLE decided")
    return decided


def states(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Labelled items by what was decided."""
    rows = connection.execute("SELECT state, count(*) FROM adjudicated GROUP BY state ORDER BY state").fetchall()
    return {str(state): int(count) for state, count in rows}


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item that needs another look: what was decided, the answer known beforehand, and who said what."""

    item_id: str
    ids: list[str]
    state: str
    known: str | None
    said: dict[str, str]


def disagreements(connection: duckdb.DuckDBPyConnection) -> list[Disagreement]:
    """Items on which annotators differ, or contradict what was known; ties first.

    `said` is each annotator's answer, behind their verdict where that is not ok.
    """
    rows = connection.execute(
        """SELECT a.item_id, any_value(p.ids), any_value(a.state), any_value(gold.answer),
                  map(list(c.annotator ORDER BY c.annotator),
                      list(concat_ws(': ', nullif(c.verdict, 'ok'), c.answer) ORDER BY c.annotator))
           FROM adjudicated AS a JOIN current_label AS c USING (item_id)
           LEFT JOIN (SELECT item_id, any_value(ids) AS ids FROM pool_item GROUP BY item_id) AS p USING (item_id)
           LEFT JOIN gold ON gold.item_id = a.item_id AND gold.source = 'pool'
           WHERE c.status = 'submitted' AND (
               a.state IN ('tied', 'majority') OR a.contradicts_known OR (a.state = 'unusable' AND a.n_annotators > 1))
           GROUP BY a.item_id
           ORDER BY any_value(a.state) <> 'tied', any_value(a.state), a.item_id"""
    ).fetchall()
    return [Disagreement(item_id, ids or [], state, known, said) for item_id, ids, state, known, said in rows]
