"""Debezium's PostgreSQL source and JDBC sink in slots, with a real PostgreSQL."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator

import pytest

from tests.scenario.java.connectors.inventory import PLAIN, Inventory, new_inventory
from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.kafka.topics import count
from tests.support.servers.postgres import Postgres
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

_ROWS = 2_000
_BY_VALUE = {"primary.key.mode": "record_value", "primary.key.fields": "id", "delete.enabled": "false"}


@pytest.fixture
def inventory(connect: Connect, broker: KafkaBroker, postgres: Postgres) -> Iterator[Inventory]:
    with new_inventory(connect, broker, postgres, _ROWS) as made:
        yield made


def test_a_table_is_read_and_followed_through_a_restart(inventory: Inventory) -> None:
    inventory.source(**PLAIN)
    inventory.arrived(_ROWS)
    position = inventory.position()
    inventory.execute("UPDATE items SET name = 'changed' WHERE id <= 3")
    inventory.execute("DELETE FROM items WHERE id = 4")
    inventory.arrived(_ROWS + 5)
    wait_until(
        lambda: inventory.is_confirmed(position), 30, "confirmed_flush_lsn is at or past the committed LSN", every=0.3
    )
    position = inventory.position()
    inventory.connect.worker.stop()
    inventory.execute("INSERT INTO items VALUES (100000, 'late', 1, now())")
    inventory.execute("UPDATE items SET name = 'changed again' WHERE id = 1")
    inventory.connect.worker.start()
    inventory.arrived(_ROWS + 7)
    inventory.execute("DELETE FROM items WHERE id = 100000")
    inventory.arrived(_ROWS + 9)
    snapshot = [(number, "r") for number in range(1, _ROWS + 1)]
    first = [(1, "u"), (2, "u"), (3, "u"), (4, "d"), (4, None)]
    assert inventory.events() == [*snapshot, *first, (100000, "c"), (1, "u"), (100000, "d"), (100000, None)]
    wait_until(
        lambda: inventory.is_confirmed(position), 30, "confirmed_flush_lsn is at or past the committed LSN", every=0.3
    )


def test_debezium_copies_a_table_to_another(inventory: Inventory) -> None:
    """From PostgreSQL through the topic into a table that the sink creates, with updates and deletes."""
    inventory.source(**{"tombstones.on.delete": "false", "time.precision.mode": "connect"})
    sink = unique("copy")
    inventory.sink(sink, inventory.topic)
    wait_until(_copied(inventory), 60, every=0.3)
    inventory.execute("UPDATE items SET name = 'changed', amount = NULL WHERE id % 10 = 0")
    inventory.execute("DELETE FROM items WHERE id % 10 = 1")
    wait_until(_copied(inventory), 60, every=0.3)
    end = count(inventory.broker.bootstrap, inventory.topic)
    wait_until(lambda: _positions(inventory.connect, sink) == [end], 30, "the group's lag is 0", every=0.3)


def test_the_sink_on_a_quiet_topic(inventory: Inventory) -> None:
    """It logs the size of each put. Rows that arrive later are written."""
    connect, topic, sink = inventory.connect, inventory.broker.create_topic(unique("rows")), unique("quiet")
    logger = "/admin/loggers/io.debezium.connector.jdbc.JdbcSinkConnectorTask"
    connect.ask("PUT", logger, {"level": "DEBUG"})
    inventory.sink(sink, topic, **_BY_VALUE)
    wait_until(lambda: str(connect.logs(sink)).count("Received 0 changes.") > 2, 60)
    connect.ask("PUT", logger, {"level": "INFO"})
    expected = _fill(inventory.broker, topic, 10)
    wait_until(lambda: _positions(connect, sink) == [10], 60, "the group's lag is 0", every=0.3)
    assert dict(inventory.execute("SELECT id, quantity FROM copy")) == expected


def _copied(inventory: Inventory) -> Callable[[], bool]:
    query = "SELECT id, name, amount, at FROM {} ORDER BY id"

    def same() -> bool:
        if not inventory.execute("SELECT 1 FROM pg_tables WHERE tablename = 'copy'"):
            return False
        return inventory.execute(query.format("items")) == inventory.execute(query.format("copy"))

    return same


def _positions(connect: Connect, sink: str) -> list[int]:
    """The committed offsets of the sink's group."""
    return [entry["offset"]["kafka_offset"] for entry in connect.offsets(sink)]


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_million_upserts(inventory: Inventory) -> None:
    """Every tenth record updates a row; the group's lag is 0 at the end."""
    topic, records, sink = inventory.broker.create_topic(unique("rows")), 1_000_000, unique("upserts")
    expected = _fill(inventory.broker, topic, records)
    inventory.sink(sink, topic, **_BY_VALUE)
    wait_until(lambda: _positions(inventory.connect, sink) == [records], 500, "the group's lag is 0", every=1.0)
    found = inventory.execute("SELECT count(*), sum(id), sum(quantity) FROM copy")
    assert found == [(len(expected), sum(expected), sum(expected.values()))]


def _fill(broker: KafkaBroker, topic: str, records: int) -> dict[int, int]:
    """Writes records of rows; returns the last quantity of each row."""
    fields = [
        {"field": name, "type": kind, "optional": False} for name, kind in (("id", "int64"), ("quantity", "int32"))
    ]
    schema = json.dumps({"type": "struct", "optional": False, "fields": fields})
    rows: dict[int, int] = defaultdict(int)
    with broker.writing() as write:
        for number in range(records):
            row = number % (records * 9 // 10)
            rows[row] = number
            write(topic, f'{{"schema":{schema},"payload":{{"id":{row},"quantity":{number}}}}}')
    return dict(rows)
