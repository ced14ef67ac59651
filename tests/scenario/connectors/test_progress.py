"""Progress of connectors: GET /metrics, progress events, STALLED, and the expiry of stopped sinks' offsets."""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from runtime.kafka.positions import Positions
from tests.support.broker import KafkaBroker, unique
from tests.support.clusters.events import Follower
from tests.support.connect import JSON, SINK, STRINGS, Connect
from tests.support.kafka import topics, transactions
from tests.support.packages.debian import PackageMissing, installed, skip_unless_ci
from tests.support.plugins import PLUGINS
from tests.support.waiting import soon, wait_until
from tests.support.workers import StartWorker

_SAMPLE = re.compile(r"([a-z_]+)(?:\{(.*)\})? (-?[0-9.]+)")
_NAMED_BY_APACHE = re.compile(r"kafka_connect_worker_metrics_\w+_count .* should not have \"_count\" suffix")
_WEEK = 7 * 24 * 3_600_000


@pytest.fixture(scope="module")
def connect(module_worker: StartWorker) -> Connect:
    quick = {"headrace.stalled.ms": "1500", "headrace.progress.interval.ms": "300", "offset.flush.interval.ms": "300"}
    return Connect(module_worker({"plugin.path": PLUGINS, **quick}))


@pytest.fixture
def follower(connect: Connect) -> Follower:
    return Follower(connect.worker.url)


def metrics(connect: Connect) -> dict[str, dict[str, float]]:
    """Metric values by family and labels."""
    found: dict[str, dict[str, float]] = {}
    for line in metrics_text(connect).splitlines():
        if not line.startswith("#"):
            match = _SAMPLE.fullmatch(line)
            assert match is not None, line
            found.setdefault(match[1], {})[match[2] or ""] = float(match[3])
    return found


def metrics_text(connect: Connect) -> str:
    with urllib.request.urlopen(f"{connect.worker.url}/metrics", timeout=30) as answer:
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        return str(answer.read().decode())


def test_metrics_of_a_source(connect: Connect, broker: KafkaBroker, follower: Follower) -> None:
    name, topic = unique("src"), broker.create_topic()
    config = {"connector.class": "headrace_test_plugins.CountingConnector", "topic": topic, **STRINGS}
    connect.create(name, config)
    topics.values(broker.bootstrap, topic, 5)
    task = f'connector="{name}",task="0"'

    def all_counted() -> bool:
        now = metrics(connect)
        written = now.get("kafka_connect_source_task_metrics_source_record_write_total", {}).get(task, 0)
        commits = now.get("kafka_connect_connector_task_metrics_offset_commit_success_total", {}).get(task, 0)
        return written >= 5 and commits >= 1

    wait_until(all_counted, 120)  # Spark may still be starting
    now = metrics(connect)
    read = now["kafka_connect_source_task_metrics_source_record_poll_total"][task]
    assert read >= now["kafka_connect_source_task_metrics_source_record_write_total"][task]
    assert now["kafka_connect_source_task_metrics_poll_batch_max_time_ms"][task] > 0
    assert now["kafka_connect_connector_task_metrics_status"][f'{task},status="running"'] == 1
    assert now["kafka_connect_worker_metrics_connector_running_task_count"][f'connector="{name}"'] == 1
    assert now["kafka_connect_worker_metrics_connector_count"][""] >= 1
    assert now["headrace_worker_ready"][""] == 1
    assert now["headrace_slots"][""] >= 1
    wait_until(lambda: any(p["written"] >= 5 and p["age_ms"] is not None for p in follower.progress(name)))
    connect.ask("POST", f"/connectors/{name}/tasks/0/restart")
    wait_until(lambda: metrics(connect)["headrace_task_restarts_total"].get(task) == 1)
    after = metrics(connect)["kafka_connect_source_task_metrics_source_record_poll_total"][task]
    assert after >= read  # counters survive a restart
    connect.ask("DELETE", f"/connectors/{name}")
    wait_until(lambda: name not in str(metrics(connect)))


def test_metrics_of_errors_by_stage(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    name, topic = unique("snk"), broker.create_topic()
    broker.produce(topic, *[b"no json"] * 3)
    config = {"connector.class": SINK, "file": str(tmp_path / "out"), "topics": topic, **STRINGS}
    connect.create(name, {**config, "value.converter": JSON, "errors.tolerance": "all"})
    task = f'connector="{name}",task="0"'
    skipped = f'{task},stage="VALUE_CONVERTER"'
    wait_until(lambda: metrics(connect).get("headrace_errors_skipped_total", {}).get(skipped) == 3)
    assert metrics(connect)["kafka_connect_task_error_metrics_total_records_skipped"][task] == 3
    connect.ask("DELETE", f"/connectors/{name}")


def test_a_sink_without_progress_is_stalled(
    connect: Connect, broker: KafkaBroker, follower: Follower, tmp_path: Path
) -> None:
    name, topic, gate = unique("snk"), broker.create_topic(), tmp_path / "gate"
    broker.produce(topic, *[b"x"] * 7)
    config = {"connector.class": "headrace_test_plugins.GatedSinkConnector", "gate": str(gate), "topics": topic}
    connect.create(name, {**config, **STRINGS})
    wait_until(lambda: "is STALLED" in follower.notices(name))
    task = f'connector="{name}",task="0"'
    assert connect.states(name) == ("RUNNING", ["RUNNING"])
    assert connect.ask("GET", f"/connectors/{name}/offsets?detail=true")["stalled"] == [0]
    assert metrics(connect)["headrace_task_stalled"][task] == 1
    assert metrics(connect)["headrace_sink_record_lag"][task] > 0
    wait_until(lambda: any(p["lag"]["records"] > 0 for p in follower.progress(name)))
    gate.touch()
    wait_until(lambda: "is no longer stalled" in follower.notices(name))
    sent = "kafka_connect_sink_task_metrics_sink_record_send_total"
    wait_until(lambda: metrics(connect)[sent].get(task) == 7)
    wait_until(lambda: follower.progress(name)[-1]["lag"] == {"records": 0, "ms": 0})
    assert metrics(connect)["headrace_task_stalled"][task] == 0
    snapshot = Follower(connect.worker.url)
    wait_until(lambda: snapshot.of("snapshot"))
    assert snapshot.of("snapshot")[0]["progress"][name]["written"] == 7
    connect.ask("DELETE", f"/connectors/{name}")


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_markers_and_aborted_records_are_not_lag(
    connect: Connect, broker: KafkaBroker, follower: Follower, tmp_path: Path, isolation: str
) -> None:
    """The last offset of a topic that is written in transactions is a marker, which no sink receives."""
    name, topic = unique("snk"), broker.create_topic()
    transactions.open_transaction(broker.bootstrap, topic, (b"k", b"committed")).commit_transaction(20)
    transactions.open_transaction(broker.bootstrap, topic, (b"k", b"aborted")).abort_transaction(20)
    config = {"connector.class": SINK, "file": str(tmp_path / "out"), "topics": topic, **STRINGS}
    connect.create(name, {**config, "consumer.override.isolation.level": isolation})

    def detail() -> Any:
        return connect.ask("GET", f"/connectors/{name}/offsets?detail=true")["offsets"]

    last = 1 if isolation == "read_committed" else 3
    wait_until(lambda: [entry["offset"]["kafka_offset"] for entry in detail()] == [last], 120)  # Spark may be starting
    wait_until(lambda: [entry["lag"] for entry in detail()] == [{"records": 0, "ms": 0}])
    assert [entry["end"] for entry in detail()] == [4]
    wait_until(lambda: [p["lag"] for p in follower.progress(name)][-1:] == [{"records": 0, "ms": 0}])
    connect.stop(name)
    transactions.open_transaction(broker.bootstrap, topic, (b"k", b"next")).commit_transaction(20)
    wait_until(lambda: detail()[0]["lag"]["records"] > 0)
    assert detail()[0]["lag"]["ms"] > 0
    connect.ask("DELETE", f"/connectors/{name}?offsets=true")


async def test_the_next_record_behind_markers_is_found_without_the_clients_backoff(broker: KafkaBroker) -> None:
    """librdkafka waits a second when its queue is full, and markers and the end of a partition fill it, too."""
    topic = broker.create_topic()
    transactions.open_transaction(broker.bootstrap, topic, (b"k", b"aborted")).abort_transaction(20)
    positions, seconds = Positions({"bootstrap.servers": broker.bootstrap}), []
    for _ in range(9):
        started = time.monotonic()
        assert await positions.next_records({(topic, 0): 0}, "read_committed") == {(topic, 0): None}
        seconds.append(time.monotonic() - started)
    quickest = min(seconds)  # long on a busy machine, as the others are
    assert quickest < soon(0.5)
    assert statistics.median(seconds) < quickest + 0.7, "most requests have waited"


def test_the_expiry_of_a_stopped_sinks_offsets_is_reported(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    name, topic = unique("snk"), broker.create_topic()
    broker.produce(topic, b"x")
    connect.sink(name, str(tmp_path / "out"), topic)
    wait_until(lambda: connect.offsets(name))

    def expires_at() -> int | None:
        found: int | None = connect.ask("GET", f"/connectors/{name}/offsets?detail=true")["expires_at"]
        return found

    assert expires_at() is None
    connect.stop(name)
    stopped = expires_at()
    now = int(time.time() * 1000)
    assert stopped is not None
    assert now + _WEEK - 120_000 < stopped <= now + _WEEK + 10_000  # the brokers' default
    connect.alter(name, ({"kafka_topic": topic, "kafka_partition": 0}, {"kafka_offset": 0}))
    assert (expires_at() or 0) > stopped
    connect.ask("DELETE", f"/connectors/{name}?offsets=true")


def test_a_rate_limit_is_shown_and_changes_while_the_task_runs(
    connect: Connect, broker: KafkaBroker, follower: Follower, tmp_path: Path
) -> None:
    topic, file = broker.create_topic(), tmp_path / "out"
    broker.produce(topic, *(b"line" for _ in range(2_000)))
    name = unique("limited")
    connect.sink(name, str(file), topic, **{"headrace.rate.records": "10"})
    limit = {"records": 10, "bytes": None}
    wait_until(lambda: any(p["limit"] == limit and p["throttled_ms"] > 0 for p in follower.progress(name)), 60)
    assert len(file.read_bytes().splitlines()) < 1_000
    connect.ask("PATCH", f"/connectors/{name}/config", {"headrace.rate.records": "100000"})
    wait_until(lambda: len(file.read_bytes().splitlines()) == 2_000, 60)
    now, task = metrics(connect), f'connector="{name}",task="0"'
    assert now["headrace_task_restarts_total"][task] == 0
    assert now["headrace_rate_limit_records"][f'connector="{name}"'] == 100_000
    assert now["headrace_task_throttled_seconds_total"][task] > 0
    status, answer = connect.request("PATCH", f"/connectors/{name}/config", {"headrace.rate.records": "fast"})
    assert status == 400
    assert "headrace.rate.records" in answer["message"]


@pytest.mark.soak
def test_promtool_objects_only_to_names_that_apaches_metrics_have(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    """Dashboards use `connector-count` and its like in snake case, although a gauge should have no suffix `_count`."""
    try:
        promtool = installed(lambda: shutil.which("promtool"), "prometheus")
    except PackageMissing as missing:
        skip_unless_ci(missing)
    topic, source, sink = broker.create_topic(), unique("source"), unique("sink")
    connect.create(source, {"connector.class": "headrace_test_plugins.CountingConnector", "topic": topic, **STRINGS})
    connect.sink(sink, str(tmp_path / "out"), topic)
    wait_until(lambda: (tmp_path / "out").exists() and (tmp_path / "out").stat().st_size > 0)
    text = metrics_text(connect)
    assert f'connector="{source}"' in text
    assert f'connector="{sink}"' in text
    found = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
    objections = [line for line in found.stderr.splitlines() if not _NAMED_BY_APACHE.match(line)]
    assert (objections, found.stdout) == ([], "")
