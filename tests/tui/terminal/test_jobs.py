"""Jobs of docs/jobs.md by keys in a terminal of 80x24, on Apache's worker and on ours, with their keys counted."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.console.counted_terminal import CountedTerminal, documented, job
from tests.support.kafka.topics import produce
from tests.support.waiting import wait_until
from tests.tui.conftest import Cluster
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Profile

JSON = "org.apache.kafka.connect.json.JsonConverter"
OURS, APACHE = (pytest.param(worker, marks=pytest.mark.soak) for worker in ("our_connect_url", "connect_url"))
HERE = ("--context", "here")


@pytest.fixture(params=[OURS, APACHE])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    one = Cluster(request.getfixturevalue(request.param), tmp_path)
    yield one
    one.close()


@pytest.fixture(autouse=True)
def contexts(cluster: Cluster, broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ContextsFile:
    """Folders of the test, with the current context `here`."""
    for kind in ("CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    file = ContextsFile(tmp_path / "config" / "headrace" / "contexts.toml")
    file.put(Profile(cluster.url, "here", bootstrap=broker.bootstrap))
    file.use("here")
    return file


@pytest.fixture
def name() -> str:
    """Of the connector: six characters, and none that has offsets of an earlier test."""
    return f"ord{uuid4().hex[:3]}"


def sink(cluster: Cluster, topic: str, name: str, **config: str) -> str:
    out = {"file": str(cluster.folder / f"{name}.out"), **config}
    return cluster.create(name, {"connector.class": "FileStreamSink", "tasks.max": "1", "topics": topic, **out})


def source(cluster: Cluster, name: str) -> str:
    file = cluster.folder / f"{name}.txt"
    file.write_text("one\ntwo\n")
    config = {"connector.class": "FileStreamSource", "tasks.max": "1", "file": str(file), "topic": unique("jobs")}
    return cluster.create(name, config)


def running_sink(cluster: Cluster, broker: KafkaBroker, name: str) -> str:
    """A sink that has read and committed five records; beside it, another connector."""
    topic = unique("jobs")
    produce(broker.bootstrap, topic, [b"1", b"2", b"3", b"4", b"5"])
    source(cluster, unique("audit"))
    sink(cluster, topic, name)
    wait_until(lambda: [at for _, at in cluster.offsets(name)] == [{"kafka_offset": 5}], 90, "its offset", every=0.1)
    return topic


def repaired_sink(cluster: Cluster, name: str) -> None:
    """A sink whose task has failed, since the folder of its file was missing; it exists now."""
    source(cluster, unique("audit"))
    sink(cluster, unique("jobs"), name, file=str(cluster.folder / "late" / "out"))
    cluster.wait_failed(name)
    (cluster.folder / "late").mkdir()


def select(terminal: CountedTerminal, name: str) -> None:
    """Filters by a part of the name."""
    terminal.sees(name, "audit")
    terminal.press("/", *"ord")
    terminal.sees("by /ord")
    terminal.press("enter")
    terminal.until(lambda: "audit" not in terminal.text, "the filter")


def test_each_number_of_the_page_is_counted() -> None:
    counted = re.findall(r'with job\("([^"]+)"', Path(__file__).read_text("utf-8"))
    assert list(documented()) == counted


def test_find(cluster: Cluster, broker: KafkaBroker, name: str) -> None:
    topic = unique("jobs")
    produce(broker.bootstrap, topic, [b"no json"])
    source(cluster, unique("audit"))
    sink(cluster, topic, name, **{"value.converter": JSON})
    cluster.wait_failed(name)
    with job("find", *HERE) as terminal:
        terminal.sees("✗ FAILED")
        terminal.press("t")
        terminal.sees("why task 0 failed", "full trace", "org.apache.kafka.connect.errors.DataException")


def test_restart_one_task(cluster: Cluster, name: str) -> None:
    repaired_sink(cluster, name)
    with job("restart one task", *HERE) as terminal:
        terminal.sees("✗ FAILED")
        terminal.press("F")
        terminal.sees("1 failure of 1 connector", f"{name}/0")
        terminal.press("R")
        terminal.sees(f"restart {name}/0?", "y yes")
        terminal.press("y")
        terminal.sees("restart 1 task: 1 observed", "observed: RUNNING, 1/1 tasks")


@pytest.mark.soak
def test_rewind(cluster: Cluster, broker: KafkaBroker, name: str) -> None:
    from confluent_kafka import Producer

    topic, now = unique("jobs"), int(time.time() * 1000)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(50):
        producer.produce(topic, str(number), timestamp=now - (7200_000 if number < 30 else 1800_000))
    assert producer.flush(30) == 0
    source(cluster, unique("audit"))
    sink(cluster, topic, name)
    wait_until(lambda: [at for _, at in cluster.offsets(name)] == [{"kafka_offset": 50}], 90, "its offset")
    with job("rewind", *HERE) as terminal:
        select(terminal, name)
        terminal.press("5")
        terminal.sees("at the end")
        terminal.press("w")
        terminal.sees("for all partitions")
        terminal.press(*"-1h")
        terminal.sees("20 records read again, 0 skipped")
        terminal.press("enter")
        terminal.sees("offset 50 → offset 30 (−20, 20 read again)")
        terminal.press("ctrl+s")
        terminal.sees("In one step: stop it", "y yes")
        terminal.press("y")
        terminal.sees("✓ definite success", "● RUNNING")
    out = cluster.folder / f"{name}.out"
    wait_until(lambda: out.read_text().split().count("49") == 2, 60, "the records of the last hour again")
    assert out.read_text().split().count("29") == 1


@pytest.mark.soak
def test_config(cluster: Cluster, broker: KafkaBroker, name: str) -> None:
    running_sink(cluster, broker, name)
    with job("config", *HERE) as terminal:
        select(terminal, name)
        terminal.press("3")
        terminal.sees("tasks.max", "KEY")
        terminal.press(*["down"] * 4, "enter")
        terminal.sees("no change yet")
        terminal.press("backspace", "2")
        terminal.sees("would change 1 key", "✓ valid")
        terminal.press("ctrl+s")
        terminal.sees(f"change the config of {name}?", "y yes")
        terminal.press("y")
        terminal.sees("✓ applied")
    assert cluster.request("GET", f"/connectors/{name}/config")[1]["tasks.max"] == "2"
