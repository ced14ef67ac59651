"""Apache Iceberg's sink, which commits its offsets in transactions of its own with the group's metadata, and finds
out in put() when to do so."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.java.iceberg import IcebergTable, iceberg_plugin
from tests.support.java.recipes import recipe
from tests.support.java.slots import jvms_of
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

pytestmark = [pytest.mark.soak, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def worker(module_worker: StartWorker) -> Connect:
    return Connect(module_worker({"plugin.path": str(iceberg_plugin())}, timeout=180))


def test_its_use_of_the_workers_context_is_reported(worker: Connect) -> None:
    details = worker.ask("GET", "/connector-plugins/details")
    (sink,) = (plugin for plugin in details if plugin["class"].endswith("IcebergSinkConnector"))
    (name,) = sink["worker_classes"]
    assert name == "org.apache.kafka.connect.runtime.WorkerSinkTaskContext"
    assert "facade of the task's consumer" in sink["worker_classes"][name]


def _start(worker: Connect, broker: KafkaBroker, topic: str, warehouse: Path, tasks: int = 1) -> str:
    name = unique("iceberg")
    changes = {
        "topics": topic, "tasks.max": str(tasks), "iceberg.catalog.warehouse": warehouse.as_uri(),
        "iceberg.kafka.bootstrap.servers": broker.bootstrap, "iceberg.control.topic": unique("control"),
    }  # fmt: skip
    worker.create(name, recipe("IcebergSinkConnector", **changes))
    worker.wait(name, "RUNNING", ["RUNNING"] * tasks, 120)
    return name


def _rows(numbers: range) -> list[bytes]:
    return [json.dumps({"id": number, "name": f"row {number}"}).encode() for number in numbers]


def test_rows_are_committed_on_a_quiet_topic(worker: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    """All records arrive before the first commit interval ends: the sink learns of it only in later, empty puts."""
    topic, table = broker.create_topic(unique("rows")), IcebergTable(tmp_path, "shop.items")
    broker.produce(topic, *_rows(range(500)))
    name = _start(worker, broker, topic, tmp_path)
    wait_until(lambda: table.total == 500, 90, every=0.3)
    assert sorted(table.column("id")) == list(range(500))
    wait_until(lambda: [o["offset"]["kafka_offset"] for o in worker.offsets(name)] == [500], 30, every=0.3)
    worker.ask("DELETE", f"/connectors/{name}")


def test_rows_are_written_once_though_slots_are_killed(worker: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    topic, table = broker.create_topic(unique("rows")), IcebergTable(tmp_path, "shop.items")
    name, sent = _start(worker, broker, topic, tmp_path), 0
    for _ in range(3):
        broker.produce(topic, *_rows(range(sent, sent + 300)))
        sent += 300
        committed = table.total
        wait_until(lambda: table.total > committed, 90, every=0.3)  # noqa: B023
        os.kill(jvms_of(worker.worker.pid)[0], signal.SIGKILL)
        worker.wait(name, "RUNNING", ["RUNNING"], 60)
    wait_until(lambda: table.total >= sent, 120, every=0.5)
    assert sorted(table.column("id")) == list(range(sent))
    worker.ask("DELETE", f"/connectors/{name}")
