"""The standalone worker: connectors from files, offsets in a file that Java's worker reads and writes too."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from runtime.storage import java_map
from tests.support.broker import KafkaBroker, unique
from tests.support.clusters import standalone
from tests.support.connect import SINK, SOURCE, Connect
from tests.support.tasks.pipeline import records
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess, write_properties

Start = Callable[..., WorkerProcess]


@pytest.fixture
def start(broker: KafkaBroker, tmp_path: Path) -> Iterator[Start]:
    """Starts a standalone worker: `start(standalone.ours, CONNECTOR_FILE…)`."""
    started: list[WorkerProcess] = []

    def begin(kind: Callable[..., WorkerProcess], *connectors: Path, **more: str) -> WorkerProcess:
        process = kind(tmp_path, broker.bootstrap, *connectors, **more)
        started.append(process)
        process.start()
        return process

    yield begin
    for process in started:
        if process.running():
            process.stop()


@pytest.fixture
def topic(broker: KafkaBroker) -> str:
    return broker.create_topic()


def source_file(folder: Path, name: str, topic: str) -> Path:
    config = {"name": name, "connector.class": SOURCE, "file": str(folder / "in.txt"), "topic": topic}
    return write_properties(folder / "source.properties", config)


def append(folder: Path, *lines: str) -> None:
    with (folder / "in.txt").open("a") as file:
        file.writelines(f"{line}\n" for line in lines)


def has_arrived(broker: KafkaBroker, topic: str, last: str) -> bool:
    return arrived(broker, topic)[-1:] == [last]


def arrived(broker: KafkaBroker, topic: str) -> list[str]:
    return [value.decode() for _, value in records(broker, topic) if value is not None]


def test_java_continues_from_our_offsets_and_we_from_javas(
    start: Start, broker: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    """Three workers use one file in turn: every line arrives once."""
    file = source_file(tmp_path, unique("source"), topic)
    lines: list[str] = []
    for number, kind in enumerate((standalone.java, standalone.ours, standalone.java)):
        new = [f"{kind.__name__} {number} {i}" for i in range(3)]
        append(tmp_path, *new)
        lines += new
        worker = start(kind, file)
        wait_until(partial(has_arrived, broker, topic, new[-1]), 60, f"the lines of {kind.__name__}")
        assert worker.stop() == (143 if kind is standalone.java else 0)
        assert arrived(broker, topic) == lines
    (offset,) = java_map.decode((tmp_path / "offsets").read_bytes()).values()
    assert json.loads(offset or b"") == {"position": (tmp_path / "in.txt").stat().st_size}


def test_changes_over_rest_end_with_the_worker_but_offsets_remain(
    start: Start, broker: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    """Each start creates the connectors of the command line from their files; altered offsets and groups persist."""
    name, sink = unique("source"), unique("sink")
    append(tmp_path, "one", "two", "three")
    whole = {"connector.class": SINK, "file": str(tmp_path / "out.txt"), "topics": topic, "tasks.max": 1}
    (tmp_path / "sink.json").write_text(json.dumps({"name": sink, "config": whole, "initial_state": "PAUSED"}))
    files = source_file(tmp_path, name, topic), tmp_path / "sink.json"
    worker = start(standalone.ours, *files)
    connect = Connect(worker)
    connect.wait(name, "RUNNING", ["RUNNING"])
    connect.wait(sink, "PAUSED")
    wait_until(lambda: connect.offsets(name) != [])
    connect.stop(name)
    assert connect.alter(name, ({"filename": str(tmp_path / "in.txt")}, {"position": 4}))
    connect.create(unique("late"), {"connector.class": SOURCE, "file": "/nowhere", "topic": topic})
    worker.kill()

    worker = start(standalone.ours, *files)
    connect = Connect(worker)
    assert sorted(connect.ask("GET", "/connectors")) == sorted([name, sink])
    connect.wait(name, "RUNNING", ["RUNNING"])
    wait_until(lambda: arrived(broker, topic) == ["one", "two", "three", "two", "three"])
    connect.resume(sink)
    wait_until(lambda: (tmp_path / "out.txt").read_text().splitlines() == arrived(broker, topic))
    connect.stop(name)
    connect.ask("DELETE", f"/connectors/{name}/offsets")
    assert connect.offsets(name) == []
    assert java_map.decode((tmp_path / "offsets").read_bytes()) == {}


def test_offsets_are_kept_when_the_worker_is_killed(
    start: Start, broker: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    """A flat JSON file; the offsets file is never ahead of the topic."""
    config = {"name": unique("flat"), "connector.class": SOURCE, "file": str(tmp_path / "in.txt"), "topic": topic}
    (tmp_path / "source.json").write_text(json.dumps(config))
    append(tmp_path, *(f"line {i}" for i in range(2000)))
    worker = start(standalone.ours, tmp_path / "source.json")
    size = (tmp_path / "in.txt").stat().st_size
    connect = Connect(worker)
    wait_until(lambda: [entry["offset"] for entry in connect.offsets(config["name"])] == [{"position": size}])
    worker.kill()
    append(tmp_path, "the last")
    start(standalone.ours, tmp_path / "source.json")
    wait_until(lambda: arrived(broker, topic)[-1:] == ["the last"])
    assert len(arrived(broker, topic)) == 2001


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"name": "x"', "connector.json: "),
        ('{"connector.class": "FileStreamSource"}', "connector.json: the key `name` is missing"),
        ("connector.class=FileStreamSource\n", "connector.json: the key `name` is missing"),
    ],
)
def test_an_incomplete_connector_file_prints_one_line(
    broker: KafkaBroker, tmp_path: Path, content: str, message: str
) -> None:
    (tmp_path / "connector.json").write_text(content)
    code, error = run(standalone.ours(tmp_path, broker.bootstrap, tmp_path / "connector.json"), tmp_path)
    assert code == 2
    assert message in error
    assert error.count("\n") == 1


def test_a_refused_connector_ends_the_worker(broker: KafkaBroker, tmp_path: Path) -> None:
    file = write_properties(tmp_path / "c.properties", {"name": "c", "connector.class": SOURCE, "tasks.max": "none"})
    code, error = run(standalone.ours(tmp_path, broker.bootstrap, file), tmp_path)
    assert code == 1
    assert f"headrace worker: {file}: Connector configuration is invalid" in error


def test_an_unusable_offsets_file_ends_the_worker(broker: KafkaBroker, tmp_path: Path) -> None:
    (tmp_path / "offsets").write_text('{"position": 1}')
    code, error = run(standalone.ours(tmp_path, broker.bootstrap), tmp_path)
    assert code == 1
    assert "is not an offsets file of a standalone worker" in error
    assert (tmp_path / "offsets").read_text() == '{"position": 1}'


def test_an_offsets_file_must_not_be_a_device(broker: KafkaBroker, tmp_path: Path) -> None:
    """Replacing a device like a file would destroy it."""
    (tmp_path / "offsets").symlink_to("/dev/null")
    code, error = run(standalone.ours(tmp_path, broker.bootstrap), tmp_path)
    assert code == 1
    assert "offsets is not a regular file; set another one in offset.storage.file.filename" in error


def test_a_file_connector_without_a_file_reports_that_there_is_no_terminal(
    start: Start, topic: str, tmp_path: Path
) -> None:
    name = unique("console")
    file = write_properties(tmp_path / "c.properties", {"name": name, "connector.class": SOURCE, "topic": topic})
    connect = Connect(start(standalone.ours, file))
    connect.wait(name, "FAILED")
    assert "has no standard input" in connect.status(name)["connector"]["trace"]
    assert f"{name} is FAILED: " in (tmp_path / "ours.log").read_text()


def run(worker: WorkerProcess, folder: Path) -> tuple[int, str]:
    """The exit code and last log lines of a worker that ends by itself."""
    worker.start(wait=False)
    code = worker.wait(60)
    lines = (folder / "ours.log").read_text().splitlines(keepends=True)
    return code, "".join(line for line in lines if not line.startswith("["))


def test_initial_offsets_in_a_connectors_file_and_over_rest(
    start: Start, broker: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    """KIP-995 in standalone mode: the command line accepts initial offsets in JSON files, with `initial_state` too."""
    append(tmp_path, "one", "two", "three")
    source = {"connector.class": SOURCE, "file": str(tmp_path / "in.txt"), "topic": topic}
    at = [{"partition": {"filename": str(tmp_path / "in.txt")}, "offset": {"position": 4}}]
    file = tmp_path / "source.json"
    file.write_text(json.dumps({"name": "file", "config": source, "initial_offsets": at}))
    connect = Connect(start(standalone.ours, file))
    wait_until(lambda: arrived(broker, topic) == ["two", "three"])
    connect.create("rest", source, initial_offsets=at, initial_state="STOPPED")
    connect.wait("rest", "STOPPED", [])
    assert connect.offsets("rest") == at


def test_with_a_full_disk_tasks_continue_and_offsets_are_stored_later(
    start: Start, broker: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    """For a while the worker's process cannot write files: nothing fails, and the offsets are stored afterwards."""
    file, offsets = source_file(tmp_path, name := unique("source"), topic), tmp_path / "offsets"
    append(tmp_path, "before")
    worker = start(standalone.ours, file)
    connect = Connect(worker)
    wait_until(lambda: offsets.exists() and position(offsets) == 7, 60, "the first offset")
    unlimited = resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (8, resource.RLIM_INFINITY))
    append(tmp_path, "meanwhile")
    wait_until(partial(has_arrived, broker, topic, "meanwhile"), 30, "the line written with the disk full")
    wait_until(
        lambda: "cannot write offsets" in str(connect.logs(name)),
        30,
        "a log line about the failed write",
    )
    assert connect.states(name) == ("RUNNING", ["RUNNING"])
    assert position(offsets) == 7
    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, unlimited)
    wait_until(lambda: position(offsets) == 17, 30, "the offset of the second line")
    assert [path.name for path in tmp_path.glob(".offsets*")] == []
    assert arrived(broker, topic) == ["before", "meanwhile"]


def position(offsets: Path) -> int:
    (offset,) = java_map.decode(offsets.read_bytes()).values()
    found: int = json.loads(offset or b"")["position"]
    return found
