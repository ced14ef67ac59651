"""A group of workers whose Kafka clients log in to a broker that requires it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from tests.support.broker import KafkaBroker, unique
from tests.support.clusters.worker_group import GroupConnect, worker_group
from tests.support.connect import Connect
from tests.support.kafka.secured_broker import of_properties_file
from tests.support.waiting import wait_until

_KINDS = ("", "admin.", "consumer.", "producer.")


def for_all_clients(login: Mapping[str, str]) -> dict[str, str]:
    """Worker properties with this login for the worker's own clients and for those of connectors."""
    return for_clients(dict.fromkeys(_KINDS, login))


def for_clients(logins: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Worker properties with logins by the prefix of the clients' properties, which is empty for the worker's own."""
    return {f"{kind}{key}": v for kind, login in logins.items() for key, v in of_properties_file(login).items()}


def group_authenticates(broker: KafkaBroker, folder: Path, properties: Mapping[str, str], session: float) -> None:
    """Two workers start and join, a source and a sink run, offsets change, and one worker takes over the work of the
    other, which is killed; all that for longer than the sessions of the connections, in seconds."""
    with worker_group(folder, broker, properties) as group:
        first, second = group.ours(), group.ours()
        group.start(first, second)
        connect = GroupConnect(group)
        topic, lines, copy = broker.create_topic(unique("lines")), folder / "lines", folder / "copy"
        lines.write_text("1\n2\n")
        connect.source("source", str(lines), topic)
        connect.sink("sink", str(copy), topic)
        await_lines(copy, "1", "2")

        until_reauthenticated(session)
        append(lines, "3")
        await_lines(copy, "1", "2", "3")
        connect.stop("source")
        connect.alter("source", ({"filename": str(lines)}, {"position": 4}))
        connect.stop("sink")
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


def until_reauthenticated(session: float) -> None:
    """Waits until the broker would close each connection whose client has not authenticated again within a session."""
    time.sleep(session * 1.5)


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
