"""What operators see of a Java task and do with it: logs, levels, memory, pause, restart, isolation."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
from pathlib import Path

import httpx
import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.processes import alive, children, command_line
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

_FILE = "org.apache.kafka.connect.file"
_JSON = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "value.converter.schemas.enable": "true"}


def test_logs_and_memory_of_a_java_task(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    read, name = tmp_path / "in", unique("source")
    read.write_text("line\n")
    config = {
        "connector.class": f"{_FILE}.FileStreamSourceConnector",
        "file": str(read),
        "topic": broker.create_topic(),
    }
    connect.create(name, {**config, **STRINGS})
    connect.wait(name, "RUNNING", ["RUNNING"])
    level = {"level": "TRACE"}
    connect.ask("PUT", f"/admin/loggers/{_FILE}", level)
    try:
        wait_until(lambda: _is_logged(connect, name, read), 20, every=0.2)
    finally:
        connect.ask("PUT", f"/admin/loggers/{_FILE}", {"level": "INFO"})
    wait_until(lambda: _gauge(connect, "headrace_slot_java_heap_bytes") > 1 << 20, 20)
    memory = _gauge(connect, "headrace_slot_java_memory_bytes")
    assert 20 << 20 < memory < _gauge(connect, "headrace_slot_memory_bytes")
    connect.ask("DELETE", f"/connectors/{name}")


def test_a_java_task_is_restarted_after_a_failure_and_paused(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    written, name, topic = tmp_path / "later" / "out", unique("sink"), broker.create_topic()
    broker.produce(topic, b"one")
    connect.create(name, _sink(written, topic))
    connect.wait(name, "RUNNING", ["FAILED"])
    assert "Couldn't find or create file" in connect.status(name)["tasks"][0]["trace"]
    written.parent.mkdir()
    connect.ask("POST", f"/connectors/{name}/tasks/0/restart")
    wait_until(lambda: written.exists() and written.read_text() == "one\n", 30)
    connect.put(name, "pause")
    connect.wait(name, "PAUSED", ["PAUSED"])
    broker.produce(topic, b"two")
    connect.put(name, "resume")
    connect.wait(name, "RUNNING", ["RUNNING"])
    wait_until(lambda: written.read_text() == "one\ntwo\n", 30)
    connect.ask("DELETE", f"/connectors/{name}")


def test_a_java_connector_gets_a_slot_and_a_jvm_of_its_own(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    names, topic = [unique("shared") for _ in range(4)], broker.create_topic()
    for name in names:
        connect.create(name, _sink(tmp_path / name, topic))
    alone = unique("alone")
    connect.create(alone, {**_sink(tmp_path / alone, topic), "headrace.isolation": "dedicated"})
    for name in (*names, alone):
        connect.wait(name, "RUNNING", ["RUNNING"])
    slots = [connect.ask("GET", f"/connectors/{name}/tasks/0/stack")["pid"] for name in (*names, alone)]
    assert slots[-1] not in slots[:-1] and len(set(slots[:-1])) < len(names)
    own = wait_until(lambda: [child for child in children(slots[-1]) if "headrace.Main" in command_line(child)])
    assert len(own) == 1
    for name in (*names, alone):
        connect.ask("DELETE", f"/connectors/{name}")
    os.kill(slots[-1], signal.SIGKILL)
    wait_until(lambda: not alive(own[0]), 30, "the JVM ends with its slot")


def test_an_alias_of_a_bundled_class_does_not_mean_a_java_class(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    """Debezium's JdbcSinkConnector has the alias JdbcSink, which is the name of a bundled class."""
    name, topic, database = unique("alias"), broker.create_topic(), tmp_path / "database"
    row = {"type": "struct", "fields": [{"field": "id", "type": "int32"}]}
    broker.produce(topic, json.dumps({"schema": row, "payload": {"id": 7}}).encode())
    url, table = f"jdbc:sqlite:{database}", {"auto.create": "true", "table.name.format": "rows"}
    config = {"connector.class": "JdbcSink", "topics": topic, "connection.url": url, **table, **_JSON}
    connect.create(name, config)
    wait_until(lambda: _rows(database) == [(7,)], 40, "the bundled sink writes")
    connect.ask("DELETE", f"/connectors/{name}")
    debezium = connect.ask("GET", "/connector-plugins/io.debezium.connector.jdbc.JdbcSinkConnector/config")
    assert "collection.name.format" in {key["name"] for key in debezium}


def _rows(database: Path) -> list[tuple[int]]:
    with contextlib.closing(sqlite3.connect(database)) as opened, contextlib.suppress(sqlite3.OperationalError):
        return opened.execute("SELECT id FROM rows").fetchall()
    return []  # no table yet


def _sink(written: Path, topic: str) -> dict[str, str]:
    return {"connector.class": f"{_FILE}.FileStreamSinkConnector", "file": str(written), "topics": topic, **STRINGS}


def _is_logged(connect: Connect, name: str, read: Path) -> bool:
    """Appends a line, since the level takes effect a moment after the answer, and looks for the log of earlier ones."""
    with read.open("a") as file:
        file.write("more\n")
    return any("Read a line from" in line for line in _lines(connect, name))


def _lines(connect: Connect, name: str) -> list[str]:
    return [line["message"] for line in connect.ask("GET", f"/connectors/{name}/logs?lines=100&task=0")]


def _gauge(connect: Connect, name: str) -> float:
    """The sum over all slots."""
    text = httpx.get(f"{connect.worker.url}/metrics").text
    return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(f"{name}{{"))
