"""Kafka's file connectors in slots while the processes that run them are killed: no line is lost, no JVM is left."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.java.connectors import FILE, PREFER_FILE, plugin_path
from tests.support.java.slots import is_jvm, jvms_of, slots_of
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker, WorkerProcess

_CLASS = "org.apache.kafka.connect.file.FileStream"
_FILLER = "abcdefghij" * 9
_LINE = re.compile(rb"(\d{8}) " + _FILLER.encode() + rb"\n")
_KILLS = 10


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("victims", "lines"),
    [
        pytest.param(["jvm", "slot", "worker"], 40_000, id="each"),
        pytest.param(["jvm"] * _KILLS, 1_000_000, id="jvm", marks=pytest.mark.soak),
        pytest.param(["slot"] * _KILLS, 1_000_000, id="slot", marks=pytest.mark.soak),
        pytest.param(["worker"] * _KILLS, 1_000_000, id="worker", marks=pytest.mark.soak),
    ],
)
def test_no_line_is_lost(
    victims: Sequence[str], lines: int, worker: StartWorker, broker: KafkaBroker, tmp_path: Path
) -> None:
    process = worker({"plugin.path": plugin_path(FILE), "headrace.slots": "2", **PREFER_FILE})
    connect, source, sink, topic = Connect(process), unique("source"), unique("sink"), broker.create_topic()
    read, written = tmp_path / "in", tmp_path / "out"
    read.touch()
    written.touch()
    connect.create(
        source, {"connector.class": f"{_CLASS}SourceConnector", "file": str(read), "topic": topic, **STRINGS}
    )
    more = {"consumer.override.session.timeout.ms": "6000"}
    connect.create(
        sink, {"connector.class": f"{_CLASS}SinkConnector", "file": str(written), "topics": topic, **STRINGS, **more}
    )
    known: set[int] = set()
    part = lines // (len(victims) + 1)
    for number, victim in enumerate(victims):
        for name in (source, sink):
            connect.wait(name, "RUNNING", ["RUNNING"], 120)
        known |= set(jvms_of(process.pid))
        size = written.stat().st_size
        _append(read, number * part, part)
        wait_until(lambda size=size: written.stat().st_size > size, 60, every=0.005)  # type: ignore[misc] # bound per turn
        _kill(victim, process, number)
    _append(read, len(victims) * part, lines - len(victims) * part)
    found = wait_until(lambda: _all_of(written, lines), 180, "all lines", every=1.0)
    print(f"\n{len(victims)} kills: {len(found) - lines:,} of {lines:,} lines were written twice")
    for name in (source, sink):
        connect.wait(name, "RUNNING", ["RUNNING"], 60)
    known |= set(jvms_of(process.pid))
    process.stop()
    wait_until(lambda: not any(map(is_jvm, known)), 10)


def _append(file: Path, first: int, count: int) -> None:
    with file.open("a") as target:
        target.writelines(f"{number:08d} {_FILLER}\n" for number in range(first, first + count))


def _all_of(file: Path, lines: int) -> list[bytes]:
    """The numbers of all lines if none is missing. Kafka's sink may leave a part of a line when it is killed."""
    found = _LINE.findall(file.read_bytes())
    return found if len(set(found)) == lines else []


def _kill(victim: str, worker: WorkerProcess, number: int) -> None:
    if victim == "worker":
        worker.kill()
        worker.start()
    else:
        found = jvms_of(worker.pid) if victim == "jvm" else slots_of(worker.pid)
        os.kill(found[number % min(len(found), 2)], signal.SIGKILL)
