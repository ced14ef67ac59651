"""Lines from file to topic to file: byte for byte, and without a loss when processes are killed."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support.broker import EmbeddedBroker, KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.kafka import topics
from tests.support.processes import children, command_line
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker, WorkerProcess

LINES = 1_000_000


def _written(file: Path, lines: int) -> Path:
    """A file with different lines of about 99 bytes, some of them not UTF-8."""
    filler = "abcdefghij" * 9
    with file.open("wb") as f:
        for i in range(lines):
            f.write(f"{i:08d} {filler}".encode() + (b"\xff\xfe" if i % 1000 == 0 else b"") + b"\n")
    return file


@pytest.fixture(scope="module")
def big_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a million lines."""
    return _written(tmp_path_factory.mktemp("big") / "in.txt", LINES)


@pytest.mark.slow
@pytest.mark.parametrize("lines", [200_000, pytest.param(LINES, marks=pytest.mark.soak)])
def test_lines_arrive_byte_for_byte(lines: int, connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    topic, out = broker.create_topic(), tmp_path / "out.txt"
    file = _written(tmp_path / "in.txt", lines)
    snk, started = unique("snk"), time.monotonic()
    connect.source("src", str(file), topic)
    wait_until(lambda: topics.count(broker.bootstrap, topic) >= lines, 120, every=0.2)
    sourced = time.monotonic()
    connect.sink(snk, str(out), topic)
    wait_until(lambda: out.exists() and out.stat().st_size >= file.stat().st_size, 120, every=0.2)
    ended = time.monotonic()
    print(f"\nsource {lines / (sourced - started):,.0f} lines/s, sink {lines / (ended - sourced):,.0f} lines/s")
    connect.stop("src")
    connect.stop(snk)
    assert topics.count(broker.bootstrap, topic) == lines
    assert _digest(out) == _digest(file)


@pytest.mark.soak
@pytest.mark.parametrize("victim", ["worker", "slot", "engine", "broker"])
def test_no_line_is_lost_when_processes_are_killed(
    victim: str,
    worker: StartWorker,
    own_broker: EmbeddedBroker,
    big_file: Path,
    tmp_path: Path,
) -> None:
    """Every output line is an input line and none is missing; lines delivered twice are counted."""
    process = worker(bootstrap=own_broker.bootstrap)
    connect, topic, out = Connect(process), own_broker.create_topic(partitions=1), tmp_path / "out.txt"
    snk = unique("snk")
    connect.source("src", str(big_file), topic)
    connect.sink(snk, str(out), topic)
    size = big_file.stat().st_size
    share = random.uniform(0.2, 0.8)
    wait_until(lambda: out.exists() and out.stat().st_size >= share * size, 120, every=0.01)
    _kill(victim, process, own_broker)
    wait_until(lambda: _lines_of(out) >= LINES and _is_quiet(out), 180, f"{victim}: all lines", every=1.0)
    connect.stop("src")
    connect.stop(snk)

    found, wanted = Counter(out.read_bytes().split(b"\n")[:-1]), set(big_file.read_bytes().split(b"\n")[:-1])
    print(f"\n{victim} killed at {share:.0%}: {sum(found.values()) - len(found):,} lines delivered twice")
    assert not found.keys() - wanted
    assert not wanted - found.keys()


def _kill(victim: str, worker: WorkerProcess, broker: EmbeddedBroker) -> None:
    """Sends SIGKILL, then restarts the process if an operator's supervisor would."""
    if victim == "broker":
        broker.kill()
        broker.start()
    elif victim == "worker":
        worker.kill()
        worker.start()
    else:
        os.kill(_process_of(victim, worker.pid), signal.SIGKILL)


def _process_of(victim: str, worker: int) -> int:
    """The driver's process or a slot's, found by command line."""
    marks = {"engine": "runtime.engine.driver.driver", "slot": "runtime.engine.driver.daemon"}
    found = [pid for pid in children(worker) if marks[victim] in command_line(pid)]
    assert found, [command_line(pid) for pid in children(worker)]
    return found[-1]


def _digest(file: Path) -> str:
    with file.open("rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def _lines_of(file: Path) -> int:
    return file.read_bytes().count(b"\n")


def _is_quiet(file: Path) -> bool:
    """Whether nothing has been written for a moment."""
    return time.time() - file.stat().st_mtime > 2
