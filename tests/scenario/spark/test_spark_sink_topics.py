"""SparkSink with schemas of a registry, and with a topic that is deleted while a batch waits for its commit."""

from __future__ import annotations

import datetime as dt
import urllib.request
from decimal import Decimal
from io import BytesIO
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from fastavro import parse_schema, schemaless_writer
from pyarrow import parquet

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON_VALUES, STRING, Connect
from tests.support.servers.schema_registry import StubRegistry
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.timeout(600), pytest.mark.slow]
ORDER: dict[str, Any] = {
    "type": "record", "name": "Order", "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {"name": "place", "type": ["null", {"type": "record", "name": "Place", "fields": [
            {"name": "city", "type": "string"}]}], "default": None},
    ],
}  # fmt: skip
LATER = {**ORDER, "fields": [*ORDER["fields"], {"name": "note", "type": ["null", "string"], "default": None}]}
AT = dt.datetime(2026, 1, 2, 3, 4, 5, 678000, dt.UTC)
ROW = {"id": 1, "price": Decimal("1.50"), "at": AT, "tags": ["a", "b"], "place": {"city": "Bern"}}


def _avro(number: int, schema: Any, row: dict[str, Any]) -> bytes:
    """A message of a producer that uses a schema registry."""
    written = BytesIO()
    schemaless_writer(written, parse_schema(schema), row)
    return b"\0" + number.to_bytes(4, "big") + written.getvalue()


def _rows(folder: Path) -> list[dict[str, Any]]:
    found = [row for file in folder.glob("*.parquet") for row in parquet.ParquetFile(file).read().to_pylist()]
    return sorted(found, key=itemgetter("id"))


def test_schemas_of_a_registry_and_a_topic_that_is_created_again(
    connect: Connect, broker: KafkaBroker, registry: StubRegistry, tmp_path: Path
) -> None:
    typed, again = broker.create_topic(), broker.create_topic()
    config = {"connector.class": "SparkSink", "tasks.max": "1", "key.converter": STRING, "spark.trigger": "200 ms"}
    avro = {
        "value.converter": "io.confluent.connect.avro.AvroConverter",
        "value.converter.schema.registry.url": registry.url,
    }
    old, new = registry.add(f"{typed}-value", ORDER), registry.add(f"{typed}-value", LATER)
    broker.produce(typed, _avro(old, ORDER, ROW), _avro(new, LATER, {**ROW, "id": 2, "place": None, "note": "x"}))
    connect.create(unique("avro"), {**config, **avro, "topics": typed, "spark.path": str(tmp_path / "avro")})

    name, folder = unique("again"), tmp_path / "again"
    slow = {**JSON_VALUES, "spark.trigger": "10 seconds"}
    slow["spark.batch.records"] = "8"
    connect.create(name, {**config, **slow, "topics": again, "spark.path": str(folder)})

    wait_until(lambda: len(_rows(tmp_path / "avro")) == 2, 180, "the rows with Avro's schemas")
    first, second = _rows(tmp_path / "avro")
    read = {**ROW, "at": AT.replace(tzinfo=None)}  # Spark's Parquet files have times in UTC without a zone
    assert first == read | ({"note": None} if "note" in first else {})
    assert second == {**read, "id": 2, "place": None, "note": "x"}

    connect.wait(name, "RUNNING", ["RUNNING"], 180)
    broker.produce(again, *(b'{"id":%d}' % number for number in range(5)))
    wait_until(lambda: _fetched(connect, name) == 5, 60, "a batch that waits for its trigger")
    broker.delete_topics(again)
    _create_again(broker, again)
    broker.produce(again, *(b'{"id":%d}' % number for number in range(10, 18)))  # more than the offsets before
    wait_until(lambda: {row["id"] for row in _rows(folder)} >= set(range(10, 18)), 120, "all rows of the new topic")
    assert [row["id"] for row in _rows(folder)] == list(range(10, 18))
    log = connect.worker.log.read_text()
    assert f"topic {again} was deleted and created again" in log


def _create_again(broker: KafkaBroker, topic: str) -> None:
    try:
        broker.create_topic(topic)
    except KafkaException as error:
        assert error.args[0].name() == "TOPIC_ALREADY_EXISTS"  # the broker has created it for the consumer


def _fetched(connect: Connect, name: str) -> int:
    """Records that the task has read."""
    with urllib.request.urlopen(f"{connect.worker.url}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    metric = "kafka_connect_sink_task_metrics_sink_record_read_total"
    found = [line for line in lines if line.startswith(metric) and name in line]
    return int(float(found[0].rpartition(" ")[2])) if found else 0
