"""A cluster of Apache's worker with Java connectors is taken over by ours with the same file, and returned."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.scenario.java.connectors.inventory import PLAIN, Inventory, new_inventory
from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.java.connectors import DEBEZIUM_POSTGRES, FILE, PREFER_FILE, plugin_path
from tests.support.java.recipes import recipe
from tests.support.servers.postgres import Postgres
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess, java_worker

pytestmark = [pytest.mark.soak, pytest.mark.timeout(300)]

_ROWS = 500


@dataclass(frozen=True, slots=True)
class Lines:
    """A file that a source reads, and the one that a sink writes."""

    read: Path
    written: Path

    def append(self, count: int) -> None:
        with self.read.open("a") as file:
            file.writelines(f"line {number}\n" for number in range(count))

    def wait(self) -> None:
        wait_until(lambda: self.written.exists() and self.written.stat().st_size >= self.read.stat().st_size, 60)
        assert self.written.read_text() == self.read.read_text()


@pytest.fixture
def workers(broker: KafkaBroker, tmp_path: Path) -> Iterator[tuple[WorkerProcess, WorkerProcess]]:
    """Apache's worker and ours, with one properties file; neither has been started."""
    plugins = {"plugin.path": plugin_path(DEBEZIUM_POSTGRES, FILE), "offset.flush.interval.ms": "500", **PREFER_FILE}
    java = java_worker(tmp_path, broker.bootstrap, {"plugin.discovery": "service_load", **plugins})
    command = [sys.executable, "-m", "runtime", "worker", "distributed", str(java.properties_file)]
    ours = WorkerProcess(command, int(java.url.rpartition(":")[2]), tmp_path / "ours.log", java.properties)
    yield java, ours
    for process in (java, ours):
        if process.running():
            process.stop()


def test_java_connectors_continue_at_their_offsets(
    workers: tuple[WorkerProcess, WorkerProcess], broker: KafkaBroker, postgres: Postgres, tmp_path: Path
) -> None:
    """Changes and lines that are written while no worker runs arrive with the next one, exactly once."""
    java, ours = workers
    lines, topic = Lines(tmp_path / "in.txt", tmp_path / "out.txt"), broker.create_topic()
    source, sink = unique("source"), unique("sink")
    lines.append(5_000)
    java.start(180)
    with new_inventory(Connect(java), broker, postgres, _ROWS) as inventory:
        connect = inventory.connect
        inventory.source(**PLAIN)
        connect.create(source, recipe("FileStreamSourceConnector", file=str(lines.read), topic=topic))
        connect.create(sink, recipe("FileStreamSinkConnector", file=str(lines.written), topics=topic))
        expected: list[tuple[int, str | None]] = [(number, "r") for number in range(1, _ROWS + 1)]
        inventory.arrived(len(expected))
        lines.wait()
        for number, (leaves, comes) in enumerate(((java, ours), (ours, java)), 1):
            before = _configs(connect, inventory)
            leaves.stop()
            inventory.execute("UPDATE items SET name = %s WHERE id = %s", f"change {number}", number)
            lines.append(500)
            comes.start(180)
            for name in (inventory.name, source, sink):
                connect.wait(name, "RUNNING", ["RUNNING"], 90)
            inventory.execute("DELETE FROM items WHERE id = %s", 100 + number)
            expected += [(number, "u"), (100 + number, "d"), (100 + number, None)]
            inventory.arrived(len(expected))
            lines.wait()
            assert inventory.events() == expected
            assert _configs(connect, inventory) == before
        for name in (source, sink):
            connect.ask("DELETE", f"/connectors/{name}")


def _configs(connect: Connect, inventory: Inventory) -> object:
    """What the API answers about the connector's config and its tasks."""
    name = inventory.name
    return connect.ask("GET", f"/connectors/{name}"), connect.ask("GET", f"/connectors/{name}/tasks")
