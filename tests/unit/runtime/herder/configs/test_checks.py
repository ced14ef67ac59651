"""Overrides of Kafka clients in validation answers, as Connect 4.3.0 gives them."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.config import worker_config
from runtime.herder.configs.checks import WorkerChecks

WORKER = {
    "bootstrap.servers": "localhost:1", "group.id": "workers", "key.converter": "x", "value.converter": "x",
    "config.storage.topic": "c", "offset.storage.topic": "o", "status.storage.topic": "s",
}  # fmt: skip
P = "producer.override."
PACKAGE = "org.apache.kafka.connect.connector.policy"
REFUSED = "The '{}' policy does not allow '{}' to be overridden in the connector configuration."


def checked(
    kind: str, overrides: dict[str, str], policy: str = "All", exactly_once: str = "disabled", ignored: str = ""
) -> list[dict[str, Any]]:
    """The entries of the answer about these overrides."""
    properties = {"connector.client.config.override.policy": policy, "exactly.once.source.support": exactly_once}
    properties["headrace.ignore.interceptors"] = ignored
    worker = worker_config.distributed({**WORKER, **properties})
    names = ("name", "file", "offsets.storage.topic", "key.converter.plugin.version")
    own = [{"definition": {}, "value": {"name": n, "errors": []}} for n in names]
    last = {"definition": {}, "value": {"name": "key.converter.converter.type", "errors": []}}
    answer: dict[str, Any] = {"error_count": 0, "configs": [*own, last]}
    WorkerChecks(worker).apply(kind, {"name": "n", **overrides}, answer)
    assert answer["configs"][-1] is last
    assert answer["error_count"] == sum(len(e["value"]["errors"]) for e in answer["configs"])
    return [e for e in answer["configs"] if e["value"]["errors"] or (e not in own and e is not last)]


def test_values_have_the_clients_types() -> None:
    given = {"sasl.jaas.config": "x", "acks": " 1 ", "batch.size": "007", "enable.idempotence": "TRUE", "foo": " y "}
    found = {e["value"]["name"]: e for e in checked("source", {P + k: v for k, v in given.items()})}
    shown = {name.removeprefix(P): e["value"]["value"] for name, e in found.items()}
    assert shown == {"enable.idempotence": "true", "acks": "1", "foo": " y ", "batch.size": "7",
                     "sasl.jaas.config": "[hidden]"}  # fmt: skip
    assert found[f"{P}foo"]["definition"] is None
    assert found[f"{P}batch.size"]["definition"]["type"] == "INT"


@pytest.mark.parametrize(
    ("kind", "more", "clients"),
    [
        ("source", {}, ["producer"]),
        ("source", {"offsets.storage.topic": " "}, ["producer"]),
        ("source", {"offsets.storage.topic": "own"}, ["producer", "consumer", "admin"]),
        ("sink", {}, ["consumer"]),
        ("sink", {"errors.deadletterqueue.topic.name": "d"}, ["producer", "consumer", "admin"]),
    ],
)
def test_overrides_of_unused_clients_have_no_effect(kind: str, more: dict[str, str], clients: list[str]) -> None:
    overrides = {f"{client}.override.retry.backoff.ms": "1" for client in ("admin", "consumer", "producer")}
    assert [e["value"]["name"].partition(".")[0] for e in checked(kind, {**overrides, **more})] == clients


def test_the_policy_covers_every_client_of_an_exactly_once_source() -> None:
    overrides = {"consumer.override.group.id": "g", "admin.override.retries": "3"}
    found = checked("source", overrides, "Principal", exactly_once="enabled")
    assert [e["value"]["errors"] for e in found] == [
        [REFUSED.format("Principal", "group.id")], [REFUSED.format("Principal", "retries")]
    ]  # fmt: skip


def test_errors_are_at_their_keys() -> None:
    (wrong,) = checked("source", {f"{P}linger.ms": "soon"})
    assert wrong["value"]["errors"] == ["Invalid value soon for configuration linger.ms: Not a number of type LONG"]
    (enum,) = checked("source", {f"{P}compression.type": "zip"})
    assert enum["value"]["errors"] == []  # the task fails with it, as in Java


@pytest.mark.parametrize(
    ("policy", "refused"),
    [
        ("All", []),
        ("Principal", ["linger.ms"]),
        ("None", ["linger.ms", "sasl.mechanism"]),
        (f"{PACKAGE}.PrincipalConnectorClientConfigOverridePolicy", ["linger.ms"]),
    ],
)
def test_policies_refuse_overrides(policy: str, refused: list[str]) -> None:
    found = checked("source", {f"{P}linger.ms": "5", f"{P}sasl.mechanism": "PLAIN"}, policy)
    name = policy.removeprefix(f"{PACKAGE}.").removesuffix("ConnectorClientConfigOverridePolicy")
    errors = {e["value"]["name"]: e["value"]["errors"] for e in found if e["value"]["errors"]}
    assert errors == {f"{P}{key}": [REFUSED.format(name, key)] for key in refused}


def test_a_consumer_group_is_listed_first() -> None:
    first, second = checked("sink", {"consumer.override.group.id": "workers"})
    assert first["definition"] is None
    assert first["value"]["errors"] == ["Consumer group workers conflicts with Connect worker group workers"]
    assert (second["definition"]["type"], second["value"]["errors"]) == ("STRING", [])


def test_a_connectors_own_offset_topic_is_on_the_workers_cluster() -> None:
    elsewhere = {f"{P}bootstrap.servers": "other:9092"}
    assert not [e for e in checked("source", elsewhere) if e["value"]["errors"]]
    found = checked("source", {**elsewhere, "offsets.storage.topic": "mine"})
    (wrong,) = [e["value"] for e in found if e["value"]["errors"]]
    assert wrong["name"] == "offsets.storage.topic"
    assert "another cluster" in wrong["errors"][0]


def test_an_exactly_once_source_of_another_cluster_reads_its_offsets_there() -> None:
    config = {f"{P}bootstrap.servers": "other:9092", "offsets.storage.topic": "mine"}
    found = checked("source", {**config, "admin.override.bootstrap.servers": "other:9092"}, exactly_once="enabled")
    (wrong,) = [e["value"] for e in found if e["value"]["errors"]]
    assert wrong["errors"] == [
        "offsets.storage.topic is on another cluster (producer.override.bootstrap.servers), where it has to be read, "
        "too: set consumer.override.bootstrap.servers to other:9092"
    ]
    everywhere = {f"{kind}.override.bootstrap.servers": "other:9092" for kind in ("admin", "consumer")}
    found = checked("source", {**config, **everywhere}, exactly_once="enabled")
    assert not [e for e in found if e["value"]["errors"]]


def test_java_classes_in_the_path_of_records_are_refused() -> None:
    """Unless the worker may leave the interceptors out."""
    given = {"interceptor.classes": "a.B, c.D", "partitioner.class": "e.F", "partitioner.ignore.keys": "true"}
    errors = {e["value"]["name"]: e["value"]["errors"] for e in checked("source", {P + k: v for k, v in given.items()})}
    assert "or list a.B, c.D in headrace.ignore.interceptors" in errors[f"{P}interceptor.classes"][0]
    assert "partitioner.class=e.F is a Java class" in errors[f"{P}partitioner.class"][0]
    assert errors[f"{P}partitioner.ignore.keys"] == []
    consumer = {"consumer.override.interceptor.classes": "a.B"}
    assert checked("sink", consumer)[0]["value"]["errors"]
    assert checked("sink", consumer, ignored="a.B")[0]["value"]["errors"] == []
