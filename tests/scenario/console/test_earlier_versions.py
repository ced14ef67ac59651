"""The console on workers of earlier versions of Connect: offsets that only the brokers return, and two real workers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON, SINK, STRING, Connect
from tests.support.console.script_console import Console
from tests.support.java.connect_versions import EarlierWorker, connect_worker
from tests.support.waiting import wait_until
from tui.errors import UNSUPPORTED, NotFound
from tui.model import Connector, Offset
from tui.offsets.brokers import Brokers
from tui.offsets.stored_offsets import StoredOffsets

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


def test_offsets_are_read_as_the_workers_store_them(broker: KafkaBroker) -> None:
    topic, data, sink, source = (
        broker.create_topic(partitions=2),
        broker.create_topic(),
        unique("sink"),
        unique("source"),
    )
    producer = Producer({"bootstrap.servers": broker.bootstrap})

    def store(connector: str, partition: Any, offset: Any) -> None:
        value = None if offset is None else json.dumps(offset)
        producer.produce(topic, value, json.dumps([connector, partition]), partition=len(str(partition)) % 2)

    store(source, {"file": "a"}, {"at": 1})
    store(source, {"file": "b"}, {"at": 5})
    store(unique("other"), {"file": "a"}, {"at": 9})
    store(source, {"file": "a"}, {"at": 2})
    store(source, {"file": "gone"}, {"at": 3})
    store(source, {"file": "gone"}, None)
    producer.produce(topic, b"\xff", b"not JSON", partition=0)
    envelope = {"schema": None, "payload": [source, {"file": "old"}]}
    producer.produce(topic, json.dumps({"schema": None, "payload": {"at": 7}}), json.dumps(envelope), partition=1)
    producer.flush(30)
    group = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": f"connect-{sink}"})
    group.commit(offsets=[TopicPartition(data, 0, 12)], asynchronous=False)
    group.close()
    connectors = [Connector(sink, "sink", "RUNNING", config={"topics": data}), Connector(source, "source", "RUNNING")]
    settings = {"bootstrap.servers": broker.bootstrap}
    read = StoredOffsets(Brokers(broker.bootstrap, {}), settings, topic).of(connectors)
    assert read[sink] == (Offset({"kafka_topic": data, "kafka_partition": 0}, {"kafka_offset": 12}),)
    stored = read[source]
    assert isinstance(stored, tuple)
    assert {entry.partition["file"]: entry.offset for entry in stored} == {
        "a": {"at": 2}, "b": {"at": 5}, "old": {"at": 7},
    }  # fmt: skip
    missing = StoredOffsets(Brokers(broker.bootstrap, {}), settings, unique("none")).of(connectors)
    assert isinstance(missing[source], NotFound) and missing[sink] == read[sink]
    broker.delete_topics(topic, data)


class Earlier:
    """A worker of an earlier version with a console, whose context names the brokers."""

    def __init__(self, worker: EarlierWorker, bootstrap: str, folder: Path) -> None:
        self.connect = Connect(worker)
        self.console = Console(worker.url, folder / "config")
        self.console.environ["XDG_STATE_HOME"] = str(folder / "state")
        self.offset_topic = worker.properties["offset.storage.topic"]
        self.console(f"config set-context here {worker.url} --bootstrap-servers {bootstrap}")

    def run(self, *lines: str, code: int = 0) -> str:
        result = self.console.in_context("here", *lines, code=code)
        return result.out + result.err


@pytest.fixture
def earlier(broker: KafkaBroker, tmp_path: Path) -> Iterator[tuple[Earlier, Earlier]]:
    """Workers 2.8 and 3.6."""
    workers = [connect_worker(tmp_path / version, broker.bootstrap, version) for version in ("2.8.2", "3.6.2")]
    for worker in workers:
        worker.start(wait=False)
    try:
        for worker in workers:
            worker.wait_healthy(180)
        first, second = (Earlier(worker, broker.bootstrap, tmp_path / worker.url[-5:]) for worker in workers)
        yield first, second
    finally:
        for worker in workers:
            worker.stop()


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_real_workers_2_8_and_3_6(earlier: tuple[Earlier, Earlier], broker: KafkaBroker, tmp_path: Path) -> None:
    """A backup of 2.8 continues on 3.6 with its offsets, and what neither can do is refused without an effect."""
    old, new = earlier
    topic, lines, copy, broken = broker.create_topic(), unique("lines"), unique("copy"), unique("broken")
    data = tmp_path / "lines.txt"
    data.write_text("one\ntwo\nthree\n")
    strings = {"key.converter": STRING, "value.converter": STRING, "tasks.max": "1"}
    source = {"connector.class": SOURCE, "file": str(data), "topic": topic, **strings}
    sink = {"connector.class": SINK, "file": str(tmp_path / "copy.txt"), "topics": topic, **strings}
    old.connect.create(lines, source)
    old.connect.create(copy, sink)
    old.connect.create(broken, {**sink, "value.converter": JSON})
    wait_until(lambda: read(tmp_path / "copy.txt") == ["one", "two", "three"], 120, "three copied lines")
    old.connect.wait(broken, "RUNNING", ["FAILED"], 120)

    assert "stopping a connector needs Connect 3.5; this is 2.8.2" in old.run(
        f"stop connector {copy}", code=UNSUPPORTED
    )
    assert "reading offsets needs Connect 3.5" in old.run(f"get offsets {copy}", code=UNSUPPORTED)
    assert "restarted" in old.run(f"restart connector {broken} -t FAILED -y")
    assert old.connect.states(lines) == ("RUNNING", ["RUNNING"])
    old.run(f"delete connector {broken} -y", f"pause connector {copy} {lines}")
    old.connect.wait(lines, "PAUSED")
    file = tmp_path / "backup.json"
    wait_until(lambda: saved(old, file, lines, copy) == [[{"position": 14}], [{"kafka_offset": 3}]], 60, "all offsets")

    old.run(f"delete connector {lines} {copy} -y")
    with data.open("a") as more:
        more.write("four\n")
    told = new.run(f"restore {file} -y")
    assert "created and then stopped: creating a connector in a state needs Connect 3.7; this is 3.6.2" in told
    new.connect.wait(lines, "PAUSED")
    assert new.connect.offsets(lines)[0]["offset"] == {"position": 14}
    new.run(f"resume connector {lines} {copy}")
    wait_until(lambda: "four" in read(tmp_path / "copy.txt"), 120, "the fourth line")
    new.run(f"patch offsets {copy} --to earliest --stop -y")
    assert "on one worker only" in new.run("patch logger root -l WARN -s cluster", code=UNSUPPORTED)
    new.run(f"delete connector {lines} {copy} -y")


def read(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def saved(cluster: Earlier, file: Path, *names: str) -> list[Any]:
    """The offsets of a new backup by connector."""
    cluster.run(f"backup {file} --offset-topic {cluster.offset_topic}")
    connectors = json.loads(file.read_text())["connectors"]
    return [[entry["offset"] for entry in connectors[name]["offsets"]] for name in names]
