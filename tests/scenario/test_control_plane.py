"""The control plane of a real worker: topics created by sources, offset topics of connectors, config providers,
restarts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import topics
from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

StartWorker = Callable[..., WorkerProcess]
T = "topic.creation."
DEFAULT = {f"{T}default.partitions": "2", f"{T}default.replication.factor": "1"}


def source(file: Path, topic: str, **more: str) -> dict[str, str]:
    file.write_text("a\nb\n")
    return {"connector.class": "FileStreamSource", "file": str(file), "topic": topic, **STRINGS, **more}


def committed(connect: Connect, name: str) -> None:
    """Waits until all lines of the file have been written, so that the topic exists."""
    wait_until(lambda: [e["offset"] for e in connect.offsets(name)] == [{"position": 4}], 30, f"offsets of {name}")


def partitions(broker: KafkaBroker, topic: str) -> int:
    return len(_admin(broker).list_topics(timeout=10).topics[topic].partitions)


def setting(broker: KafkaBroker, topic: str, name: str) -> str:
    from confluent_kafka.admin._config import ConfigResource

    admin = _admin(broker)  # kept: a client that is deallocated drops its unanswered requests
    (asked,) = admin.describe_configs([ConfigResource("topic", topic)]).values()
    return str(asked.result(10)[name].value)


def _admin(broker: KafkaBroker) -> Any:
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": broker.bootstrap})


def test_sources_create_topics_with_the_settings_of_their_groups(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    name = unique("made")
    groups = {
        f"{T}groups": "wide,narrow",
        f"{T}wide.include": f"{name}-w.*",
        f"{T}wide.exclude": ".*-not",
        f"{T}wide.partitions": "4",
        f"{T}wide.retention.ms": "77777",
        f"{T}narrow.include": ".*-w-not",
        f"{T}narrow.partitions": "3",
    }
    expected = {f"{name}-w": 4, f"{name}-w-not": 3, f"{name}-other": 2}
    for topic in expected:
        connect.create(topic, source(tmp_path / topic, topic, **DEFAULT, **groups))
    for topic, count in expected.items():
        committed(connect, topic)
        assert topics.values(broker.bootstrap, topic, 2) in ([b"a", b"b"], [b"b", b"a"])
        assert partitions(broker, topic) == count
    assert setting(broker, f"{name}-w", "retention.ms") == "77777"


@pytest.mark.parametrize(
    ("settings", "state", "reason"),
    [
        ({f"{T}default.partitions": "2"}, ("FAILED", []), f"{T}default.replication.factor"),
        ({**DEFAULT, f"{T}default.replication.factor": "0"}, ("FAILED", []), "Invalid value 0"),
        ({**DEFAULT, f"{T}default.replication.factor": "9"}, ("RUNNING", ["FAILED"]), "Unable to create topic(s)"),
        ({**DEFAULT, f"{T}default.cleanup.policy": "moon"}, ("RUNNING", ["FAILED"]), "cleanup.policy"),
    ],
)
def test_invalid_topic_creation_fails_the_connector_or_the_task(
    connect: Connect, tmp_path: Path, settings: dict[str, str], state: Any, reason: str
) -> None:
    connect.create("c", source(tmp_path / "in", unique("t"), **settings))
    wait_until(lambda: connect.states("c") == state, 30, f"the state {state}")
    assert reason in str(connect.ask("GET", "/connectors/c/status"))


def test_topic_creation_can_be_switched_off(worker: StartWorker, broker: KafkaBroker, tmp_path: Path) -> None:
    connect, topic = Connect(worker({"topic.creation.enable": "false"})), unique("t")
    connect.create("c", source(tmp_path / "in", topic, **{**DEFAULT, f"{T}default.partitions": "5"}))
    committed(connect, "c")
    assert topics.values(broker.bootstrap, topic, 2) == [b"a", b"b"]
    assert partitions(broker, topic) == 1


def test_a_connector_may_have_its_own_offset_topic(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    """Offsets are read, altered and reset in the connector's topic; a copy is written to the worker's topic, so that
    the connector can return to it."""
    own, topic, file = unique("own-offsets"), unique("t"), tmp_path / "in"
    config = source(file, topic, **{"offsets.storage.topic": own})
    connect.create("c", config)
    position = {"partition": {"filename": str(file)}, "offset": {"position": 4}}
    wait_until(lambda: connect.ask("GET", "/connectors/c/offsets") == {"offsets": [position]}, 30, "the offset")
    assert topics.values(broker.bootstrap, own, 1) == [b'{"position":4}']
    connect.stop("c")
    connect.ask("PATCH", "/connectors/c/offsets", {"offsets": [{**position, "offset": {"position": 2}}]})
    connect.put("c", "resume")
    assert topics.values(broker.bootstrap, topic, 3) == [b"a", b"b", b"b"]
    connect.stop("c")
    connect.ask("PUT", "/connectors/c/config", {k: v for k, v in config.items() if k != "offsets.storage.topic"})
    assert connect.ask("GET", "/connectors/c/offsets") == {"offsets": [position]}
    connect.ask("PUT", "/connectors/c/config", config)
    connect.ask("DELETE", "/connectors/c/offsets")
    assert connect.ask("GET", "/connectors/c/offsets") == {"offsets": []}


def test_a_source_with_its_own_producer_commits_to_the_workers_topic(connect: Connect, tmp_path: Path) -> None:
    """Records may go to another cluster; offsets stay in the worker's. Settings without an equivalent are logged."""
    overrides = {"producer.override.linger.ms": "1", "producer.override.interceptor.classes": "a.B"}
    connect.create("c", source(tmp_path / "in", unique("t"), **overrides))
    committed(connect, "c")
    assert "interceptor.classes" in str(connect.ask("GET", "/connectors/c/logs"))
    connect.create("d", source(tmp_path / "in", unique("t"), **{"producer.override.compression.type": "zip"}))
    wait_until(lambda: connect.states("d") == ("RUNNING", ["FAILED"]), 30, "a client that cannot be created")
    assert "Invalid value zip for configuration compression.type" in str(connect.status("d"))


def test_values_of_config_providers_are_used_but_never_stored(
    worker: StartWorker, broker: KafkaBroker, tmp_path: Path
) -> None:
    """The values reach the topic of the records, but not the config topic, answers or the log."""
    topic, file, vault = unique("secret-topic"), tmp_path / "in", tmp_path / "vault"
    vault.mkdir()
    (vault / "x.properties").write_text(f"topic={topic}\n")
    provider = "org.apache.kafka.common.config.provider.FileConfigProvider"
    providers = {
        "config.providers": "file",
        "config.providers.file.class": provider,
        "config.providers.file.param.allowed.paths": str(vault),
    }
    process = worker(providers)
    connect, variable = Connect(process), f"${{file:{vault}/x.properties:topic}}"
    config = source(file, variable)
    connect.create("c", config)
    committed(connect, "c")
    assert topics.values(broker.bootstrap, topic, 2) == [b"a", b"b"]
    assert connect.ask("GET", "/connectors/c")["config"]["topic"] == variable
    assert connect.ask("GET", "/connectors/c/tasks")[0]["config"]["topic"] == variable
    answer = connect.ask("PUT", "/connector-plugins/FileStreamSource/config/validate", {**config, "name": "c"})
    assert {c["value"]["name"]: c["value"]["value"] for c in answer["configs"]}["topic"] == variable
    stored = topics.values(broker.bootstrap, process.properties["config.storage.topic"], 3, 5.0)
    assert len(stored) >= 3
    assert not [v for v in stored if v and topic.encode() in v]
    assert topic not in process.log.read_text()
    refused = {"name": "d", "config": source(file, "${file:/etc/passwd:root}")}
    code, body = process.request("POST", "/connectors", refused)
    assert (code, "allowed.paths" in body["message"]) == (400, True)


def test_a_restart_request_in_the_config_topic_is_carried_out(
    worker: StartWorker, broker: KafkaBroker, tmp_path: Path
) -> None:
    """The request of another worker of the cluster; the status topic shows RESTARTING until it is carried out."""
    from confluent_kafka import Producer

    process = worker()
    connect = Connect(process)
    connect.source("c", _file(tmp_path), unique("t"))
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    request = b'{"include-tasks":true,"only-failed":false}'
    producer.produce(process.properties["config.storage.topic"], request, b"restart-connector-c")
    assert producer.flush(10) == 0
    statuses = process.properties["status.storage.topic"]

    def states() -> dict[bytes, list[str]]:
        found: dict[bytes, list[str]] = {}
        for key, value in topics.pairs(broker.bootstrap, statuses):
            if value and key and b"topic" not in key:
                found.setdefault(key, []).append(json.loads(value)["state"])
        return found

    def restarted() -> bool:
        return all(s[-2:] == ["RESTARTING", "RUNNING"] for s in states().values())

    wait_until(restarted, 20, "RESTARTING and RUNNING", every=0.5)
    assert states().keys() == {b"status-connector-c", b"status-task-c-0"}
    connect.wait("c", "RUNNING", ["RUNNING"])


def test_connectors_of_a_stopped_worker_are_unassigned(
    worker: StartWorker, broker: KafkaBroker, tmp_path: Path
) -> None:
    process = worker()
    Connect(process).source("c", _file(tmp_path), unique("t"))
    assert process.stop() == 0
    last = dict(topics.pairs(broker.bootstrap, process.properties["status.storage.topic"]))
    for key in (b"status-connector-c", b"status-task-c-0"):
        assert b'"state":"UNASSIGNED"' in (last[key] or b"")


def _file(folder: Path) -> str:
    (folder / "in").write_text("a\n")
    return str(folder / "in")


@pytest.mark.parametrize(
    ("policy", "refused"),
    [
        ("All", []),
        ("Principal", ["producer.override.linger.ms"]),
        (
            "org.apache.kafka.connect.connector.policy.NoneConnectorClientConfigOverridePolicy",
            ["producer.override.linger.ms", "producer.override.sasl.mechanism"],
        ),
    ],
)
def test_policies_of_client_overrides(worker: StartWorker, tmp_path: Path, policy: str, refused: list[str]) -> None:
    process = worker({"connector.client.config.override.policy": policy, "headrace.file.paths": str(tmp_path)})
    overrides = {"producer.override.linger.ms": "5", "producer.override.sasl.mechanism": "PLAIN"}
    config = source(tmp_path / "in", "t", name="c", **overrides)
    _, answer = process.request("PUT", "/connector-plugins/FileStreamSource/config/validate", config)
    found = {c["value"]["name"]: c["value"]["errors"] for c in answer["configs"] if c["value"]["errors"]}
    name = policy.rpartition(".")[2].removesuffix("ConnectorClientConfigOverridePolicy")
    message = "The '{}' policy does not allow '{}' to be overridden in the connector configuration."
    assert found == {key: [message.format(name, key[18:])] for key in refused}
    assert answer["error_count"] == len(refused)
    wrong = {**source(tmp_path / "in", "t"), "producer.override.linger.ms": "soon"}
    assert process.request("PUT", "/connectors/d/config", wrong)[0] == 400
    sink = {"connector.class": "FileStreamSink", "file": str(tmp_path / "out"), "topics": "t"}
    grouped = {**sink, "consumer.override.group.id": process.properties["group.id"]}
    assert process.request("PUT", "/connectors/s/config", grouped)[0] == 400
    code, body = process.request("PUT", "/connectors/s/config", {**sink, "file": "/etc/passwd"})
    assert (code, "headrace.file.paths" in body["message"]) == (400, True)
    spark = {"connector.class": "SparkSink", "spark.path": "/etc", "topics": "t"}
    code, body = process.request("PUT", "/connectors/s/config", spark)
    assert (code, "configuration spark.path: not below one of headrace.file.paths" in body["message"]) == (400, True)


def test_a_connector_has_a_status_as_long_as_it_exists(connect: Connect, tmp_path: Path) -> None:
    for _ in range(5):
        name = unique("shown")
        connect.create(name, source(tmp_path / "in", name), initial_state="STOPPED")
        assert connect.ask("GET", f"/connectors/{name}/status")["connector"]["state"] == "STOPPED"
        connect.ask("DELETE", f"/connectors/{name}")
        assert connect.worker.request("GET", f"/connectors/{name}/status")[0] == 404
