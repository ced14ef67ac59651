"""The worker's properties: defaults, and errors that name key and remedy."""

import os
from pathlib import Path

import pytest

from runtime.config.worker_config import WorkerConfig, WorkerConfigError, distributed, load_distributed

GOOD = {
    "bootstrap.servers": "a:1,b:2",
    "group.id": "g",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
}


def load(tmp_path: Path, **changes: str | None) -> WorkerConfig:
    props = {k: v for k, v in {**GOOD, **{k.replace("_", "."): v for k, v in changes.items()}}.items() if v is not None}
    file = tmp_path / "worker.properties"
    file.write_text("".join(f"{k}={v}\n" for k, v in props.items()))
    return load_distributed(file)


def test_defaults_are_those_of_connect(tmp_path: Path) -> None:
    c = load(tmp_path)
    assert c.bootstrap_servers == "a:1,b:2"
    assert (c.configs.partitions, c.offsets.partitions, c.statuses.partitions) == (1, 25, 5)
    assert c.offsets.replication_factor == 3
    assert (c.flush_interval, c.graceful, c.session_timeout) == (60.0, 5.0, 10.0)
    assert [str(listener) for listener in c.listeners] == ["http://127.0.0.1:8083"]
    assert c.admin_listeners is None
    assert c.converter("value") == ("org.apache.kafka.connect.json.JsonConverter", {"schemas.enable": "false"})
    assert c.warnings == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"group_id": None}, "group.id"),
        ({"offset_flush_interval_ms": "soon"}, "Invalid value soon for configuration offset.flush.interval.ms"),
        ({"listeners": "http://127.0.0.1:x"}, "listeners=http://127.0.0.1:x: the port is not a number"),
        ({"listeners": "ftp://127.0.0.1:1"}, "expected http://HOST:PORT"),
        ({"exactly_once_source_support": "sometimes"}, "exactly.once.source.support"),
        ({"rest_port": "8084"}, "rest.port=8084 was removed in Kafka 3.0: set listeners=http://:8084 instead"),
        ({"rest_host_name": "h"}, "rest.host.name=h was removed in Kafka 3.0: set listeners=http://h:8083 instead"),
        ({"internal_key_converter": "a.Avro"}, "internal.key.converter=a.Avro was removed in Kafka 3.0"),
        ({"internal_value_converter_schemas_enable": "true"}, "schemas.enable=true was removed in Kafka 3.0"),
    ],
)
def test_bad_properties_are_named(tmp_path: Path, changes: dict[str, str | None], message: str) -> None:
    with pytest.raises(WorkerConfigError) as e:
        load(tmp_path, **changes)
    assert message in str(e.value)


def test_removed_properties_that_say_what_is_always_so_are_accepted() -> None:
    json = "org.apache.kafka.connect.json.JsonConverter"
    given = {"internal.key.converter": json, "internal.key.converter.schemas.enable": "false", "rest.port": "1"}
    c = distributed({**GOOD, **given, "listeners": "http://127.0.0.1:8083"})
    assert [w.split(" has")[0] for w in c.warnings] == list(given)


def test_a_misspelled_property_of_headrace_causes_a_warning() -> None:
    known = {"headrace.jaas.file": "/jaas.conf", "headrace.roles.read": "*", "headrace.restart.attempts": "3"}
    c = distributed({**GOOD, **known, "headrace.slot": "4"})
    assert c.warnings == ("headrace.slot is not a known property; it has no effect",)


def test_properties_without_effect_cause_warnings() -> None:
    c = distributed({**GOOD, "grup.id": "x", "metric.reporters": "x.Reporter", "producer.linger.ms": "5"})
    assert [w.split()[0] for w in c.warnings] == ["grup.id", "metric.reporters"]


def test_replicas_of_the_storage_topics() -> None:
    given = {"config": 1, "offset": 2, "status": 4}
    names = (
        "config.storage.replication.factor",
        "offset.storage.replication.factor",
        "status.storage.replication.factor",
    )
    c = distributed({**GOOD, **{name: str(given[name.partition(".")[0]]) for name in names}})
    assert [topic.replication_factor for topic in (c.configs, c.offsets, c.statuses)] == [1, 2, 4]


def test_topic_of_the_journal() -> None:
    assert distributed(GOOD).journal_topic == "o-headrace"
    assert distributed({**GOOD, "headrace.journal.topic": "j"}).journal_topic == "j"


@pytest.mark.parametrize("protocol", ["sessioned", "compatible", "eager"])
def test_only_the_eager_protocol_causes_a_warning(protocol: str) -> None:
    warnings = distributed({**GOOD, "connect.protocol": protocol}).warnings
    assert [w.split()[0] for w in warnings] == (["connect.protocol=eager"] if protocol == "eager" else [])


def test_port_for_slots_on_other_machines() -> None:
    assert distributed(GOOD).slot_port == 0
    assert distributed({**GOOD, "headrace.slot.port": "7400"}).slot_port == 7400


def test_slots_by_default_are_the_cores_of_the_affinity(tmp_path: Path) -> None:
    cores = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(cores)})
        assert load(tmp_path).slots == 1
    finally:
        os.sched_setaffinity(0, cores)
