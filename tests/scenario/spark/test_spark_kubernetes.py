"""Slots in the pods of a real Kubernetes cluster."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON_VALUES, Connect
from tests.support.engine.kubernetes_cluster import NEEDED, Namespace, kubernetes_namespace
from tests.support.kafka.committed import committed
from tests.support.servers.http_endpoint import HttpTestServer, Received, http_server
from tests.support.waiting import wait_until
from tests.support.workers import our_worker

_MISSING = [name for name in NEEDED if not os.environ.get(name)]
pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(bool(_MISSING), reason=f"needs a Kubernetes cluster: set {', '.join(_MISSING)}"),
]

COUNT, RATE = 12_000, 100
PASSWORD = "the-password-of-the-sink"
DYNAMIC = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.maxExecutors": "4",
}


@pytest.fixture
def namespace(tmp_path: Path) -> Iterator[Namespace]:
    with kubernetes_namespace(tmp_path / "kubernetes") as namespace:
        yield namespace


@contextmanager
def started(folder: Path, broker: KafkaBroker, namespace: Namespace, own: Mapping[str, str]) -> Iterator[Connect]:
    """A worker whose slots run in pods of the namespace; when it has stopped, none of them remains."""
    worker = our_worker(folder, broker.bootstrap, {**namespace.properties, **own})
    worker.start(180)
    try:
        yield Connect(worker)
        print(worker.log.read_text())
    finally:
        worker.stop(60)
    wait_until(lambda: not namespace.pods(), 60, "no pods of executors")


def test_records_move_while_pods_are_deleted(tmp_path: Path, broker: KafkaBroker, namespace: Namespace) -> None:
    numbers: Counter[int] = Counter()
    lock = threading.Lock()

    def take(request: Received) -> tuple[int, Mapping[str, str], str]:
        with lock:
            numbers.update(row["n"] for row in request.json)
        return 200, {}, ""

    (tmp_path / "http.properties").write_text(f"password={PASSWORD}\n")
    own = {
        "headrace.slots": "2", "exactly.once.source.support": "enabled",
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    }  # fmt: skip
    with http_server(take, host=namespace.host) as target, started(tmp_path, broker, namespace, own) as connect:
        topic, source, sink = broker.create_topic(), unique("source"), unique("sink")
        connect.create(source, _source(topic))
        connect.create(sink, _sink(topic, target, tmp_path))
        for name in (source, sink):
            connect.wait(name, "RUNNING", ["RUNNING"], 300)
        _check_secrets(namespace)
        victims = [(source, namespace.kill), (sink, namespace.kill), (source, namespace.drain), (sink, namespace.drain)]
        for name, delete in victims:
            wait_until(partial(_more, numbers, len(numbers) + RATE), 120, "records in the sink")
            pod = _pod_of(connect, name)
            assert pod in [found["metadata"]["name"] for found in namespace.pods()]
            delete(pod)
            wait_until(partial(_has_moved, connect, name, pod), 300, f"{name} in another pod")
        wait_until(lambda: len(numbers) == COUNT, 600, "all records in the sink", every=1.0)
        written = [json.loads(message.value())["n"] for message in committed(broker, topic)]
        assert sorted(written) == list(range(COUNT)), "each record exactly once in Kafka"
        assert sorted(numbers) == list(range(COUNT)), "none lost on the way to the sink"
        log = connect.worker.log.read_text()
        assert "decommissioned" in log
        assert f"[{sink}|task-0]" in log, "the log lines of a slot in a pod"
        assert PASSWORD not in log
        assert namespace.secret not in log


def _source(topic: str) -> dict[str, str]:
    return {
        "connector.class": "Datagen", "topic": topic, "fields": '{"n": "sequence"}', "count": str(COUNT),
        "rate": str(RATE), "exactly.once.support": "required", "tasks.max": "1", **JSON_VALUES,
    }  # fmt: skip


def _sink(topic: str, target: HttpTestServer, folder: Path) -> dict[str, str]:
    return {
        "connector.class": "HttpSink", "topics": topic, "http.url": target.url, "http.auth.type": "bearer",
        "http.auth.token": f"${{file:{folder}/http.properties:password}}", "tasks.max": "1", **JSON_VALUES,
    }  # fmt: skip


def _pod_of(connect: Connect, name: str) -> str:
    """The pod in which the task runs; empty while it does not."""
    status, answer = connect.request("GET", f"/connectors/{name}/tasks/0/stack")
    return str(answer["host"]) if status == 200 else ""


def _has_moved(connect: Connect, name: str, pod: str) -> bool:
    return _pod_of(connect, name) not in ("", pod)


def _more(numbers: Counter[int], than: int) -> bool:
    return len(numbers) > than


def _check_secrets(namespace: Namespace) -> None:
    """Neither the secret of Spark's RPC nor those of connectors are readable in the namespace's objects."""
    objects = namespace.kubectl("get", "pods,configmaps,events", "--output=json")
    assert namespace.secret not in objects
    assert PASSWORD not in objects
    names = {value["name"] for pod in namespace.pods() for value in pod["spec"]["containers"][0]["env"]}
    assert not [name for name in names if "TOKEN" in name or "HEADRACE" in name]


def test_a_dedicated_slot_gets_a_pod_of_its_size(tmp_path: Path, broker: KafkaBroker, namespace: Namespace) -> None:
    with started(tmp_path, broker, namespace, {"headrace.slots": "1", **DYNAMIC}) as connect:
        name = unique("large")
        size = {"headrace.isolation": "dedicated", "headrace.executor.memory.mb": "220"}
        connect.create(name, _source(broker.create_topic()) | {"exactly.once.support": "requested"} | size)
        connect.wait(name, "RUNNING", ["RUNNING"], 300)
        memory = {pod["metadata"]["name"]: _memory(pod) for pod in namespace.pods()}
        assert memory.pop(_pod_of(connect, name)) == "700Mi", "480 MB of heap and 220 MB"
        assert "864Mi" in memory.values(), "480 MB of heap and Spark's default overhead"
        connect.ask("DELETE", f"/connectors/{name}")
        wait_until(lambda: [_memory(pod) for pod in namespace.pods()] == ["864Mi"], 240, "one executor")


def _memory(pod: dict[str, Any]) -> Any:
    return pod["spec"]["containers"][0]["resources"]["requests"]["memory"]


def test_slots_whose_pods_cannot_be_scheduled_wait_for_a_core(
    tmp_path: Path, broker: KafkaBroker, namespace: Namespace
) -> None:
    nowhere = {"headrace.slots": "1", "spark.kubernetes.node.selector.headrace": "nowhere"}
    with started(tmp_path, broker, namespace, nowhere) as connect:
        name = unique("waiting")
        connect.create(name, _source(broker.create_topic()) | {"exactly.once.support": "requested"})
        wait_until(partial(_waits, connect, name), 120, "the reason in the task's status")
        assert connect.ask("GET", "/workers")["workers"][0]["slots_without_core"] == [0]
        assert "Slot(s) 0 wait for a core: no executor of k8s://" in connect.worker.log.read_text()


def _waits(connect: Connect, name: str) -> bool:
    tasks = connect.status(name)["tasks"]
    return bool(tasks) and "Waiting for a core" in tasks[0].get("trace", "")
