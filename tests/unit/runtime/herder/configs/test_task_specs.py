"""Task specifications: the Kafka clients of records and offsets."""

from __future__ import annotations

import pytest

from runtime.api.errors import ConfigError
from runtime.config import worker_config
from runtime.herder.configs.task_specs import TaskRequest, client_warnings, spec
from runtime.host.port import ConnectorInfo
from runtime.kafka.errors import ClientConfigError

WORKER = worker_config.distributed({
    "bootstrap.servers": "home:9092", "group.id": "workers", "key.converter": "x", "value.converter": "x",
    "config.storage.topic": "c", "offset.storage.topic": "o", "status.storage.topic": "s",
})  # fmt: skip
INFO = ConnectorInfo("FileStreamSource", "source", "1", "T", "runtime.connectors.file_source:FileStreamSourceTask")
P = "producer.override."


def order(**overrides: str) -> TaskRequest:
    config = {"connector.class": "FileStreamSource", **{P + k.replace("_", "."): v for k, v in overrides.items()}}
    return TaskRequest("c", 0, INFO, config, config)


def test_offsets_go_to_the_workers_cluster_even_if_records_go_to_another() -> None:
    elsewhere = spec(WORKER, order(bootstrap_servers="other:9092"), [], paused=False)
    assert elsewhere.producer["bootstrap.servers"] == "other:9092"
    assert elsewhere.offsets_producer["bootstrap.servers"] == "home:9092"
    assert spec(WORKER, order(), [], paused=False).offsets_producer == {}


def test_overrides_without_effect_cause_warnings() -> None:
    (warning,) = client_warnings(WORKER, order(linger_ms="5", security_providers="a.B"))
    assert "security.providers" in warning


def test_an_exactly_once_source_keeps_its_offsets_in_their_partitions() -> None:
    worker = worker_config.distributed({**WORKER.originals, "exactly.once.source.support": "enabled"})
    with pytest.raises(ConfigError, match=r"partitioner\.ignore\.keys of c would spread its offsets"):
        spec(worker, order(partitioner_ignore_keys="true"), [], paused=False)
    task = spec(WORKER, order(partitioner_ignore_keys="true"), [], paused=False)
    assert (task.producer["partitioner"], task.offsets_producer["partitioner"]) == ("random", "murmur2_random")


def test_overrides_of_the_records_producer_do_not_affect_offsets() -> None:
    weak = worker_config.distributed(
        {**WORKER.originals, "producer.acks": "1", "producer.bootstrap.servers": "far:9092"}
    )
    task = spec(weak, order(), [], paused=False)
    assert (task.producer["bootstrap.servers"], str(task.producer["acks"])) == ("far:9092", "1")
    assert (task.offsets_producer["bootstrap.servers"], task.offsets_producer["acks"]) == ("home:9092", "all")


def test_a_transactional_id_outside_of_exactly_once_is_refused() -> None:
    with pytest.raises(ClientConfigError, match=r"transactional.id=mine cannot be set for the producer of c"):
        spec(WORKER, order(transactional_id="mine"), [], paused=False)


def test_overrides_of_clients_that_a_task_does_not_use_do_not_fail_it() -> None:
    config = {"connector.class": "FileStreamSink", "topics": "t", "producer.override.acks": "true"}
    without = spec(WORKER, TaskRequest("c", 0, SINK, config, config), [], paused=False)
    assert (without.producer, without.admin, bool(without.consumer)) == ({}, {}, True)
    config["errors.deadletterqueue.topic.name"] = "letters"
    with pytest.raises(ClientConfigError, match="acks"):
        spec(WORKER, TaskRequest("c", 0, SINK, config, config), [], paused=False)
    assert spec(WORKER, order(), [], paused=False).admin == {}


SINK = ConnectorInfo("FileStreamSink", "sink", "1", "T", "runtime.connectors.file_sink:FileStreamSinkTask")


def test_max_poll_records() -> None:
    def most(worker: dict[str, str], connector: dict[str, str]) -> int | None:
        config = {"connector.class": "FileStreamSink", "topics": "t", **connector}
        known = worker_config.distributed({**WORKER.originals, **worker})
        return spec(known, TaskRequest("c", 0, SINK, config, config), [], paused=False).max_poll_records

    assert most({}, {}) is None
    assert most({"consumer.max.poll.records": "20"}, {}) == 20
    assert most({"consumer.max.poll.records": "20"}, {"consumer.override.max.poll.records": "10"}) == 10


ENABLED = worker_config.distributed({**WORKER.originals, "exactly.once.source.support": "ENABLED"})


def test_tasks_are_transactional_only_while_exactly_once_support_is_enabled() -> None:
    preparing = worker_config.distributed({**WORKER.originals, "exactly.once.source.support": "preparing"})
    for worker in (WORKER, preparing):
        task = spec(worker, order(), [], paused=False)
        assert (task.transactional_id, task.producer_shared) == ("", True)
        assert "transactional.id" not in task.producer
    task = spec(ENABLED, order(transactional_id="mine", enable_idempotence="false", acks="1"), [], paused=False)
    assert task.transactional_id == task.producer["transactional.id"] == "workers-c-0"
    assert (task.producer["enable.idempotence"], task.producer["acks"], task.producer_shared) == (True, "all", False)
    assert "transactional.id" not in task.offsets_producer
    sink = {"connector.class": "FileStreamSink", "topics": "t"}
    assert spec(ENABLED, TaskRequest("c", 0, SINK, sink, sink), [], paused=False).transactional_id == ""


def test_a_transaction_at_intervals_may_last_two_intervals() -> None:
    def timeout(**connector: str) -> tuple[float, object]:
        config = {k.replace("_", "."): v for k, v in connector.items()}
        known = {"connector.class": "FileStreamSource", **config}
        task = spec(ENABLED, TaskRequest("c", 0, INFO, known, known), [], paused=False)
        return task.transaction_interval, task.producer.get("transaction.timeout.ms")

    assert timeout() == (60.0, None)
    assert timeout(transaction_boundary="INTERVAL") == (60.0, 120_000)
    assert timeout(transaction_boundary="interval", transaction_boundary_interval_ms="5000") == (5.0, 60_000)
    own = {"producer.override.transaction.timeout.ms": "70000", "transaction.boundary": "interval"}
    assert timeout(**own) == (60.0, 70_000)


def test_an_exactly_once_source_of_another_cluster_needs_an_offsets_topic_there() -> None:
    elsewhere = order(bootstrap_servers="other:9092")
    with pytest.raises(ConfigError, match=r"other:9092.*set offsets.storage.topic to a topic of the producer's"):
        spec(ENABLED, elsewhere, [], paused=False)
    own = {**elsewhere.connector_config, "offsets.storage.topic": "there"}
    task = spec(ENABLED, TaskRequest("c", 0, INFO, own, own), [], paused=False)
    assert (task.producer["bootstrap.servers"], task.offsets_topic) == ("other:9092", "there")
    assert (task.offsets_producer["bootstrap.servers"], task.offsets_copy_topic) == ("home:9092", "o")


def test_tasks_know_the_allowed_folders() -> None:
    limited = worker_config.distributed({**WORKER.originals, "headrace.file.paths": "/srv/a, /srv/b"})
    assert spec(limited, order(), [], paused=False).file_paths == ["/srv/a", "/srv/b"]
