"""A cluster is taken over by our worker from Apache's with the same file, and back again; nothing is lost or moved."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.clusters.worker_group import is_transient, is_transient_in_java
from tests.support.connect import Connect
from tests.support.kafka import topics
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess, java_worker

LINES = 5_000
PARTITIONS = 5
KEYED = {
    "transforms": "hoist,key,inner,flat",
    "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.key.type": "org.apache.kafka.connect.transforms.ValueToKey",
    "transforms.key.fields": "line",
    "transforms.inner.type": "org.apache.kafka.connect.transforms.ExtractField$Key",
    "transforms.inner.field": "line",
    "transforms.flat.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
    "transforms.flat.field": "line",
}
"""Each line is also its record's key: the same line must reach the same partition from either worker."""


@dataclass
class Pipeline:
    """A source, its topic, and a sink of that topic."""

    source: str
    sink: str
    folder: Path
    topic: str
    sent: list[str] = field(default_factory=list)

    def append(self, lines: list[str]) -> None:
        with self.path("in").open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))
        self.sent += lines

    def path(self, way: str) -> Path:
        return self.folder / f"{self.source}.{way}"

    def arrived(self) -> list[str]:
        return self.path("out").read_text().splitlines() if self.path("out").exists() else []

    def has_all(self) -> bool:
        return len(self.arrived()) >= len(self.sent)

    def create(self, connect: Connect) -> None:
        connect.source(self.source, str(self.path("in")), self.topic, **KEYED)
        connect.sink(self.sink, str(self.path("out")), self.topic, **{"tasks.max": "2"})


@dataclass
class Cluster:
    """One worker properties file, and the two programs that use it."""

    java: WorkerProcess
    ours: WorkerProcess

    @property
    def topics(self) -> dict[str, str]:
        return {k: v for k, v in self.java.properties.items() if k.endswith(".storage.topic")}


@pytest.fixture
def cluster(broker: KafkaBroker, tmp_path: Path) -> Iterator[Cluster]:
    java = java_worker(tmp_path, broker.bootstrap, {"offset.storage.partitions": "5", "status.storage.partitions": "2"})
    command = [sys.executable, "-m", "runtime", "worker", "distributed", str(java.properties_file)]
    ours = WorkerProcess(command, int(java.url.rpartition(":")[2]), tmp_path / "ours.log", java.properties)
    yield Cluster(java, ours)
    for process in (java, ours):
        if process.running():
            process.stop()


class RepeatingConnect(Connect):
    """Repeats requests while the worker is joining its group: Apache's worker answers 409, or 500, although it is
    healthy."""

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        def settled() -> tuple[int, Any] | None:
            answer = super(RepeatingConnect, self).request(method, path, body)
            return None if is_transient(*answer) or is_transient_in_java(*answer) else answer

        return cast("tuple[int, Any]", wait_until(settled, 60, f"{method} {path}"))


def shown(connect: Connect, name: str) -> dict[str, Any]:
    """Everything that the API answers about a connector, except permitted differences: the order of keys and
    entries."""
    status = connect.status(name)
    return {
        "info": connect.ask("GET", f"/connectors/{name}"),
        "tasks": connect.ask("GET", f"/connectors/{name}/tasks"),
        "state": status["connector"]["state"],
        "worker": status["connector"]["worker_id"],
        "version": status["connector"]["version"],
        "task states": {t["id"]: (t["state"], t["version"]) for t in status["tasks"]},
        "topics": sorted(connect.ask("GET", f"/connectors/{name}/topics")[name]["topics"]),
        "offsets": sorted(connect.offsets(name), key=str),
    }


def settled(connect: Connect, names: dict[str, str]) -> dict[str, dict[str, Any]]:
    """The answers once each connector and its tasks have reached their states."""
    for name, state in names.items():
        count = 0 if state == "STOPPED" else int(connect.ask("GET", f"/connectors/{name}/config").get("tasks.max", "1"))
        connect.wait(name, state, [state] * count, 90)
    return {name: shown(connect, name) for name in names}


def committed(connect: Connect, pipeline: Pipeline) -> bool:
    """Waits until source and sink have committed all lines."""
    source = [e["offset"]["position"] for e in connect.offsets(pipeline.source)]
    return source == [pipeline.path("in").stat().st_size] and connect.committed(pipeline.sink) == len(pipeline.sent)


def partitions_of_keys(bootstrap: str, topic: str) -> dict[bytes, set[int | None]]:
    found: dict[bytes, set[int | None]] = defaultdict(set)
    for partition, key in topics.placed(bootstrap, topic):
        found[key or b""].add(partition)
    return found


@pytest.mark.slow
def test_a_cluster_is_taken_over_from_apaches_worker_and_returned(
    cluster: Cluster, broker: KafkaBroker, tmp_path: Path
) -> None:
    pipelines = {
        kind: Pipeline(
            unique(f"{kind}-source"), unique(f"{kind}-sink"), tmp_path, broker.create_topic(partitions=PARTITIONS)
        )
        for kind in ("running", "paused", "stopped")
    }
    running, paused, stopped = pipelines.values()
    everyone = {pipeline.source: "RUNNING" for pipeline in pipelines.values()} | {
        pipeline.sink: "RUNNING" for pipeline in pipelines.values()
    }
    at_rest = {**everyone, paused.source: "PAUSED", paused.sink: "PAUSED"}
    at_rest |= {stopped.source: "STOPPED", stopped.sink: "STOPPED"}
    batch = [
        f"line {n}" for n in range(LINES)
    ]  # ASCII, since in Java a position counts characters (docs/differences.md)
    small = batch[:500]

    def exact(pipeline: Pipeline) -> None:
        """Checks that every line arrives exactly as often as it was sent, always on the partition of its key."""
        wait_until(pipeline.has_all, 90, f"{len(pipeline.sent)} lines of {pipeline.source}", every=0.2)
        assert Counter(pipeline.arrived()) == Counter(pipeline.sent)
        assert topics.count(broker.bootstrap, pipeline.topic) == len(pipeline.sent)
        spread = partitions_of_keys(broker.bootstrap, pipeline.topic)
        assert {len(on) for on in spread.values()} == {1}, "a key moved to another partition"
        assert len(set.union(*spread.values())) == PARTITIONS

    def hand_over(before: WorkerProcess, after: WorkerProcess) -> RepeatingConnect:
        """The next worker starts with the same answers as the last one, and processes everything sent from then on."""
        connect = RepeatingConnect(before)
        for pipeline in pipelines.values():
            wait_until(partial(committed, connect, pipeline), 60, f"offsets of {pipeline.source}", every=0.2)
        left = settled(connect, at_rest)
        assert before.stop() == (0 if before is cluster.ours else 143)
        after.start(120)
        connect = RepeatingConnect(after)
        found = settled(connect, at_rest)
        assert {n: {k: v for k, v in d.items() if v != left[n][k]} for n, d in found.items()} == {n: {} for n in left}
        for pipeline, lines in ((running, batch), (paused, small), (stopped, small)):
            pipeline.append(lines)
        exact(running)
        assert not paused.has_all()
        assert not stopped.has_all()
        for name in (paused.source, paused.sink, stopped.source, stopped.sink):
            connect.put(name, "resume")
        settled(connect, everyone)
        for pipeline in pipelines.values():
            exact(pipeline)
        return connect

    def rest(connect: Connect) -> None:
        for pipeline in pipelines.values():
            wait_until(partial(committed, connect, pipeline), 60, f"offsets of {pipeline.source}", every=0.2)
        for verb, pipeline in (("pause", paused), ("stop", stopped)):
            connect.put(pipeline.source, verb)
            connect.put(pipeline.sink, verb)

    cluster.java.start()
    connect = RepeatingConnect(cluster.java)
    for pipeline, lines in ((running, batch), (paused, small), (stopped, small)):
        pipeline.append(lines)
    with ThreadPoolExecutor(len(everyone)) as pool:  # at the same time, so that Apache's worker rebalances less often
        list(pool.map(lambda pipeline: pipeline.create(connect), pipelines.values()))
        for pipeline in pipelines.values():
            exact(pipeline)
        rest(connect)
        connect = hand_over(cluster.java, cluster.ours)
        rest(connect)
        connect = hand_over(cluster.ours, cluster.java)
        list(pool.map(lambda name: connect.ask("DELETE", f"/connectors/{name}"), everyone))
