from typing import Any

import duckdb
import pytest

from budgetplan.store.annotators import remove_annotator
from budgetplan.store.ledger import Balance, Entry, balances, enter, enter_labels_spent, left_to_plan

Connection = duckdb.DuckDBPyConnection


def spent(connection: Connection) -> Balance | None:
    return next((row for row in balances(connection) if (row.kind, row.state) == ("labels", "spent")), None)


def n_entries(connection: Connection) -> int:
    return len(connection.execute("FROM ledger SELECT kind").fetchall())


def test_labels_are_entered_once_and_corrections_as_the_difference(connection: Connection, take: Any) -> None:
    take({"item_id": "bp-a", "seconds": 3600.0}, {"item_id": "bp-a", "annotator": "bo", "seconds": 1800.0})
    for _ in range(2):
        enter_labels_spent(connection, "1.jsonl")
    assert n_entries(connection) == 1
    assert spent(connection) == Balance("labels", "spent", items=1, hours=1.5, tokens=0, money={})
    take({"item_id": "bp-a", "seconds": 1800.0})
    enter_labels_spent(connection, "2.jsonl")
    rows = connection.execute("SELECT reference, items, seconds FROM ledger ORDER BY entered_at, seconds DESC")
    assert rows.fetchall() == [("1.jsonl", 1, 5400.0), ("2.jsonl", 0, -1800.0)]


def test_skips_and_rejections_take_time_and_buy_nothing(connection: Connection, take: Any) -> None:
    skip = {"status": "skipped", "answer": None, "seconds": 360.0}
    take({"item_id": "bp-a", **skip}, {"item_id": "bp-b", **skip, "status": "rejected"})
    enter_labels_spent(connection, "1.jsonl")
    assert spent(connection) == Balance("labels", "spent", items=0, hours=0.2, tokens=0, money={})


def test_an_item_is_bought_once_at_the_cost_of_its_first_shortlist(
    connection: Connection, take: Any, send_out: Any
) -> None:
    send_out(1, {"bp-a": 3.0, "bp-b": 5.0, "bp-c": 7.0}, unit="USD")
    send_out(2, {"bp-a": 100.0, "bp-d": 11.0}, unit="EUR")
    send_out(3, {"bp-e": 0.5}, unit="h")
    take(*({"item_id": f"bp-{letter}", "annotator": who} for letter in "abdex" for who in ("ana", "bo")))
    enter_labels_spent(connection, "1.jsonl")
    assert spent(connection) == Balance(
        "labels", "spent", items=5, hours=0.0, tokens=0, money={"EUR": 11.0, "USD": 8.0}
    )


def test_what_removed_records_cost_stays_spent(connection: Connection, take: Any, send_out: Any) -> None:
    send_out(1, {"bp-a": 3.0, "bp-b": 5.0}, unit="USD")
    take(*({"item_id": f"bp-{letter}", "seconds": 36.0} for letter in "ab"), {"item_id": "bp-a", "annotator": "bo"})
    enter_labels_spent(connection, "1.jsonl")
    remove_annotator(connection, "ana", "ana")
    enter_labels_spent(connection, "removed", "removed")
    balance = spent(connection)
    assert balance is not None
    assert (balance.items, balance.money, balance.hours) == (2, {"USD": 8.0}, pytest.approx(0.02))
    take({"item_id": "bp-b", "annotator": "bo", "seconds": 36.0})
    enter_labels_spent(connection, "2.jsonl")
    balance = spent(connection)
    assert balance is not None
    assert (balance.items, balance.money, balance.hours) == (3, {"USD": 13.0}, pytest.approx(0.03))


def test_balances_keep_kinds_states_and_currencies_apart(connection: Connection) -> None:
    for entry in (
        Entry(kind="probe", state="spent", reference="run-1", seconds=7200, tokens=10),
        Entry(kind="labels", state="planned", reference="sl-0001", items=3, amount=9.0, unit="USD"),
        Entry(kind="labels", state="planned", reference="sl-0002", items=2, seconds=3600, amount=4.0, unit="EUR"),
        Entry(kind="labels", state="planned", reference="sl-0001", items=-1, amount=-3.0, unit="USD"),
        Entry(kind="labels", state="left", reference="sl-0001", amount=1.0, unit="USD"),
    ):
        enter(connection, entry)
    assert balances(connection) == [
        Balance("labels", "planned", items=4, hours=1.0, tokens=0, money={"EUR": 4.0, "USD": 6.0}),
        Balance("probe", "spent", items=0, hours=2.0, tokens=10, money={}),
    ]


def test_what_is_left_adds_up_by_unit(connection: Connection) -> None:
    assert left_to_plan(connection, "pool-a") == {}
    for name, pool in (("sl-0001", "pool-a"), ("sl-0002", "pool-b")):
        connection.execute(
            "INSERT INTO shortlist VALUES (?, 1, 'run', ?, 'hard', '1', '{}', now(), 'selection')", [name, pool]
        )
    enter(connection, Entry(kind="labels", state="left", reference="sl-0002", amount=9.0, unit="items"))
    for amount, unit in ((0.1, "USD"), (0.2, "USD"), (-0.3, "USD"), (5.0, "items"), (-2.0, "items"), (1.5, "h")):
        enter(connection, Entry(kind="labels", state="left", reference="sl-0001", amount=amount, unit=unit))
    assert left_to_plan(connection, "pool-a") == {"USD": 0.0, "h": 1.5, "items": 3.0}
