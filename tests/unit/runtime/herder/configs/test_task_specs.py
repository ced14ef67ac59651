"""Task specifications: the Kafka clients of records and offsets."""

from __future__ import annotations

from runtime.config import worker_config
from runtime.herder.configs.task_specs import TaskRequest, client_warnings, spec
from runtime.host.port import ConnectorInfo

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
    (warning,) = client_warnings(WORKER, order(linger_ms="5", interceptor_classes="a.B"))
    assert "interceptor.classes" in warning


def test_overrides_of_the_records_producer_do_not_affect_offsets() -> None:
    weak = worker_config.distributed(
        {**WORKER.originals, "producer.acks": "1", "producer.bootstrap.servers": "far:9092"}
    )
    task = spec(weak, order(), [], paused=False)
    assert (task.producer["bootstrap.servers"], str(task.producer["acks"])) == ("far:9092", "1")
    assert (task.offsets_producer["bootstrap.servers"], task.offsets_producer["acks"]) == ("home:9092", "all")


SINK = ConnectorInfo("FileStreamSink", "sink", "1", "T", "runtime.connectors.file_sink:FileStreamSinkTask")


def test_max_poll_records() -> None:
    def most(worker: dict[str, str], connector: dict[str, str]) -> int | None:
        config = {"connector.class": "FileStreamSink", "topics": "t", **connector}
        known = worker_config.distributed({**WORKER.originals, **worker})
        return spec(known, TaskRequest("c", 0, SINK, config, config), [], paused=False).max_poll_records

    assert most({}, {}) is None
    assert most({"consumer.max.poll.records": "20"}, {}) == 20
    assert most({"consumer.max.poll.records": "20"}, {"consumer.override.max.poll.records": "10"}) == 10
