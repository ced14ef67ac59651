"""A connector that exits, hangs, exhausts the heap, leaves threads behind, loads native libraries or carries large
records, on Apache's worker and on ours. What differs is the price: Apache's worker, or one JVM of ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker
from tests.support.java.transcript.scenarios import lines
from tests.support.java.transcript.sides import Side, wait_for, workers
from tests.support.java.transcript.unruly import SINK, SOURCE
from tests.support.kafka.topics import pairs

pytestmark = [pytest.mark.soak, pytest.mark.timeout(400)]

_LARGE = 5_000_000
_LIMIT = 10_000_000


@pytest.fixture(scope="module")
def sides(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Side]]:
    folders = (tmp_path_factory.mktemp("apache"), tmp_path_factory.mktemp("ours"))
    graceful = {"task.shutdown.graceful.timeout.ms": "1000"}
    with workers(broker.bootstrap, folders, lambda *_: graceful) as started:
        yield started


def _obey(side: Side, broker: KafkaBroker, *orders: str, **more: str) -> tuple[str, Path]:
    """A sink that has got these orders; each is produced when the one before has been put."""
    topic = broker.create_topic()
    name, transcript = side.start(SINK, topics=topic, **more)
    for count, order in enumerate(orders, 1):
        broker.produce(topic, order.encode())
        wait_for(transcript, "task", "put ", count)
    return name, transcript


def test_native_libraries(sides: list[Side], broker: KafkaBroker) -> None:
    def scenario(side: Side) -> list[str]:
        name, transcript = _obey(side, broker, "native")
        wait_for(transcript, "task", "not loaded: Native", timeout=30)
        side.connect.stop(name)
        return lines(transcript)

    apache, ours = map(scenario, sides)
    assert ours == apache


@pytest.mark.parametrize("order", ["linkage", "overflow"])
def test_errors_of_java(sides: list[Side], broker: KafkaBroker, order: str) -> None:
    def scenario(side: Side) -> list[str]:
        name, transcript = _obey(side, broker, order)
        side.connect.wait(name, "RUNNING", ["FAILED"])
        return [*lines(transcript), *side.failure(name)]

    apache, ours = map(scenario, sides)
    wrapper, cause = apache[-2:]  # see docs/differences.md
    assert "Exiting WorkerSinkTask due to unrecoverable exception" in wrapper
    assert ours == [*apache[:-2], cause.removeprefix("Caused by: ")]


def test_large_records(sides: list[Side], broker: KafkaBroker) -> None:
    """5 MB, first with Kafka's limit of 1 MB."""

    def scenario(side: Side) -> list[str]:
        topic = broker.create_topic(max_message_bytes=str(_LIMIT))
        refused, small = side.start(SOURCE, topic=topic, size=str(_LARGE))
        side.connect.wait(refused, "RUNNING", ["FAILED"], 60)
        limit = {"producer__override__max__request__size": str(_LIMIT)}
        _, sent = side.start(SOURCE, topic=topic, size=str(_LARGE), **limit)
        wait_for(sent, "commits", "commitRecord")
        _, put = side.start(SINK, topics=topic)
        wait_for(put, "task", "large ")
        assert [len(value or b"") for _, value in pairs(broker.bootstrap, topic)] == [_LARGE]
        failure, reason = side.failure(refused)
        assert "max.request.size" in reason, reason
        return [*lines(small), failure, *lines(sent), *lines(put)]

    apache, ours = map(scenario, sides)
    assert ours == apache


@pytest.mark.parametrize("hang", ["task", "connector"])
def test_a_stop_that_never_ends(sides: list[Side], broker: KafkaBroker, hang: str) -> None:
    """The connector can be deleted, and created again under its name."""

    def scenario(side: Side) -> list[str]:
        # Apache's task stays in its group until then, and no other task of the group gets records
        gone = {"consumer__override__max__poll__interval__ms": "10000"}
        name, transcript = _obey(side, broker, "one", hang=hang, **gone)
        config = side.connect.ask("GET", f"/connectors/{name}/config")
        side.connect.ask("DELETE", f"/connectors/{name}")
        for part in ("connector", "task"):
            wait_for(transcript, part, "stop")
        side.connect.create(name, {**config, "hang": ""})
        side.connect.wait(name, "RUNNING", ["RUNNING"], 90)
        broker.produce(config["topics"], b"two")
        wait_for(transcript, "task", "put two")
        side.connect.stop(name)
        return lines(transcript)

    apache, ours = map(scenario, sides)
    assert ours == apache


def test_a_thread_that_its_task_leaves_behind(sides: list[Side], broker: KafkaBroker) -> None:
    """It runs on after its connector is deleted."""

    def scenario(side: Side) -> list[str]:
        name, transcript = _obey(side, broker, "thread")
        side.connect.ask("DELETE", f"/connectors/{name}")
        wait_for(transcript, "task", "left behind")
        return lines(transcript)

    apache, ours = map(scenario, sides)
    assert ours == apache


def test_the_end_of_a_jvm(broker: KafkaBroker, tmp_path: Path) -> None:
    """An exhausted heap fails Apache's task, and exit() ends Apache's worker; both cost one JVM of ours."""
    folders = (tmp_path / "apache", tmp_path / "ours")
    for folder in folders:
        folder.mkdir()
    with workers(broker.bootstrap, folders) as (apache, ours):
        failed, _ = _obey(apache, broker, "memory")
        apache.connect.wait(failed, "RUNNING", ["FAILED"], 60)
        assert apache.failure(failed)[-1] == "Caused by: java.lang.OutOfMemoryError: Java heap space"
        _obey(apache, broker, "exit")
        assert apache.worker.wait(60) == 3
        for order in ("memory", "exit"):
            name, transcript = _obey(ours, broker, order)
            broker.produce(ours.connect.ask("GET", f"/connectors/{name}/config")["topics"], b"after")
            wait_for(transcript, "task", "put after")
            ours.connect.wait(name, "RUNNING", ["RUNNING"], 60)
            assert [line for line in lines(transcript) if line.startswith("task")] == [
                "task: start", f"task: put {order}", "task: start", f"task: put {order}", "task: put after",
            ]  # fmt: skip
