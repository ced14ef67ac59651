"""Records from a source to a sink through converters with a schema registry, with ids in prefixes and in headers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON, SINK, STRINGS, Connect
from tests.support.kafka import topics
from tests.support.servers.schema_registry import StubRegistry
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

COUNT = 2000
KINDS = {
    "AVRO": "io.confluent.connect.avro.AvroConverter",
    "PROTOBUF": "io.confluent.connect.protobuf.ProtobufConverter",
    "JSON": "io.confluent.connect.json.JsonSchemaConverter",
}
IN_HEADERS = {
    "value.converter.value.schema.id.serializer":
        "io.confluent.kafka.serializers.schema.id.HeaderSchemaIdSerializer"
}  # fmt: skip

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def connect(module_worker: StartWorker) -> Connect:
    return Connect(module_worker({"offset.flush.interval.ms": "300"}))


def lines(connect: Connect, broker: KafkaBroker, folder: Path, converter: dict[str, str]) -> tuple[str, list[str]]:
    """The topic of generated records, and the lines of a file sink that reads them."""
    name, topic, file = unique("made"), broker.create_topic(), folder / unique("lines")
    source = {
        "connector.class": "headrace.DatagenSourceConnector", "template": "orders", "topic": topic, "rate": "0",
        "count": str(COUNT), "seed": "7", **STRINGS, **converter,
    }  # fmt: skip
    connect.create(name, source)
    sink = {"connector.class": SINK, "file": str(file), "topics": topic, **STRINGS, **converter}
    connect.create(unique("read"), sink)

    def written() -> list[str]:
        return file.read_text("utf-8").splitlines() if file.exists() else []

    wait_until(lambda: len(written()) >= COUNT, 120)
    return topic, written()


def test_all_formats_carry_the_same_records(
    connect: Connect, broker: KafkaBroker, registry: StubRegistry, tmp_path: Path
) -> None:
    _, expected = lines(connect, broker, tmp_path, {"value.converter": JSON})
    assert len(expected) == COUNT
    for kind, converter in KINDS.items():
        for more in ({}, IN_HEADERS):
            config = {"value.converter": converter, "value.converter.schema.registry.url": registry.url, **more}
            topic, read = lines(connect, broker, tmp_path, config)
            assert read == expected
            messages = topics.messages(broker.bootstrap, topic)
            assert len(messages) == COUNT
            headers = {name for message in messages for name, _ in message.headers() or ()}
            assert headers == ({"__value_schema_id"} if more else set())
            prefixed = [(message.value() or b"")[:1] == b"\x00" for message in messages]
            assert kind == "AVRO" or all(prefixed) is not bool(more)
            stored = registry.schemas[registry.subjects[f"{topic}-value"][0] - 1]
            assert stored.get("schemaType", "AVRO") == kind
