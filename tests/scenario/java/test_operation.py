"""What operators see of a Java task: its log with levels that change at run time, and the memory of its JVM."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

_FILE = "org.apache.kafka.connect.file"


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
