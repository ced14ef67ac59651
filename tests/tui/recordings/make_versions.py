"""Records versions/VERSION.jsonl: what Apache's workers of earlier versions respond to the console's requests.

    python -m tests.tui.recordings.make_versions BOOTSTRAP [VERSION …]

BOOTSTRAP is a broker that has no consumer groups of these connectors. The `POST /connectors` of a recording has an
`initial_state`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.broker import KafkaBroker
from tests.support.connect import JSON
from tests.support.java.connect_versions import VERSIONS, connect_worker
from tests.support.waiting import wait_until
from tui.client.calls import drive
from tui.client.client import Connect
from tui.errors import HeadraceError
from tui.wire.blocking import BlockingTransport
from tui.wire.endpoint import Endpoint
from tui.wire.recording import RecordingTransport

HERE = Path(__file__).parent / "versions"
STRING = "org.apache.kafka.connect.storage.StringConverter"
SHOWN_AS = "http://connect.example:8083"
SOURCE, SINK = "org.apache.kafka.connect.file.FileStreamSourceConnector", "FileStreamSink"
LINES, COPY, BROKEN, PAUSED, NEW = "lines", "copy", "broken", "paused", "new"


def main() -> None:
    bootstrap, *wanted = sys.argv[1:]
    for version in wanted or VERSIONS:
        with tempfile.TemporaryDirectory() as folder:
            record(bootstrap, version, Path(folder))
        print(f"{version}: {(HERE / f'{version}.jsonl').stat().st_size} bytes", flush=True)


def record(bootstrap: str, version: str, folder: Path) -> None:
    worker = connect_worker(folder, bootstrap, version)
    worker.start(120)
    topic = KafkaBroker(bootstrap).create_topic()
    try:
        plain = Connect(BlockingTransport(Endpoint(worker.url)))
        raw = folder / "raw.jsonl"
        prepare(plain, folder, topic)
        connect = Connect(RecordingTransport(BlockingTransport(Endpoint(worker.url)), str(raw)))
        for ask in requests(connect, folder, topic):
            attempt(ask)
        drive(connect.close())
    finally:
        worker.stop()
    HERE.mkdir(exist_ok=True)
    text = raw.read_text("utf-8").replace(worker.url, SHOWN_AS).replace(str(folder), "/data").replace(topic, "text")
    text = text.replace(worker.url.removeprefix("http://"), SHOWN_AS.removeprefix("http://"))
    (HERE / f"{version}.jsonl").write_text(steady(text), "utf-8")


def prepare(connect: Connect, folder: Path, topic: str) -> None:
    """A source and a sink that run, a sink whose task has FAILED, and a paused source."""
    (folder / "lines.txt").write_text("one\ntwo\nthree\n")
    strings = {"key.converter": STRING, "value.converter": STRING, "tasks.max": "1"}
    configs = {
        LINES: {"connector.class": SOURCE, "file": str(folder / "lines.txt"), "topic": topic, **strings},
        COPY: {"connector.class": SINK, "file": str(folder / "copy.txt"), "topics": topic, **strings},
        BROKEN: {
            "connector.class": SINK, "file": str(folder / "b.txt"), "topics": topic, **strings, "value.converter": JSON
        },
        PAUSED: {"connector.class": SOURCE, "file": str(folder / "no.txt"), "topic": topic, **strings},
    }  # fmt: skip
    for name, config in configs.items():
        drive(connect.create({"name": name, "config": config}))
    drive(connect.pause(PAUSED))
    copied = folder / "copy.txt"
    wait_until(lambda: copied.exists() and copied.read_text().count("\n") == 3, 90, "three copied lines")
    wait_until(lambda: task_states(connect, BROKEN) == ["FAILED"], 90, "a failed task")
    wait_until(lambda: drive(connect.status(PAUSED))["connector"]["state"] == "PAUSED", 90, "a paused connector")
    wait_until(lambda: task_states(connect, LINES) == ["RUNNING"], 90, "a running source")


def task_states(connect: Connect, name: str) -> list[str]:
    try:
        return [task["state"] for task in drive(connect.status(name))["tasks"]]
    except HeadraceError:
        return []


def requests(connect: Connect, folder: Path, topic: str) -> list[Callable[[], Coroutine[Any, Any, Any]]]:
    """The console's requests, reads before changes."""
    new = {"connector.class": SINK, "file": str(folder / "new.txt"), "topics": topic, "tasks.max": "1"}
    offset = {"kafka_topic": topic, "kafka_partition": 0}
    reads: list[Callable[[], Coroutine[Any, Any, Any]]] = [
        connect.root, connect.names, connect.expanded, connect.statuses, connect.loggers, connect.health,
        connect.workers, connect.deleted_connectors, lambda: connect.plugins(True), lambda: connect.plugins(False),
        lambda: connect.plugin_config(SOURCE), lambda: connect.plugin_config(JSON),
    ]  # fmt: skip
    of_each = (
        connect.info, connect.status, connect.config, connect.tasks, connect.topics, connect.offsets,
        connect.offsets_in_detail, connect.offset_history, connect.config_history,
    )  # fmt: skip
    reads += [partial(read, name) for name in (LINES, COPY, BROKEN, PAUSED) for read in of_each]
    return [
        *reads,
        lambda: connect.validate(SINK, {**new, "name": NEW}),
        lambda: connect.restart(BROKEN),
        lambda: connect.restart(BROKEN, tasks=True, only_failed=True),
        lambda: connect.restart(COPY, tasks=True),
        lambda: connect.restart_task(BROKEN, 0),
        lambda: connect.set_level("org.apache.kafka.connect", "DEBUG"),
        lambda: connect.set_level("org.apache.kafka.connect", "INFO", "cluster"),
        lambda: connect.patch_config(COPY, {"tasks.max": "2"}),
        lambda: connect.pause(LINES),
        lambda: connect.resume(LINES),
        lambda: connect.stop(COPY),
        lambda: connect.alter_offsets(COPY, [{"partition": offset, "offset": {"kafka_offset": 1}}]),
        lambda: connect.reset_offsets(COPY),
        lambda: connect.create({"name": NEW, "config": new, "initial_state": "STOPPED"}),
    ]


def attempt(ask: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    """Sends a request, whose refusal is recorded, too."""
    try:
        drive(ask())
    except HeadraceError:
        return


def steady(text: str) -> str:
    """The recording without times, so that a test sees the same responses however slow it is."""
    head, *entries = map(json.loads, text.splitlines())
    lines = [{**head, "time": "2026-01-01T00:00:00+00:00"}, *({**entry, "at": 0.0} for entry in entries)]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


if __name__ == "__main__":
    main()
