"""Offsets move from Java's standalone file to our topic, to Java's topic, and back to Java's standalone file. Each time
the connector continues with exactly the next line. While a worker runs, the tool refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from runtime.offsets_tool import cli
from tests.support.broker import KafkaBroker, unique
from tests.support.clusters import standalone
from tests.support.connect import SOURCE, STRINGS, Connect
from tests.support.kafka import topics
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess, java_worker, our_worker, write_properties


class Line:
    """A file that grows, and the topic of its lines."""

    def __init__(self, folder: Path, broker: KafkaBroker) -> None:
        self.file, self.topic, self.bootstrap = folder / "in.txt", broker.create_topic(), broker.bootstrap
        self.name, self.written = unique("src"), 0
        self.config = {"connector.class": SOURCE, "file": str(self.file), "topic": self.topic, **STRINGS}

    def write(self, count: int) -> None:
        with self.file.open("a") as file:
            file.writelines(f"line {self.written + i}\n" for i in range(count))
        self.written += count

    def arrived(self, connect: Connect) -> None:
        """Waits until every line is in the topic once, and the offset of the last line is committed."""
        wanted = [f"line {i}".encode() for i in range(self.written)]
        assert topics.values(self.bootstrap, self.topic, self.written, 120) == wanted
        end = [{"position": self.file.stat().st_size}]
        wait_until(lambda: [e["offset"] for e in connect.offsets(self.name)] == end, 120)
        assert topics.count(self.bootstrap, self.topic) == self.written


@contextmanager
def running(process: WorkerProcess, folder: Path) -> Iterator[Connect]:
    """A running worker; meanwhile the tool refuses to change the offsets."""
    process.start(120)
    try:
        refused(process, folder)
        yield Connect(process)
    finally:
        process.stop()


def refused(process: WorkerProcess, folder: Path) -> None:
    """The tool refuses exports, imports and dry runs, and names the worker that it found."""
    document = folder / "refused.json"
    document.write_text('{"nobody":[{"partition":{"a":1},"offset":{"b":2}}]}')
    for words in (["--export"], ["--import", str(document)], ["--import", str(document), "--dry-run"]):
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as errors:
            code = cli.main([properties(process, folder), *words])
        assert (code, out.getvalue()) == (1, "")
        assert "a worker is running (" in errors.getvalue()
        assert process.url in errors.getvalue()


def properties(process: WorkerProcess, folder: Path) -> str:
    file = folder / (unique("tool") + ".properties")
    return f"--config={write_properties(file, process.properties)}"


def move(line: Line, source: WorkerProcess, target: WorkerProcess, folder: Path) -> None:
    """Exports the connector's offsets from `source`, checks them, and imports them into `target`."""
    document = folder / f"{unique('offsets')}.json"
    assert cli.main([properties(source, folder), "--export", str(document)]) == 0
    (entry,) = json.loads(document.read_text())[line.name]
    assert entry == {"partition": {"filename": str(line.file)}, "offset": {"position": line.file.stat().st_size}}
    assert cli.main([properties(target, folder), "--import", str(document)]) == 0


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_offsets_move_between_javas_file_our_topic_and_javas_topic(broker: KafkaBroker, tmp_path: Path) -> None:
    line = Line(tmp_path, broker)
    for folder in ("first", "last"):
        (tmp_path / folder).mkdir()
        whole = {**line.config, "name": line.name}
        write_properties(tmp_path / folder / "connector.properties", whole)
    javas_file = standalone.java(tmp_path / "first", broker.bootstrap, tmp_path / "first" / "connector.properties")
    ours = our_worker(tmp_path, broker.bootstrap, {})
    javas_topic = java_worker(tmp_path / "java", broker.bootstrap, {})
    last = standalone.java(tmp_path / "last", broker.bootstrap, tmp_path / "last" / "connector.properties")
    for process in (ours, javas_topic):
        for kind in ("config", "offset"):
            broker.create_topic(process.properties[f"{kind}.storage.topic"], cleanup_policy="compact")
    line.write(2)
    with running(javas_file, tmp_path) as connect:
        line.arrived(connect)
    move(line, javas_file, ours, tmp_path)
    line.write(1)
    with running(ours, tmp_path) as connect:
        connect.create(line.name, line.config)
        line.arrived(connect)
    move(line, ours, javas_topic, tmp_path)
    line.write(3)
    with running(javas_topic, tmp_path) as connect:
        connect.create(line.name, line.config)
        line.arrived(connect)
    move(line, javas_topic, last, tmp_path)
    line.write(1)
    with running(last, tmp_path) as connect:
        line.arrived(connect)
