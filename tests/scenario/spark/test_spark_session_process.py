"""The Spark session of a worker's connectors is a process of its own: it may end, and the slots go on."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pyarrow import parquet

from runtime.connectors.spark import session_client
from runtime.connectors.spark.session_client import SessionClient, SessionLostError
from runtime.engine.driver.session_starter import SessionStarter, listen
from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON_VALUES, STRING, Connect
from tests.support.engine.driver_settings import driver_settings
from tests.support.engine.engine_recorder import jvm_of
from tests.support.processes import children, command_line, freeze, is_slot
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker, WorkerProcess

_SILENCE = 4.0  # seconds, twice the time between two heartbeats


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
        (jvm,) = _jvms(session)
        os.kill((jvm, session)[number - 1], signal.SIGKILL)
        _send(broker, topic, number)
        wait_until(partial(_has, table, number + 1), 60)
        assert command_line(jvm) == "", "a JVM without its process would write beside the next one"
    assert {pid for pid in children(process.pid) if is_slot(pid)} == slots
    assert process.log.read_text().count("The Spark session of connectors has ended with exit code") == 2


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """For sockets, whose paths are limited."""
    with tempfile.TemporaryDirectory(prefix="hr-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.mark.parametrize("part", ["process", pytest.param("JVM", marks=pytest.mark.soak)])
def test_a_session_that_no_longer_works_is_replaced(
    part: str, short_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, log = short_folder / "spark1.sock", list[str]()
    monkeypatch.setenv(session_client.SOCKET, str(path))
    listener, settings = listen(path, short_folder / "spark.sock"), driver_settings(short_folder / "driver")
    Path(settings.folder).mkdir()
    SessionStarter(settings, {}, listener, lambda _, text: log.append(text), silence=_SILENCE).start()
    client, query = SessionClient("test"), {"op": session_client.CHECK_SQL, "sql": "SELECT 1 AS n FROM records"}
    try:
        client.send(lambda: query).result(60)
        (session,) = _sessions(os.getpid())
        (jvm,) = _jvms(session)
        freeze(session if part == "process" else jvm)
        with pytest.raises(SessionLostError):
            client.send(lambda: query).result(60)
        assert log[0] == f"The Spark session of connectors has not responded for {_SILENCE:g} s"
        client.send(lambda: query).result(60)
        assert _sessions(os.getpid()) != [session]
        assert command_line(jvm) == ""
        if part == "JVM":  # the longer test
            time.sleep(2 * _SILENCE)
            client.send(lambda: query).result(60)
            assert len(log) == 2, "a session without requests has a heartbeat too"
    finally:
        client.close()
        for pid in _sessions(os.getpid()):
            os.kill(pid, signal.SIGKILL)


def test_a_killed_jvm_of_the_slots_leaves_nothing_in_the_operators_folder(worker: StartWorker, tmp_path: Path) -> None:
    (local := tmp_path / "local").mkdir()
    process = worker({"spark.local.dir": str(local)})
    wait_until(lambda: any(local.glob("*_slots/blockmgr-*")), 60)
    left = {*local.glob("*_slots/*")}
    os.kill(jvm_of({pid: command_line(pid) for pid in children(process.pid)}), signal.SIGKILL)
    wait_until(lambda: any(local.glob("*_slots/blockmgr-*")) and not left & {*local.glob("*_slots/*")}, 60)
    process.stop()
    assert not list(local.iterdir())


def _session_processes(worker: WorkerProcess) -> list[int]:
    return _sessions(worker.pid)


def _sessions(pid: int) -> list[int]:
    return [child for child in children(pid) if "driver.session_process" in command_line(child)]


def _jvms(session: int) -> list[int]:
    return [pid for pid in children(session) if "PythonGatewayServer" in command_line(pid)]


def _send(broker: KafkaBroker, topic: str, number: int) -> None:
    broker.produce(topic, f'{{"id": {number}}}')


def _has(table: Path, count: int) -> bool:
    """Whether the table has the first records, each once."""
    files = [file for file in table.glob("*.parquet") if not file.name.startswith(".")]
    ids = [row["id"] for file in files for row in parquet.ParquetFile(file).read().to_pylist()]
    return sorted(ids) == list(range(count))
