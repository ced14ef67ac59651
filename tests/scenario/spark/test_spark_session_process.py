"""The Spark session of a worker's connectors is a process of its own: it may end, and the slots go on."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

from pyarrow import parquet

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON_VALUES, STRING, Connect
from tests.support.processes import children, command_line, is_slot
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker, WorkerProcess


def test_a_session_that_ends_takes_no_slot_along_and_loses_no_record(
    worker: StartWorker, broker: KafkaBroker, tmp_path: Path
) -> None:
    process, topic, name = worker(), broker.create_topic(), unique("spark")
    connect, table = Connect(process), tmp_path / "table"
    assert not _session_processes(process), "a worker without Spark connectors has none"
    connect.create(name, {
        "connector.class": "SparkSink", "topics": topic, "spark.path": str(table), "spark.trigger": "100 ms",
        "key.converter": STRING, **JSON_VALUES,
    })  # fmt: skip
    _send(broker, topic, 0)
    wait_until(partial(_has, table, 1), 60)
    slots = {pid for pid in children(process.pid) if is_slot(pid)}
    for number in range(1, 3):
        (session,) = _session_processes(process)
        (jvm,) = (pid for pid in children(session) if "PythonGatewayServer" in command_line(pid))
        os.kill((jvm, session)[number - 1], signal.SIGKILL)
        _send(broker, topic, number)
        wait_until(partial(_has, table, number + 1), 60)
        assert command_line(jvm) == "", "a JVM without its process would write beside the next one"
    assert {pid for pid in children(process.pid) if is_slot(pid)} == slots
    assert process.log.read_text().count("The Spark session of connectors has ended with exit code") == 2


def _session_processes(worker: WorkerProcess) -> list[int]:
    return [pid for pid in children(worker.pid) if "driver.session_process" in command_line(pid)]


def _send(broker: KafkaBroker, topic: str, number: int) -> None:
    broker.produce(topic, f'{{"id": {number}}}')


def _has(table: Path, count: int) -> bool:
    """Whether the table has the first records, each once."""
    files = [file for file in table.glob("*.parquet") if not file.name.startswith(".")]
    ids = [row["id"] for file in files for row in parquet.ParquetFile(file).read().to_pylist()]
    return sorted(ids) == list(range(count))
