"""VerifiableSource and VerifiableSink: records, lines and offsets as those of Kafka's tools."""

from __future__ import annotations

import json
import logging

import pytest

from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.api.data.schema import INT32_SCHEMA, INT64_SCHEMA
from runtime.api.data.validate import validate_struct
from runtime.api.errors import ConnectError
from runtime.connectors.verifiable import (
    COMPLETE_SCHEMA,
    VerifiableSinkConnector,
    VerifiableSinkTask,
    VerifiableSourceConnector,
    VerifiableSourceTask,
)
from tests.support.tasks.task_contexts import StoredOffsets, started

CONFIG = {"name": "c", "topic": "t", "throughput": "50", "id": "1"}


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO)
    return caplog


def _lines(log: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    found = [json.loads(message) for message in log.messages if message.startswith("{")]
    log.clear()
    return found


def test_the_source_sends_numbers_at_its_rate_and_reports_them(log: pytest.LogCaptureFixture) -> None:
    now = 10.0
    task = started(VerifiableSourceTask(clock=lambda: now), CONFIG)
    (record,) = task.poll() or ()
    assert (record.key, record.key_schema, record.value, record.value_schema) == (1, INT32_SCHEMA, 0, INT64_SCHEMA)
    assert (record.source_partition, record.source_offset, record.topic) == ({"id": 1}, {"seqno": 0}, "t")
    (sent,) = _lines(log)
    assert sent == {"name": "c", "task": 1, "topic": "t", "time_ms": sent["time_ms"], "seqno": 0}
    task.commit_record(record, None)
    (committed,) = _lines(log)
    assert committed == {**sent, "time_ms": committed["time_ms"], "committed": True}
    assert not task.poll()
    now += 0.5
    assert [record.value for record in task.poll() or ()] == list(range(1, 26))


def test_the_source_continues_after_the_committed_number() -> None:
    task = started(VerifiableSourceTask(), {**CONFIG, "throughput": "-1"}, StoredOffsets([({"id": 1}, {"seqno": 41})]))
    assert [record.value for record in task.poll() or ()][:2] == [42, 43]
    assert not started(VerifiableSourceTask(), {**CONFIG, "throughput": "0"}).poll()


def test_complete_record_data() -> None:
    (record,) = started(VerifiableSourceTask(), {**CONFIG, "complete.record.data": "true"}).poll() or ()
    validate_struct(COMPLETE_SCHEMA, record.value)
    assert (record.value["name"], record.value["task"], record.value["seqno"]) == ("c", 1, 0)


def test_tasks_have_partitions_of_their_own_and_altered_offsets_are_checked() -> None:
    connector = VerifiableSourceConnector()
    connector.start({"topic": "t"})
    assert [config["id"] for config in connector.task_configs(3)] == ["0", "1", "2"]
    assert connector.alter_offsets({}, [({"id": 0}, {"seqno": 7}), ({"id": 1}, None)])
    for partition, offset in (({"id": "0"}, {"seqno": 7}), ({"id": 0}, {"seqno": "7"}), ({"id": 0}, {"n": 7})):
        with pytest.raises(ConnectError):
            connector.alter_offsets({}, [(partition, offset)])


def test_the_sink_reports_received_and_committed_records(log: pytest.LogCaptureFixture) -> None:
    connector = VerifiableSinkConnector()
    connector.start({"name": "s"})
    (config,) = connector.task_configs(1)
    task = VerifiableSinkTask()
    task.start(config)
    task.put([SinkRecord("t", p, INT32_SCHEMA, 1, INT64_SCHEMA, 5 + p, 17) for p in (0, 1)])
    received = _lines(log)
    record = {"name": "s", "task": 1, "sinkTask": 0, "topic": "t", "seqno": 5, "offset": 17}
    assert received[0] == {**record, "time_ms": received[0]["time_ms"]}
    task.flush({TopicPartition("t", 0): 18})
    (flushed,) = _lines(log)
    assert flushed == {**received[0], "time_ms": flushed["time_ms"], "flushed": True}
    task.close([TopicPartition("t", 1)])
    task.flush({TopicPartition("t", 0): 18, TopicPartition("t", 1): 18})
    assert _lines(log) == [], "records of a revoked partition are another task's"
