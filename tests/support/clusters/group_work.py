"""A day of a group of two workers: all that needs rights, transactions and consumer groups of the brokers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.support.broker import KafkaBroker, unique
from tests.support.clusters.worker_group import GroupConnect, worker_group
from tests.support.connect import Connect
from tests.support.waiting import wait_until


def group_does_its_work(
    broker: KafkaBroker, folder: Path, properties: Mapping[str, str], pause: Callable[[], None] = lambda: None
) -> None:
    """Two workers start and join, a source and a sink run, offsets change, and one worker takes over the work of the
    other, which is killed. `pause`: called when records flow."""
    with worker_group(folder, broker, properties) as group:
        first, second = group.ours(), group.ours()
        group.start(first, second)
        connect = GroupConnect(group)
        topic, lines, copy = broker.create_topic(unique("lines")), folder / "lines", folder / "copy"
        lines.write_text("1\n2\n")
        connect.source("source", str(lines), topic)
        connect.sink("sink", str(copy), topic)
        await_lines(copy, "1", "2")

        pause()
        append(lines, "3")
        await_lines(copy, "1", "2", "3")
        connect.stop("source")
        connect.alter("source", ({"filename": str(lines)}, {"position": 4}))
        connect.stop("sink")
        wait_until(lambda: connect.status("sink")["tasks"] == [], 60, "the last commit of the sink's task")
        end = _committed(connect, topic)
        connect.alter("sink", ({"kafka_topic": topic, "kafka_partition": 0}, {"kafka_offset": end}))
        connect.resume("source")
        connect.resume("sink")
        await_lines(copy, "1", "2", "3", "3")

        wait_until(lambda: _position(connect) == lines.stat().st_size, 60, "the source's offset")
        wait_until(lambda: _committed(connect, topic) > end, 60, "the sink's offset")
        group.kill(first)
        group.wait_running(["source", "sink"], 120)
        append(lines, "4")
        await_lines(copy, "1", "2", "3", "3", "4")
        for worker in group.workers:
            log = worker.log.read_text()
            assert "-secret" not in log and "refuses" not in log, log


def append(file: Path, line: str) -> None:
    with file.open("a") as out:
        out.write(f"{line}\n")


def await_lines(file: Path, *lines: str) -> None:
    def content() -> list[str]:
        return file.read_text().split() if file.exists() else []

    try:
        wait_until(lambda: content() == list(lines), 60)
    except AssertionError:
        raise AssertionError(f"{file} has {content()}, not {lines}") from None


def _position(connect: Connect) -> int:
    """The committed offset of the source, in bytes."""
    (entry,) = connect.offsets("source")
    return int(entry["offset"]["position"])


def _committed(connect: Connect, topic: str) -> int:
    """The committed offset of the sink: behind the last record, and the marker of its transaction."""
    (entry,) = [e for e in connect.offsets("sink") if e["partition"]["kafka_topic"] == topic]
    return int(entry["offset"]["kafka_offset"])
