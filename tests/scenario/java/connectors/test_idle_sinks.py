"""Java sinks on quiet topics: put() without records, whenever Apache's worker calls it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.java.journal import SINK, Journal
from tests.support.java.recipes import recipe
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

_EMPTY = "put 0\npreCommit\n"
_PUT_THEN_IDLE = "put 1\n(preCommit\n)*(put 0\n(preCommit\n)*)+"
"""A pattern of calls: on a busy machine a commit may be due twice between two polls."""


@pytest.fixture
def sink(connect: Connect, tmp_path: Path) -> Iterator[Callable[..., Journal]]:
    """Starts a sink that writes down its calls."""
    names: list[str] = []

    def start(topic: str, tasks: int = 1, **more: str) -> Journal:
        names.append(unique("journal"))
        journal = Journal(tmp_path / names[-1])
        config = {"connector.class": SINK, "topics": topic, "tasks.max": str(tasks), "journal": str(journal.file)}
        connect.create(names[-1], {**config, **STRINGS, **more})
        connect.wait(names[-1], "RUNNING", ["RUNNING"] * tasks, 120)
        return journal

    yield start
    for name in names:
        connect.ask("DELETE", f"/connectors/{name}")


def _follows(journal: Journal, calls: str) -> None:
    """Waits until the last calls of the task 0 match this pattern."""
    try:
        wait_until(lambda: re.search(f"(^|\n){calls}$", journal.calls(0)), 30)
    except AssertionError as error:
        raise AssertionError(f"{calls!r} does not match the last of {journal.calls(0)!r}") from error


def _causes(broker: KafkaBroker, topic: str, record: bytes, seen: Callable[[], object]) -> None:
    """Sends a record until the calls that it causes are seen: they differ if it arrives when a commit is due."""
    for _ in range(10):
        broker.produce(topic, record)
        with suppress(AssertionError):
            wait_until(seen, 3)
            return
    wait_until(seen, 1)


def test_a_quiet_sink_is_called_before_each_commit(broker: KafkaBroker, sink: Callable[..., Journal]) -> None:
    """Also its second task, which has no partition."""
    topic = broker.create_topic()
    journal = sink(topic, tasks=2)

    def called(calls: str) -> bool:
        return any(calls in journal.calls(task) for task in (0, 1))

    wait_until(lambda: called("put 0\n" * 3) and called(_EMPTY * 3), 30)
    _causes(broker, topic, b"record", lambda: called("put 1\n" + _EMPTY * 2))


def test_a_sink_resumes_its_partitions_in_an_empty_put(broker: KafkaBroker, sink: Callable[..., Journal]) -> None:
    topic = broker.create_topic()
    journal = sink(topic)
    broker.produce(topic, b"pause")
    _follows(journal, _PUT_THEN_IDLE)
    broker.produce(topic, b"record")
    _follows(journal, _PUT_THEN_IDLE * 2)


def test_timeouts_of_a_sink(broker: KafkaBroker, sink: Callable[..., Journal]) -> None:
    """A timeout that is not positive has no effect."""
    topic = broker.create_topic()
    journal = sink(topic)
    _causes(broker, topic, b"timeout 50", lambda: f"put 1\nput 0\n{_EMPTY}" in journal.calls())
    broker.produce(topic, b"timeout 0")
    _follows(journal, f"(put 0\n)?put 0\npreCommit\nput 1\n(preCommit\n)?({_EMPTY})+")


def test_a_batch_that_is_filtered_out_is_an_empty_put(broker: KafkaBroker, sink: Callable[..., Journal]) -> None:
    topic = broker.create_topic()
    drop_all = {"transforms": "drop", "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter"}
    journal = sink(topic, **drop_all)
    _follows(journal, f"({_EMPTY})+")
    _causes(broker, topic, b"record", lambda: f"preCommit\nput 0\n{_EMPTY}" in journal.calls())


def test_a_paused_sink_is_called(connect: Connect, broker: KafkaBroker, sink: Callable[..., Journal]) -> None:
    journal = sink(broker.create_topic())
    name = journal.file.name
    connect.put(name, "pause")
    connect.wait(name, "PAUSED", ["PAUSED"])
    before = journal.calls()
    wait_until(lambda: _EMPTY * 2 in journal.calls().removeprefix(before), 30)
    connect.resume(name)


def test_an_empty_put_that_fails_is_repeated(broker: KafkaBroker, sink: Callable[..., Journal]) -> None:
    topic = broker.create_topic()
    journal = sink(topic)
    calls = f"put 1\nput 0\n(preCommit\n)?(put 0\n)?{_EMPTY}"
    _causes(broker, topic, b"refuse", lambda: re.search(calls, journal.calls()))


def test_kafkas_file_sink_on_a_quiet_topic(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    topic, sink, written = broker.create_topic(), unique("quiet"), tmp_path / "out.txt"
    logger = "org.apache.kafka.connect.file.FileStreamSinkTask"
    connect.ask("PUT", f"/admin/loggers/{logger}", {"level": "TRACE"})
    connect.create(sink, recipe("FileStreamSinkConnector", file=str(written), topics=topic))
    wait_until(lambda: str(connect.logs(sink)).count("Flushing output stream") > 2, 60)
    connect.ask("PUT", f"/admin/loggers/{logger}", {"level": "INFO"})
    broker.produce(topic, b"a line")
    wait_until(lambda: written.read_text() == "a line\n", 30)
    connect.wait(sink, "RUNNING", ["RUNNING"])
    connect.ask("DELETE", f"/connectors/{sink}")
