"""PostgresCdcSource in a real worker with a broker and PostgreSQL, while its processes are killed."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.kafka.committed import committed
from tests.support.kafka.topic_ends import TopicEnds
from tests.support.kafka.topics import committed_end
from tests.support.processes import children, is_slot
from tests.support.servers.postgres import Postgres
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker, WorkerProcess

_JSON = {
    f"{part}.converter{more}": value
    for part in ("key", "value")
    for more, value in (("", "org.apache.kafka.connect.json.JsonConverter"), (".schemas.enable", "false"))
}


@dataclass(frozen=True, slots=True)
class Shop:
    """A database with the table `items`, and a connector for it."""

    connect: Connect
    broker: KafkaBroker
    server: Postgres
    name: str = field(default_factory=lambda: unique("cdc"))

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        return self.server.execute(statement, database=self.name)

    def prepare(self, rows: int) -> None:
        self.server.create_database(self.name)
        self.execute("CREATE TABLE items (id int PRIMARY KEY, version int NOT NULL, text text)")
        self.execute(f"INSERT INTO items SELECT n, 0, 'row ' || n FROM generate_series(1, {rows}) n")
        self.broker.create_topic(self.topic)

    @property
    def topic(self) -> str:
        return f"{self.name}.public.items"

    @property
    def slot(self) -> str:
        return f"headrace_{self.name.replace('-', '_')}"

    def source(self, **more: str) -> None:
        self.connect.create(self.name, {
            "connector.class": "PostgresCdcSource", **self.server.cdc_config(self.name),
            "topic.prefix": self.name, "status.update.interval.ms": "500",
            "slot.retry.delay.ms": "200", "retriable.restart.connector.wait.ms": "200", **_JSON, **more,
        })  # fmt: skip

    def events(self) -> list[tuple[int, str | None, int | None]]:
        """Row, operation and version of all records that are committed; None for a tombstone."""
        return [_event(message) for message in committed(self.broker, self.topic)]

    def remove(self) -> None:
        self.connect.ask("DELETE", f"/connectors/{self.name}")
        self.server.drop_slot(self.slot, self.name)


def _event(message: Any) -> tuple[int, str | None, int | None]:
    key, value = json.loads(message.key())["id"], message.value()
    if value is None:
        return key, None, None
    event = json.loads(value)
    return key, event["op"], (event["after"] or {}).get("version")


def test_changes_through_a_kill(worker: StartWorker, broker: KafkaBroker, postgres: Postgres) -> None:
    """Snapshot, changes, kill of the worker, changes: each arrives once."""
    process = worker({"exactly.once.source.support": "enabled"})
    shop = Shop(Connect(process), broker, postgres)
    shop.prepare(3)
    shop.source(**{"exactly.once.support": "required", "offset.flush.interval.ms": "500"})
    wait_until(lambda: len(shop.events()) == 3, 60, "the snapshot", every=0.2)
    shop.execute("UPDATE items SET version = 1 WHERE id = 1")
    shop.execute("DELETE FROM items WHERE id = 2")
    wait_until(lambda: len(shop.events()) == 6, 60, "the first changes", every=0.2)
    process.kill()
    shop.execute("INSERT INTO items VALUES (4, 0, 'late')")
    process.start()
    wait_until(lambda: len(shop.events()) >= 7, 120, "the change during the kill", every=0.2)
    shop.execute("UPDATE items SET version = 2 WHERE id = 1")
    wait_until(lambda: len(shop.events()) >= 8, 60, "the last change", every=0.2)
    assert shop.events() == [
        *[(number, "r", 0) for number in (1, 2, 3)],
        (1, "u", 1), (2, "d", None), (2, None, None), (4, "c", 0), (1, "u", 2),
    ]  # fmt: skip
    shop.remove()


class Writer(threading.Thread):
    """Changes random rows in transactions of several sizes, and remembers each committed change in its order."""

    def __init__(self, shop: Shop, rows: int) -> None:
        super().__init__(daemon=True)
        self._shop, self._random = shop, random.Random(7)
        self._versions = dict.fromkeys(range(1, rows + 1), 0)
        self._next = rows + 1
        self.events: Counter[tuple[int, str | None, int | None]] = Counter()
        self._stopped = threading.Event()
        self.failure: Exception | None = None

    def stop(self) -> None:
        self._stopped.set()
        self.join(60)

    def run(self) -> None:
        import psycopg

        try:
            with psycopg.connect(self._shop.server.conninfo(self._shop.name)) as connection:
                while not self._stopped.is_set():
                    events: list[tuple[int, str | None, int | None]] = []
                    with connection.transaction():
                        for _ in range(self._random.choice((1, 1, 1, 5, 200))):
                            events += self._change(connection)
                    self.events.update(events)
        except Exception as error:
            self.failure = error

    def _change(self, connection: Any) -> list[tuple[int, str | None, int | None]]:
        kind = self._random.random()
        if kind < 0.3:
            row, self._next = self._next, self._next + 1
            connection.execute("INSERT INTO items VALUES (%s, 0, 'new')", (row,))
            self._versions[row] = 0
            return [(row, "c", 0)]
        row = self._random.choice(list(self._versions)[-2000:])
        if kind < 0.85:
            version = self._versions[row] = self._versions[row] + 1
            connection.execute("UPDATE items SET version = %s WHERE id = %s", (version, row))
            return [(row, "u", version)]
        del self._versions[row]
        connection.execute("DELETE FROM items WHERE id = %s", (row,))
        return [(row, "d", None), (row, None, None)]

    def state(self) -> dict[int, int]:
        return dict(self._versions)


def _replayed(events: list[tuple[int, str | None, int | None]]) -> dict[int, int]:
    """The versions of the rows after these events, whose order per row is checked."""
    versions: dict[int, int] = {}
    for row, op, version in events:
        if op == "d":
            del versions[row]
        elif op in ("r", "c"):
            assert row not in versions and version is not None, (row, op, version)
            versions[row] = version
        elif op == "u":
            assert version == versions[row] + 1, (row, op, version, versions[row])
            versions[row] = version
    return versions


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("boundary", ["poll", "connector"])
def test_kills_under_load(boundary: str, worker: StartWorker, broker: KafkaBroker, postgres: Postgres) -> None:
    """Slots, workers and the server's sender processes are killed while rows change; with exactly-once delivery each
    change arrives once, those of a row in their order."""
    process = worker({"exactly.once.source.support": "enabled"})
    shop, rows = Shop(Connect(process), broker, postgres), 20_000
    shop.prepare(rows)
    shop.source(**{"exactly.once.support": "required", "transaction.boundary": boundary})
    wait_until(lambda: len(shop.events()) >= rows, 120, "the snapshot", every=0.5)
    writer = Writer(shop, rows)
    writer.start()
    for victim in ("slot", "sender", "worker") * 3:
        _wait_for_more(lambda: len(shop.events()), 500, every=0.5)
        _kill(victim, process, shop)
    writer.stop()
    assert writer.failure is None
    expected = writer.events.total() + rows
    wait_until(lambda: len(shop.events()) >= expected, 180, "all changes", every=1.0)
    events = shop.events()
    lost = writer.events - Counter(events)
    doubled = Counter(events) - writer.events - Counter({(row, "r", 0): 1 for row in range(1, rows + 1)})
    print(f"\n9 kills, {expected:,} records: {lost.total()} lost, {doubled.total()} doubled")
    assert (lost, doubled) == (Counter(), Counter())
    assert _replayed(events) == writer.state()
    shop.remove()


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_kill_during_the_snapshot(worker: StartWorker, broker: KafkaBroker, postgres: Postgres) -> None:
    """With transaction.boundary=connector the snapshot is one transaction, so that each row is seen once."""
    process = worker({"exactly.once.source.support": "enabled"})
    shop, rows = Shop(Connect(process), broker, postgres), 500_000
    shop.prepare(rows)
    shop.source(**{
        "exactly.once.support": "required", "transaction.boundary": "connector",
        "producer.override.transaction.timeout.ms": "300000",
    })  # fmt: skip
    ends = TopicEnds(broker.bootstrap, shop.topic)
    for victim in ("slot", "worker"):
        _wait_for_more(ends.written, 20_000, every=0.05)
        assert shop.events() == []
        _kill(victim, process, shop)
        shop.execute("UPDATE items SET version = version + 1 WHERE id = 1")
    wait_until(lambda: committed_end(broker.bootstrap, shop.topic) > rows, 240, "the snapshot", every=1.0)
    shop.execute("UPDATE items SET version = version + 1 WHERE id = 1")
    wait_until(lambda: shop.events()[-1] == (1, "u", 3), 60, "a change behind it", every=2.0)
    events = shop.events()
    assert Counter(row for row, _, _ in events[:-1]) == Counter(range(1, rows + 1))
    shop.remove()


def _wait_for_more(count: Callable[[], int], more: int, *, every: float) -> None:
    """Waits until this many more records have arrived."""
    before = count()
    wait_until(lambda: count() > before + more, 120, f"{more:,} more records", every=every)


def _kill(victim: str, process: WorkerProcess, shop: Shop) -> None:
    if victim == "slot":
        os.kill(next(pid for pid in children(process.pid) if is_slot(pid)), signal.SIGKILL)
    elif victim == "sender":
        shop.execute(
            f"SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = '{shop.slot}'"
        )
    else:
        process.kill()
        process.start()
