"""The control plane of a real worker: topics created by sources, offset topics of connectors, config providers,
restarts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.kafka import topics
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

T = "topic.creation."
DEFAULT = {f"{T}default.partitions": "2", f"{T}default.replication.factor": "1"}
NO_OVERRIDES = "org.apache.kafka.connect.connector.policy.NoneConnectorClientConfigOverridePolicy"


@pytest.fixture(scope="module")
def restricted(module_worker: StartWorker, tmp_path_factory: pytest.TempPathFactory) -> Connect:
    """A worker that restricts connectors: to files of the tests, without settings for topics and clients; a config
    provider reads the same files."""
    files = str(tmp_path_factory.getbasetemp())
    properties = {
        "headrace.file.paths": files,
        "topic.creation.enable": "false",
        "connector.client.config.override.policy": NO_OVERRIDES,
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "config.providers.file.param.allowed.paths": files,
    }
    return Connect(module_worker(properties))


def source(file: Path, topic: str, **more: str) -> dict[str, str]:
    file.write_text("a\nb\n")
    return {"connector.class": "FileStreamSource", "file": str(file), "topic": topic, **STRINGS, **more}


def committed(connect: Connect, name: str) -> None:
    """Waits until all lines of the file have been written, so that the topic exists."""
    wait_until(lambda: [e["offset"] for e in connect.offsets(name)] == [{"position": 4}], 60, f"offsets of {name}")


def partitions(broker: KafkaBroker, topic: str) -> int:
    return len(_admin(broker).list_topics(timeout=10).topics[topic].partitions)


def setting(broker: KafkaBroker, topic: str, name: str) -> str:
    from confluent_kafka.admin._config import ConfigResource

    admin = _admin(broker)  # kept: a client that is deallocated drops its unanswered requests
    (asked,) = admin.describe_configs([ConfigResource("topic", topic)]).values()
    return str(asked.result(30)[name].value)


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
        ({**DEFAULT, f"{T}default.partitions": "100001"}, ("RUNNING", ["FAILED"]), "Unable to create topic(s)"),
        ({**DEFAULT, f"{T}default.cleanup.policy": "moon"}, ("RUNNING", ["FAILED"]), "cleanup.policy"),
    ],
)
def test_invalid_topic_creation_fails_the_connector_or_the_task(
    connect: Connect, tmp_path: Path, settings: dict[str, str], state: Any, reason: str
) -> None:
    connect.create("c", source(tmp_path / "in", unique("t"), **settings))
    wait_until(lambda: connect.states("c") == state, 30, f"the state {state}")
    assert reason in str(connect.ask("GET", "/connectors/c/status"))


def test_topic_creation_can_be_switched_off(restricted: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    name, topic = unique("c"), unique("t")
    restricted.create(name, source(tmp_path / "in", topic, **{**DEFAULT, f"{T}default.partitions": "5"}))
    committed(restricted, name)
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
    overrides = {"producer.override.linger.ms": "1", "producer.override.no.such": "1"}
    connect.create("c", source(tmp_path / "in", unique("t"), **overrides))
    committed(connect, "c")
    assert "property no.such is not known" in str(connect.ask("GET", "/connectors/c/logs"))
    connect.create("d", source(tmp_path / "in", unique("t"), **{"producer.override.compression.type": "zip"}))
    wait_until(lambda: connect.states("d") == ("RUNNING", ["FAILED"]), 30, "a client that cannot be created")
    assert "Invalid value zip for configuration compression.type" in str(connect.status("d"))


def test_values_of_config_providers_are_used_but_never_stored(
    restricted: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    """The values reach the topic of the records, but not the config topic, answers or the log."""
    name, topic, file, vault = unique("c"), unique("secret-topic"), tmp_path / "in", tmp_path / "x.properties"
    vault.write_text(f"topic={topic}\n")
    variable = f"${{file:{vault}:topic}}"
    config = source(file, variable)
    restricted.create(name, config)
    committed(restricted, name)
    assert topics.values(broker.bootstrap, topic, 2) == [b"a", b"b"]
    assert restricted.ask("GET", f"/connectors/{name}")["config"]["topic"] == variable
    assert restricted.ask("GET", f"/connectors/{name}/tasks")[0]["config"]["topic"] == variable
    answer = restricted.ask("PUT", "/connector-plugins/FileStreamSource/config/validate", {**config, "name": name})
    assert {c["value"]["name"]: c["value"]["value"] for c in answer["configs"]}["topic"] == variable
    stored = topics.pairs(broker.bootstrap, restricted.worker.properties["config.storage.topic"])
    assert len([key for key, _ in stored if key and name.encode() in key]) >= 3
    assert not [value for _, value in stored if value and topic.encode() in value]
    assert topic not in restricted.worker.log.read_text()
    refused = {"name": "d", "config": source(file, "${file:/etc/passwd:root}")}
    code, body = restricted.request("POST", "/connectors", refused)
    assert (code, "allowed.paths" in body["message"]) == (400, True)


def test_a_restart_request_in_the_config_topic_is_carried_out(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    """The request of another worker of the cluster; the status topic shows RESTARTING until it is carried out."""
    process, name = connect.worker, unique("c")
    keys = {f"status-connector-{name}".encode(), f"status-task-{name}-0".encode()}
    connect.source(name, _file(tmp_path), unique("t"))
    request = b'{"include-tasks":true,"only-failed":false}'
    with broker.writing() as write:
        write(process.properties["config.storage.topic"], request, f"restart-connector-{name}")
    statuses = process.properties["status.storage.topic"]

    def states() -> dict[bytes, list[str]]:
        found: dict[bytes, list[str]] = {}
        for key, value in topics.pairs(broker.bootstrap, statuses):
            if value and key in keys:
                found.setdefault(key, []).append(json.loads(value)["state"])
        return found

    def restarted() -> bool:
        found = states()
        return found.keys() == keys and all(s[-2:] == ["RESTARTING", "RUNNING"] for s in found.values())

    wait_until(restarted, 60, "RESTARTING and RUNNING", every=0.2)
    connect.wait(name, "RUNNING", ["RUNNING"])


def _file(folder: Path) -> str:
    (folder / "in").write_text("a\n")
    return str(folder / "in")


def test_overrides_of_clients_and_other_files_are_refused(restricted: Connect, tmp_path: Path) -> None:
    overrides = {"producer.override.linger.ms": "5", "producer.override.sasl.mechanism": "PLAIN"}
    config = source(tmp_path / "in", "t", name="c", **overrides)
    answer = restricted.ask("PUT", "/connector-plugins/FileStreamSource/config/validate", config)
    found = {c["value"]["name"]: c["value"]["errors"] for c in answer["configs"] if c["value"]["errors"]}
    message = "The 'None' policy does not allow '{}' to be overridden in the connector configuration."
    assert found == {key: [message.format(key[18:])] for key in overrides}
    assert answer["error_count"] == len(overrides)
    wrong = {**source(tmp_path / "in", "t"), "producer.override.linger.ms": "soon"}
    assert restricted.request("PUT", "/connectors/d/config", wrong)[0] == 400
    sink = {"connector.class": "FileStreamSink", "file": str(tmp_path / "out"), "topics": "t"}
    grouped = {**sink, "consumer.override.group.id": restricted.worker.properties["group.id"]}
    assert restricted.request("PUT", "/connectors/s/config", grouped)[0] == 400
    code, body = restricted.request("PUT", "/connectors/s/config", {**sink, "file": "/etc/passwd"})
    assert (code, "headrace.file.paths" in body["message"]) == (400, True)
    spark = {"connector.class": "SparkSink", "spark.path": "/etc", "topics": "t"}
    code, body = restricted.request("PUT", "/connectors/s/config", spark)
    assert (code, "configuration spark.path: not below one of headrace.file.paths" in body["message"]) == (400, True)


def test_a_connector_has_a_status_as_long_as_it_exists(connect: Connect, tmp_path: Path) -> None:
    for _ in range(5):
        name = unique("shown")
        connect.create(name, source(tmp_path / "in", name), initial_state="STOPPED")
        assert connect.ask("GET", f"/connectors/{name}/status")["connector"]["state"] == "STOPPED"
        connect.ask("DELETE", f"/connectors/{name}")
        assert connect.request("GET", f"/connectors/{name}/status")[0] == 404
