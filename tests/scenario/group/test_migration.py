"""A live group of Apache's workers is replaced by ours worker by worker, and back: REST answers throughout, no record
is lost, and no task has two owners."""

from __future__ import annotations

import json
import threading
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.clusters.retrying_client import RetryingClient
from tests.support.clusters.worker_group import WorkerGroup, worker_group
from tests.support.kafka.topics import count, pairs
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

LANES = 4
MIXED = {"headrace.mixed.group": "true"}


@dataclass
class FilePipelines:
    """File sources whose files grow, their topics, and file sinks: all of classes that both programs have."""

    folder: Path
    broker: KafkaBroker
    written: int = 0
    names: dict[int, tuple[str, str, str]] = field(default_factory=dict)  # source, sink and topic
    _end: threading.Event = field(default_factory=threading.Event)

    def create(self, group: WorkerGroup) -> None:
        for number in range(LANES):
            source, sink, topic = unique("source"), unique("sink"), self.broker.create_topic()
            self.names[number] = source, sink, topic
            self._file(number, "in").touch()
            group.connect.source(source, str(self._file(number, "in")), topic)
            group.connect.sink(sink, str(self._file(number, "out")), topic)

    @property
    def all_names(self) -> list[str]:
        return [name for source, sink, _ in self.names.values() for name in (source, sink)]

    def start(self) -> None:
        self._thread = threading.Thread(target=self._feed, name="feeder")
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        self._thread.join()

    def _feed(self) -> None:
        while not self._end.wait(0.05):
            for number in self.names:
                with self._file(number, "in").open("a") as file:
                    file.write(f"line {self.written}\n")
            self.written += 1

    def check(self) -> None:
        """Every line arrives exactly once, since each worker has left in an orderly way: a second owner of a source
        would have produced lines twice."""
        lines = {f"line {number}" for number in range(self.written)}
        for number, (_, sink, topic) in self.names.items():
            wait_until(partial(self._has_all, number, lines), 60, f"{sink} has all lines", every=0.5)
            twice = [line for line, times in Counter(self._arrived(number)).items() if times > 1]
            assert count(self.broker.bootstrap, topic) == self.written, f"lines of {topic} were produced twice"
            assert not twice, f"{sink} wrote {len(twice)} lines more than once"

    def _has_all(self, number: int, lines: set[str]) -> bool:
        return lines <= set(self._arrived(number))

    def _arrived(self, number: int) -> list[str]:
        return self._file(number, "out").read_text().splitlines()

    def _file(self, number: int, way: str) -> Path:
        return self.folder / f"lane-{number}.{way}"


@pytest.mark.soak
@pytest.mark.timeout(400)
@pytest.mark.parametrize("workers", [2, 3])
def test_apache_workers_are_replaced_by_ours_and_ours_by_apache_workers(
    workers: int, broker: KafkaBroker, tmp_path: Path
) -> None:
    with worker_group(tmp_path, broker) as group:
        members = [group.java() for _ in range(workers)]
        group.start(*members)
        pipelines = FilePipelines(tmp_path, broker)
        pipelines.create(group)
        pipelines.start()
        client = RetryingClient(lambda: list(members), tmp_path, java=True)
        client.start()
        try:
            for make in (ours, java):
                for number in range(workers):
                    replace(group, members, number, make(group))
                    group.wait_running(pipelines.all_names, 90)
        finally:
            client.stop()
            pipelines.stop()
        print(f"\n{client.summary}")
        pipelines.check()
        assert two_owners(broker, group) == []
        assert client.lost == []
        assert client.forgotten(group.connect) == {}


@pytest.mark.slow
def test_without_the_property_a_live_group_of_java_is_refused(broker: KafkaBroker, tmp_path: Path) -> None:
    with worker_group(tmp_path, broker) as group:
        group.start(group.java())
        refused = group.ours()
        refused.start(wait=False)
        wait_until(lambda: not refused.running(), 60, "our worker ends")
        text = refused.log.read_text()
        assert f"workers of Apache Kafka Connect are alive in group.id={group.group_id}" in text
        assert "headrace.mixed.group" in text, "the remedy"


def ours(group: WorkerGroup) -> WorkerProcess:
    return group.ours(MIXED)


def java(group: WorkerGroup) -> WorkerProcess:
    return group.java()


def replace(group: WorkerGroup, members: list[WorkerProcess], number: int, after: WorkerProcess) -> None:
    """Stops a member and starts another in its place; clients know only members that are ready."""
    before = members.pop(number)
    assert group.stop(before) in (0, 143)  # a JVM's exit code after SIGTERM
    group.start(after)
    members.insert(number, after)


def two_owners(broker: KafkaBroker, group: WorkerGroup) -> list[str]:
    """Tasks that the status topic shows as RUNNING on a worker while they were RUNNING on another one, which had
    neither stopped them nor left the group."""
    running: dict[bytes, str] = {}
    found: dict[bytes, list[str]] = defaultdict(list)
    for key, value in pairs(broker.bootstrap, group.properties["status.storage.topic"]):
        if key is None or not key.startswith(b"status-task-"):
            continue
        status = json.loads(value) if value else {}
        owner = status.get("worker_id", "")
        if status.get("state") == "RUNNING":
            if running.get(key, owner) != owner:
                found[key].append(f"{key.decode()} was RUNNING on {running[key]} when {owner} started it")
            running[key] = owner
        elif running.get(key) == owner or not status:
            running.pop(key, None)
    return [line for lines in found.values() for line in lines]
