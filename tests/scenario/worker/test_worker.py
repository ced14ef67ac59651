"""The worker as its operator sees it over REST: start, states, failures of its processes."""

from __future__ import annotations

import os
import signal
import socket
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker import EmbeddedBroker, KafkaBroker, unique
from tests.support.clusters import rest
from tests.support.clusters.worker_group import QUICK
from tests.support.connect import STRINGS, Connect
from tests.support.free_ports import free_port
from tests.support.kafka import topics
from tests.support.plugins import PLUGINS
from tests.support.processes import alive, children, command_line, is_slot
from tests.support.tasks.pipeline import records
from tests.support.waiting import soon, wait_until
from tests.support.workers import StartWorker, WorkerProcess

COUNTING = "headrace_test_plugins.CountingConnector"
SLOTS = "slots"


@pytest.fixture(scope="module")
def own_connect(module_worker: StartWorker) -> Connect:
    """A worker whose processes, except itself, may be killed."""
    return Connect(module_worker({"plugin.path": PLUGINS}))


@pytest.fixture
def connect(own_connect: Connect) -> Iterator[Connect]:
    yield own_connect
    own_connect.delete_all()


def counting(broker: KafkaBroker, cls: str = COUNTING, **more: str) -> dict[str, str]:
    return {"connector.class": cls, "topic": broker.create_topic(), "tasks.max": "1", **STRINGS, **more}


def test_rest_listens_early_and_answers_503_until_ready(worker: StartWorker, broker: KafkaBroker) -> None:
    process = worker(start=False)
    connect = Connect(process)
    times, codes = [], set()
    for run in range(3):
        started = time.monotonic()
        process.start(wait=False)
        while (code := _health(process.url)) is None:
            time.sleep(0.005)
        times.append(time.monotonic() - started)
        codes.add(code)
        process.wait_healthy()
        if run == 0:
            for i in range(10):
                config = {"connector.class": "FileStreamSource", "file": "/nowhere/x", "topic": "t"}
                connect.create(f"c{i}", config, initial_state="STOPPED")
        assert len(connect.ask("GET", "/connectors")) == 10
        process.stop()
    print(f"\nREST listens after {statistics.median(times):.2f} s (median of 3); first answers {sorted(codes)}")
    assert statistics.median(times) <= soon(1.5)
    assert codes <= {200, 503}


def test_without_a_broker_the_worker_waits_and_reports_it(worker: StartWorker) -> None:
    port = free_port()
    process = worker(bootstrap=f"127.0.0.1:{port}", start=False)
    process.start(wait=False)
    wait_until(lambda: _health(process.url) == 503)
    wait_until(lambda: str(port) in rest.request(f"{process.url}/health")[1]["message"])
    assert process.request("GET", "/connectors")[0] == 503
    assert process.stop() == 0


def test_a_port_in_use_and_invalid_properties_print_one_line(worker: StartWorker, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = worker({"listeners": f"http://127.0.0.1:{port}"}, start=False)
        code, error = _run(process)
        assert code == 2
        assert error == f"headrace worker: port {port} on 127.0.0.1 is in use: " + error.split(": ", 2)[2]
    process = worker({"offset.flush.interval.ms": "soon"}, start=False)
    code, error = _run(process)
    assert (code, error.count("\n")) == (2, 0)
    assert "offset.flush.interval.ms" in error


def test_a_worker_that_is_killed_or_ends_leaves_no_process(worker: StartWorker, broker: KafkaBroker) -> None:
    """A killed worker is replaced at once, since the dead member is removed from the group; one that is ended by
    SIGTERM leaves its connectors UNASSIGNED."""
    process = worker({"plugin.path": PLUGINS})
    connect = Connect(process)
    connect.create("count", counting(broker))
    connect.wait("count", "RUNNING", ["RUNNING"])
    family = children(process.pid)
    process.kill()
    wait_until(lambda: not any(alive(p) for p in family), 30, "the dead worker's children end")
    started = time.monotonic()
    process.start()
    connect.wait("count", "RUNNING", ["RUNNING"])
    print(f"\nRUNNING {time.monotonic() - started:.1f} s after the start")
    family = children(process.pid)
    assert process.stop() == 0
    wait_until(lambda: not any(alive(p) for p in family), 30, "all children end with the worker")
    last = dict(topics.pairs(broker.bootstrap, process.properties["status.storage.topic"]))
    for key in (b"status-connector-count", b"status-task-count-0"):
        assert b'"state":"UNASSIGNED"' in (last[key] or b"")


def test_resume_runs_within_100_ms(connect: Connect, broker: KafkaBroker) -> None:
    connect.create("count", counting(broker))
    connect.wait("count", "RUNNING", ["RUNNING"])
    times = []
    for _ in range(10):
        connect.stop("count")
        started = time.monotonic()
        connect.put("count", "resume")
        wait_until(lambda: connect.states("count") == ("RUNNING", ["RUNNING"]), every=0.002)
        times.append(time.monotonic() - started)
    middle, p95 = statistics.median(times), sorted(times)[-1]
    print(f"\nresume → RUNNING: p50 {middle * 1000:.0f} ms, max {p95 * 1000:.0f} ms")
    assert middle <= soon(0.1)


def test_a_task_fails_alone(connect: Connect, broker: KafkaBroker) -> None:
    connect.create("good", counting(broker))
    connect.create("bad", counting(broker, **{"fail.at": "3"}))
    connect.wait("bad", "RUNNING", ["FAILED"])
    trace = connect.status("bad")["tasks"][0]["trace"]
    assert "RuntimeError: failed at 3 as configured" in trace
    assert "headrace_test_plugins.py" in trace
    assert connect.states("good") == ("RUNNING", ["RUNNING"])
    wait_until(
        lambda: connect.offsets("bad") == [{"partition": {"counter": _topic(connect, "bad")}, "offset": {"n": 3}}]
    )
    connect.ask("POST", "/connectors/bad/restart?includeTasks=true&onlyFailed=true")
    connect.wait("bad", "RUNNING", ["FAILED"])
    connect.ask("PUT", "/connectors/bad/config", {**connect.ask("GET", "/connectors/bad/config"), "fail.at": "-1"})
    connect.wait("bad", "RUNNING", ["RUNNING"])


@pytest.mark.parametrize(
    "victim",
    [
        SLOTS,
        "runtime.engine.driver.driver",
        pytest.param("java", marks=pytest.mark.soak),
        "runtime.host",
    ],
)
def test_killed_processes_are_replaced(victim: str, connect: Connect, broker: KafkaBroker) -> None:
    """All slots, the driver, its JVM, the plugin host: tasks are RUNNING again automatically, after the death of slots
    within five seconds, and no number is lost."""
    config = counting(broker)
    connect.create("count", config)
    connect.wait("count", "RUNNING", ["RUNNING"])
    wait_until(lambda: topics.count(broker.bootstrap, config["topic"]) > 50)
    below = children(connect.worker.pid)
    slots, named = [pid for pid in below if is_slot(pid)], [pid for pid in below if victim in command_line(pid)]
    started = time.monotonic()
    for pid in slots if victim == SLOTS else named[-1:]:
        os.kill(pid, signal.SIGKILL)
    before = topics.count(broker.bootstrap, config["topic"])
    within = soon(5) if victim == SLOTS else 60
    wait_until(lambda: topics.count(broker.bootstrap, config["topic"]) > before + 100, within)
    connect.wait("count", "RUNNING", ["RUNNING"])
    print(f"\n{victim}: data flows on {time.monotonic() - started:.1f} s after the kill")
    connect.stop("count")
    _assert_no_number_is_missing(broker, config["topic"])


def test_nothing_is_lost_while_the_broker_is_unavailable(worker: StartWorker, own_broker: EmbeddedBroker) -> None:
    connect = Connect(worker({"plugin.path": PLUGINS, **QUICK}, bootstrap=own_broker.bootstrap))
    config = counting(own_broker)
    connect.create("count", config)
    wait_until(lambda: topics.count(own_broker.bootstrap, config["topic"]) > 50, 60)
    own_broker.kill()
    wait_until(lambda: _health(connect.worker.url) == 500, 30)
    connect.wait("count", "RUNNING", ["UNASSIGNED"], 60)  # the slots' leases have expired with the membership
    own_broker.start()
    wait_until(lambda: _health(connect.worker.url) == 200, 60)
    before = topics.count(own_broker.bootstrap, config["topic"])
    wait_until(lambda: topics.count(own_broker.bootstrap, config["topic"]) > before + 100, 60)
    connect.stop("count")
    _assert_no_number_is_missing(own_broker, config["topic"])


def test_a_full_disk_fails_the_sink_and_names_the_file(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    source, topic = tmp_path / "in.txt", broker.create_topic()
    source.write_text("one\ntwo\n")
    connect.source("src", str(source), topic)
    snk = unique("snk")
    connect.create(snk, {"connector.class": "FileStreamSink", "file": "/dev/full", "topics": topic, **STRINGS})
    connect.wait(snk, "RUNNING", ["FAILED"])
    trace = connect.status(snk)["tasks"][0]["trace"]
    assert "No space left on device" in trace
    assert "/dev/full" in trace
    assert all(o["offset"]["kafka_offset"] == 0 for o in connect.offsets(snk))


def _assert_no_number_is_missing(broker: KafkaBroker, topic: str) -> None:
    numbers = [int(value) for _, value in records(broker, topic) if value is not None]
    assert sorted(set(numbers)) == list(range(max(numbers) + 1))


def _topic(connect: Connect, name: str) -> str:
    topic: str = connect.ask("GET", f"/connectors/{name}/config")["topic"]
    return topic


def _health(url: str) -> int | None:
    try:
        return rest.request(f"{url}/health", timeout=5)[0]
    except OSError:
        return None


def _run(process: WorkerProcess, timeout: float = 60) -> tuple[int, str]:
    """Exit code and last line on standard error of a worker that fails to start."""
    result = subprocess.run(process.command, capture_output=True, text=True, timeout=timeout, check=False)
    return result.returncode, result.stderr.strip().splitlines()[-1]
