"""Answers to an item that differ in writing and are equal by the verifier.

Invariant: `same_answer` names, for each answer key that is not itself the name of its group, the key that is; it holds
for every item in `compared_item` that has no more answer keys by now than were compared. Keys are those of all runs
that one verifier version judged, so that runs can be compared with each other.
"""

import duckdb
import pyarrow as pa

from budgetplan.store.connection import scalar
from budgetplan.store.runs import ProbeRun

_NEVER_EQUAL = {
    # Two numbers that are not within the rounding of decimals, or words beside words or beside a number. "5 %" may be
    # read as 0.05 and "2 million" as 2, so numbers in such words are compared.
    "math": """(l.number IS NOT NULL OR l.in_words) AND (r.number IS NOT NULL OR r.in_words) AND (
        l.in_words OR r.in_words OR (NOT l.two_readings AND NOT r.two_readings AND abs(l.number - r.number) > 1e-5))""",
    # Lists of which both name their positions, or neither does, are written in one way.
    "sequence": """l.n_parts <> r.n_parts OR l.n_parts < 2
        OR NOT (contains(l.answer_key, ': ') OR contains(r.answer_key, ': '))""",
}
"""The verifiers by which different keys may be equal, each with the pairs of keys that cannot be."""

MOST_ANSWERS = 16
"""So many of an item's answers are compared; the rarer ones hardly move a signal, and pairs grow with the square."""

_UNCOMPARED = """
    SELECT item_id, n_keys::INTEGER AS n_keys FROM (
        SELECT item_id, count(*) AS n_keys FROM (
            SELECT DISTINCT item_id, answer_key FROM verdict
            SEMI JOIN (SELECT item_id FROM pool_item WHERE pool_id = $pool) USING (item_id)
            WHERE verifier = $verifier AND answer_key IS NOT NULL)
        GROUP BY item_id)
    LEFT JOIN (SELECT item_id, n_keys AS n_before FROM compared_item WHERE verifier = $verifier) USING (item_id)
    WHERE n_keys > 1 AND n_keys IS DISTINCT FROM n_before"""

_FEATURES = r"""
    CASE WHEN regexp_full_match(answer_key, '-?\d{1,300}(\.\d+|/\d{1,300})?')
         THEN answer_key.split_part('/', 1)::DOUBLE
              / CASE WHEN contains(answer_key, '/') THEN answer_key.split_part('/', 2)::DOUBLE ELSE 1 END END AS number,
    answer_key IN ('yes', 'no')
        OR (len(answer_key) > 3 AND regexp_full_match(answer_key, '[a-z]+( [a-z]+)*')) AS in_words,
    regexp_matches(text, '%|percent|pct|thousand|million|billion|trillion', 'i') AS two_readings,
    len(string_split(answer_key, '; ')) AS n_parts"""


def has_new_answers(connection: duckdb.DuckDBPyConnection, run: ProbeRun) -> bool:
    """Whether a run's pool has items with answers that were not yet compared by the run's verifier."""
    if run.judged_by not in _NEVER_EQUAL:
        return False
    return bool(scalar(connection, f"SELECT EXISTS ({_UNCOMPARED})", _parameters(run)))


def items_to_compare(connection: duckdb.DuckDBPyConnection, run: ProbeRun) -> pa.Table:
    """The items with several answers that were not all compared: item_id, n_keys."""
    return connection.sql(_UNCOMPARED, params=_parameters(run)).to_arrow_table()


def pairs_to_compare(connection: duckdb.DuckDBPyConnection, run: ProbeRun) -> pa.Table:
    """The pairs of answers to such items that may be equal, item by item; of an item's MOST_ANSWERS most frequent ones.

    Columns: item_id; left_key, left_text, left_n and the same of the right: the key, its most frequent writing, and how
    many samples gave it.
    """
    sides = ", ".join(
        f"{side[0]}.{column} AS {side}_{name}"
        for side in ("left", "right")
        for name, column in (("key", "answer_key"), ("text", "text"), ("n", "n"))
    )
    return connection.sql(
        f"""WITH uncompared AS ({_UNCOMPARED}),
            written AS (
                SELECT item_id, answer_key, extracted, count(*) AS n FROM verdict SEMI JOIN uncompared USING (item_id)
                WHERE verifier = $verifier AND answer_key IS NOT NULL GROUP BY item_id, answer_key, extracted),
            answer AS (
                SELECT item_id, answer_key, arg_min(extracted, (-n, extracted)) AS text, sum(n)::INTEGER AS n
                FROM written GROUP BY item_id, answer_key
                QUALIFY row_number() OVER (PARTITION BY item_id ORDER BY sum(n) DESC, answer_key) <= {MOST_ANSWERS}),
            described AS (SELECT *, {_FEATURES} FROM answer)
            SELECT l.item_id, {sides} FROM described AS l JOIN described AS r USING (item_id)
            WHERE l.answer_key < r.answer_key AND NOT coalesce({_NEVER_EQUAL[run.judged_by]}, false)
            ORDER BY l.item_id, left_key, right_key""",
        params=_parameters(run),
    ).to_arrow_table()


def save_same_answers(
    connection: duckdb.DuckDBPyConnection, verifier: str, compared: pa.Table, groups: pa.Table
) -> None:
    """Replace what is known of the items in `compared` (item_id, n_keys) by `groups` (item_id, answer, same_as)."""
    connection.register("compared", compared)
    connection.register("groups", groups)
    for table in ("same_answer", "compared_item"):
        connection.execute(
            f"DELETE FROM {table} WHERE verifier = ? AND item_id IN (SELECT item_id FROM compared)", [verifier]
        )
    connection.execute(
        "INSERT INTO same_answer SELECT ?, item_id, answer, same_as FROM groups WHERE answer <> same_as", [verifier]
    )
    connection.execute("INSERT INTO compared_item SELECT ?, item_id, n_keys FROM compared", [verifier])
    connection.unregister("compared")
    connection.unregister("groups")


def _parameters(run: ProbeRun) -> dict[str, str]:
    return {"pool": run.pool_id, "verifier": run.verdicts_by}
