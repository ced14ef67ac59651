"""The jobs of docs/jobs.md by keys in a terminal of 80x24, on Apache's worker and on ours, with their keys counted."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.console.counted_terminal import PAGE, CountedTerminal, check, documented, job
from tests.support.console.forwarder import Forwarder
from tests.support.kafka.topics import produce, values
from tests.support.waiting import wait_until
from tests.tui.conftest import Cluster
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Profile

JSON = "org.apache.kafka.connect.json.JsonConverter"
OURS, APACHE = "our_connect_url", pytest.param("connect_url", marks=pytest.mark.soak)
SCRIPT = "headrace -c 'restart failures -y'"
HERE = ("--context", "here")


@pytest.fixture(params=[OURS, APACHE])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    one = Cluster(request.getfixturevalue(request.param), tmp_path)
    yield one
    one.close()


@pytest.fixture
def other(cluster: Cluster, connect_url: str, our_connect_url: str, tmp_path: Path) -> Iterator[Cluster]:
    """The worker that `cluster` is not."""
    one = Cluster(our_connect_url if cluster.url == connect_url else connect_url, tmp_path)
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


def test_the_page_has_the_fourteen_jobs() -> None:
    source_text = Path(__file__).read_text("utf-8")
    assert len(documented()) == 14
    assert [name for name in documented() if f'job("{name}"' not in source_text] == ["script"]
    assert f"`{SCRIPT}`" in PAGE.read_text("utf-8")


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
def test_edit_with_mistakes(cluster: Cluster, broker: KafkaBroker, name: str) -> None:
    running_sink(cluster, broker, name)
    with job("edit with mistakes", *HERE) as terminal:
        select(terminal, name)
        terminal.press("e")
        terminal.sees("no change yet", "kafka_offset")
        terminal.press("backspace", "x")
        terminal.sees("line 3")
        terminal.press("ctrl+s")
        terminal.sees("fix line 3")
        assert cluster.offsets(name)[0][1] == {"kafka_offset": 5}, "nothing was sent"
        terminal.press("delete", "2")  # the cursor is at the mistake
        terminal.sees("offset 5 → offset 2 (−3, 3 read again)")
        terminal.press("ctrl+s")
        terminal.sees("In one step: stop it", "y yes")
        terminal.press("y")
        terminal.sees("✓ definite success")


@pytest.mark.soak
@pytest.mark.parametrize("cluster", [OURS], indirect=True)  # the file connectors of Apache's worker confirm
def test_possible_success(cluster: Cluster, name: str) -> None:
    cluster.create(name, {"connector.class": "headrace_test_plugins.CountingConnector", "topic": unique("jobs")})
    source(cluster, unique("audit"))
    cluster.wait_offset(name)
    with job("possible success", *HERE) as terminal:
        select(terminal, name)
        terminal.press("e")
        terminal.sees("no change yet", '"n"')
        terminal.press("0")
        terminal.sees("would change 1 partition")
        terminal.press("ctrl+s")
        terminal.sees("In one step", "y yes")
        terminal.press("y")
        terminal.sees("! possible success", "to do:", "remains STOPPED")
    assert cluster.state(name) == "STOPPED 0/0"


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


@pytest.mark.soak
def test_dead_letters(cluster: Cluster, broker: KafkaBroker, name: str) -> None:
    topic = unique("jobs")
    produce(broker.bootstrap, topic, [b"{}", b"no json", b"neither"])
    dead = {"topic.name": f"{topic}-dead", "topic.replication.factor": "1", "context.headers.enable": "true"}
    source(cluster, unique("audit"))
    sink(
        cluster, topic, name, **{"value.converter": JSON, "value.converter.schemas.enable": "false"},
        **{"errors.tolerance": "all"}, **{f"errors.deadletterqueue.{key}": value for key, value in dead.items()},
    )  # fmt: skip
    assert len(values(broker.bootstrap, f"{topic}-dead", 2)) == 2
    with job("dead letters", *HERE) as terminal:
        select(terminal, name)
        terminal.press("d")
        terminal.sees("newest 2 of 2", "neither")
        terminal.press("*")
        terminal.sees("2 marked")
        terminal.press("R")
        terminal.sees("send 2 records to", "type 2 to continue", "type the number")
        terminal.press("2", "enter")
        terminal.sees("2 records sent")
    assert sorted(values(broker.bootstrap, topic, 5)[3:], key=str) == [b"neither", b"no json"]


@pytest.mark.soak
def test_create(cluster: Cluster, broker: KafkaBroker, name: str) -> None:
    source(cluster, unique("audit"))
    cluster.made.append(name)
    with job("create", *HERE) as terminal:
        terminal.sees("audit")
        terminal.press("c")
        terminal.sees("choose its plugin", "FileStreamSource")
        terminal.press("/", *"filestreamsi", "enter")
        terminal.until(lambda: "FileStreamSource" not in terminal.text, "the only plugin")
        terminal.press("enter")
        terminal.sees("a connector needs a name", "to fix")
        terminal.press("enter", *name, "enter")
        terminal.until(lambda: "a connector needs a name" not in terminal.text, "the name")
        terminal.press("n", "enter", *name, "enter")
        terminal.sees("✓ valid")
        terminal.press("ctrl+s")
        terminal.sees(f'"name": "{name}"', "initial state RUNNING")
        terminal.press("ctrl+s")
        cluster.wait(name, "RUNNING 1/1")


@pytest.mark.soak
def test_copy(cluster: Cluster, other: Cluster, broker: KafkaBroker, contexts: ContextsFile, name: str) -> None:
    contexts.put(Profile(other.url, "there"))
    running_sink(cluster, broker, name)
    other.made.append(name)
    with job("copy", *HERE) as terminal:
        select(terminal, name)
        terminal.press(">")
        terminal.sees("promote to there", "1 to create STOPPED", "> promotes")
        terminal.press(">")
        terminal.sees(f"create {name}", "y yes")
        terminal.press("y")
        terminal.sees("1 connector promoted")
    assert other.state(name) == "STOPPED 0/0"


@pytest.mark.soak
def test_delete_and_restore(cluster: Cluster, broker: KafkaBroker, name: str) -> None:
    running_sink(cluster, broker, name)
    before = cluster.request("GET", f"/connectors/{name}/config")[1]
    with job("delete and restore", *HERE) as terminal:
        select(terminal, name)
        terminal.press("D")
        terminal.sees(f"type {name} to continue", "type the name")
        terminal.press(*name, "enter")
        wait_until(lambda: not cluster.state(name), 60, "the deletion")
        terminal.press("U")
        terminal.sees("deleted connectors", "before the deletion")
        terminal.press("R")
        terminal.sees(f"restore {name}?", "y yes")
        terminal.press("y")
        cluster.wait(name, "RUNNING 1/1")
    assert cluster.request("GET", f"/connectors/{name}/config")[1] == before


@pytest.mark.soak
def test_bulk(cluster: Cluster, name: str) -> None:
    beside = source(cluster, unique("audit"))
    cluster.wait(beside, "RUNNING 1/1")
    names = [source(cluster, f"{name}-{number}") for number in (1, 2, 3)]
    for name in names:
        cluster.wait(name, "RUNNING 1/1")
    with job("bulk", *HERE) as terminal:
        terminal.sees(*names)
        select(terminal, name)
        terminal.press("b")
        terminal.sees("3 connectors shown by /ord", "p pause")
        terminal.press("p")
        terminal.sees("pause 3 connectors? type 3 to continue", "type the number")
        terminal.press("3", "enter")
        terminal.sees("pause 3 connectors: 3 observed")
    assert [cluster.state(name)[:6] for name in names] == ["PAUSED"] * 3
    assert cluster.state(beside) == "RUNNING 1/1"


@contextmanager
def forwarded(url: str) -> Iterator[tuple[Forwarder, asyncio.AbstractEventLoop]]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    forwarder = Forwarder(url)
    asyncio.run_coroutine_threadsafe(forwarder.revive(), loop).result(10)
    yield forwarder, loop
    loop.call_soon_threadsafe(forwarder.die)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)


@pytest.mark.soak
def test_outage(cluster: Cluster, name: str) -> None:
    source(cluster, name)
    cluster.wait(name, "RUNNING 1/1")
    with forwarded(cluster.url) as (worker, loop), job("outage", worker.url) as terminal:
        terminal.sees("● RUNNING")
        loop.call_soon_threadsafe(worker.die)
        terminal.sees("unreachable", "next try in")
        asyncio.run_coroutine_threadsafe(worker.revive(), loop).result(10)
        cluster.request("PUT", f"/connectors/{name}/pause")
        terminal.press("f5")
        terminal.sees("PAUSED", within=15)
        terminal.until(lambda: "unreachable" not in terminal.text, "the end of the outage")


def test_read_only(cluster: Cluster, name: str) -> None:
    source(cluster, name)
    cluster.wait(name, "RUNNING 1/1")
    with job("read-only", *HERE, "--read-only") as terminal:
        terminal.sees("● RUNNING", "read-only")
        terminal.press("p")
        terminal.sees("refused", "is read-only")
    assert cluster.state(name) == "RUNNING 1/1"


@pytest.mark.soak
def test_script(cluster: Cluster, name: str) -> None:
    """Restarts all failed tasks, and ends with 0 when they run."""
    repaired_sink(cluster, name)
    words = shlex.split(SCRIPT)
    program = [str(Path(sys.executable).with_name(words[0])), *words[1:]]
    done = subprocess.run(program, env={**os.environ, "HEADRACE_SETTLE": "2s"}, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    cluster.wait(name, "RUNNING 1/1")
    check("script", len(SCRIPT) + 1)
