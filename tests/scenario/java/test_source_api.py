"""What Java sources may return and see: offsets, null records, sizes, log lines, threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.java.journal import SOURCE, Journal
from tests.support.kafka.topics import pairs
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

_SENT = [(b"key 0", b"value 0"), (b"key 1", b"value 1"), (None, b"value 2")]
_REPORTED = "record value 0 5 7\nrecord value 1 5 7\nrecord value 2 -1 7\n"


@pytest.fixture
def source(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> Iterator[Callable[..., Journal]]:
    """Starts a source that sends three records to the topic of its name, and writes down its calls."""
    names: list[str] = []

    def start(**more: str) -> Journal:
        names.append(broker.create_topic(unique("journal")))
        journal = Journal(tmp_path / names[-1])
        config = {"connector.class": SOURCE, "tasks.max": "1", "topic": names[-1], "journal": str(journal.file)}
        connect.create(names[-1], {**config, **STRINGS, **more})
        return journal

    yield start
    for name in names:
        connect.ask("DELETE", f"/connectors/{name}")


def _await_offsets(connect: Connect, name: str, expected: list[dict[str, Any]]) -> None:
    """Waits for these offsets: a commit may come between two records."""
    wait_until(lambda: connect.offsets(name) == expected, 30, f"{connect.offsets(name)}")


def _calls(journal: Journal, prefix: str) -> str:
    """The calls on any thread: Apache's worker reports records on one of the producer."""
    return "".join(f"{call}\n" for call, _, _ in journal.lines() if call.startswith(prefix))


@pytest.mark.parametrize(("kind", "partition"), [("bytes", "Af8="), ("buffer", "x")])
def test_bytes_in_offsets_are_stored_as_base64(
    connect: Connect, broker: KafkaBroker, source: Callable[..., Journal], kind: str, partition: str
) -> None:
    """And so the task reads them, also with bytes as the source partition."""
    journal = source(offset=kind)
    name = journal.file.name
    stored = [{"partition": {"p": partition}, "offset": {"at": "Av/+"}}]
    _await_offsets(connect, name, stored)
    connect.stop(name)
    connect.resume(name)
    wait_until(lambda: "offset String Av/+" in journal.calls(), 30)
    assert pairs(broker.bootstrap, name) == _SENT


def test_null_among_polled_records_is_a_dropped_record(
    connect: Connect, broker: KafkaBroker, source: Callable[..., Journal]
) -> None:
    journal = source(nulls="true")
    _await_offsets(connect, journal.file.name, [{"partition": {"p": "x"}, "offset": {"at": 2}}])
    assert pairs(broker.bootstrap, journal.file.name) == _SENT
    assert _calls(journal, "record") == f"record null null\n{_REPORTED}"


def test_metadata_has_the_sizes_of_key_and_value(source: Callable[..., Journal]) -> None:
    journal = source()
    wait_until(lambda: _calls(journal, "record") == _REPORTED, 30, _calls(journal, "record"))


def test_an_offset_that_cannot_be_stored_fails_the_task(connect: Connect, source: Callable[..., Journal]) -> None:
    """Apache's task runs, and none of its offsets is ever committed."""
    journal = source(offset="decimal")
    connect.wait(journal.file.name, "RUNNING", ["FAILED"])
    (task,) = connect.status(journal.file.name)["tasks"]
    assert "A value of class Decimal cannot be stored" in task["trace"]


def test_threads_and_context_have_connects_names(source: Callable[..., Journal]) -> None:
    journal = source()
    name = journal.file.name
    wait_until(lambda: "start\n" in journal.calls(), 60)
    assert ("connector", f"connector-thread-{name}", f"[{name}|worker] ") in journal.lines()
    assert ("start", f"task-thread-{name}-0", f"[{name}|task-0] ") in journal.lines()


def test_log_lines_have_their_owner_and_level(connect: Connect, source: Callable[..., Journal]) -> None:
    """Of SLF4J and of java.util.logging."""
    name = source().file.name
    connect.wait(name, "RUNNING", ["RUNNING"])
    expected = {
        (task, level, logger, text)
        for task, logger in ((None, "journal.JournalSource"), (0, "journal.JournalSourceTask"))
        for level, text in (("WARN", "a line of slf4j"), ("WARN", "a line of jul"), ("ERROR", "a failure"))
    }

    def lines() -> set[tuple[int | None, str, str, str]]:
        return {(x["task"], x["level"], x["logger"], x["message"].partition("\n")[0]) for x in connect.logs(name)}

    wait_until(lambda: expected <= lines(), 30, f"{expected - lines()}")
    assert not [text for _, _, _, text in lines() if text == "a detail of jul"]
    traces = [x["message"] for x in connect.logs(name) if x["message"].startswith("a failure")]
    assert all("java.lang.IllegalStateException: of jul\n\tat journal.Journal.log" in text for text in traces)
    connect.ask("PUT", "/admin/loggers/journal", {"level": "DEBUG"})
    connect.ask("POST", f"/connectors/{name}/restart?includeTasks=true")
    wait_until(lambda: (0, "DEBUG", "journal.JournalSourceTask", "a detail of jul") in lines(), 30, f"{lines()}")
    connect.ask("PUT", "/admin/loggers/journal", {"level": "INFO"})
