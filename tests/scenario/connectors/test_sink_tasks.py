"""A sink with several tasks: no record is lost when a task restarts or a slot dies."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker
from tests.support.connect import Connect
from tests.support.processes import children, is_slot
from tests.support.waiting import wait_until

PARTITIONS = range(4)


class Feeder:
    """Sends numbered lines to all partitions of a topic, a few at intervals, until stopped."""

    def __init__(self, broker: KafkaBroker, topic: str) -> None:
        self.sent: list[bytes] = []
        self._broker, self._topic, self._stop = broker, topic, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(30)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        from confluent_kafka import Producer

        producer, number = Producer({"bootstrap.servers": self._broker.bootstrap}), 0
        while not self._stop.wait(0.02):
            number += 1
            for partition in PARTITIONS:
                line = f"{partition} {number}".encode()
                producer.produce(self._topic, line, partition=partition)
                self.sent.append(line)
            producer.poll(0)
        assert producer.flush(20) == 0


@pytest.fixture
def topic(broker: KafkaBroker) -> str:
    return broker.create_topic(partitions=len(PARTITIONS))


@pytest.fixture
def feeder(broker: KafkaBroker, topic: str) -> Iterator[Feeder]:
    feeding = Feeder(broker, topic)
    yield feeding
    feeding.stop()


def _read(file: Path) -> Counter[bytes]:
    """The lines written by the sink, with their counts."""
    return Counter(file.read_bytes().splitlines()) if file.exists() else Counter()


def _wait_for_all_partitions(file: Path) -> None:
    """Waits for a new record from each partition."""
    before = len(_read(file))

    def by_partition() -> set[bytes]:
        return {line.split()[0] for line in file.read_bytes().splitlines()[before:]}

    wait_until(lambda: len(by_partition()) == len(PARTITIONS), 60, "records of every partition")


def test_two_tasks_read_everything_while_one_restarts_and_a_slot_dies(
    connect: Connect, topic: str, feeder: Feeder, tmp_path: Path
) -> None:
    file = tmp_path / "out.txt"
    connect.sink("pair", str(file), topic, **{"tasks.max": "2"})
    wait_until(lambda: len(_read(file)) > 200, 60)

    connect.ask("POST", "/connectors/pair/tasks/0/restart")
    connect.wait("pair", "RUNNING", ["RUNNING", "RUNNING"])
    _wait_for_all_partitions(file)
    assert max(_read(file).values()) == 1, "a restarted task commits first, so no record is read again"

    os.kill(next(p for p in children(connect.worker.pid) if is_slot(p)), signal.SIGKILL)
    _wait_for_all_partitions(file)
    connect.wait("pair", "RUNNING", ["RUNNING", "RUNNING"])

    feeder.stop()
    wait_until(lambda: len(_read(file)) == len(feeder.sent), 60, "every record")
    connect.stop("pair")
    read = _read(file)
    assert set(read) == set(feeder.sent)
    assert max(read.values()) <= 2, "records that a dead slot had not committed are read only once more"
    ends = {p: sum(line.startswith(b"%d " % p) for line in feeder.sent) for p in PARTITIONS}
    found = {o["partition"]["kafka_partition"]: o["offset"]["kafka_offset"] for o in connect.offsets("pair")}
    assert found == ends
