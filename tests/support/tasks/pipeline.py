"""Specifications of file connector tasks, and readers of their output."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from runtime.kafka.clients import kafka_python
from runtime.model.task_spec import ConverterSpec, SourceOffset, TaskSpec
from tests.support.broker import KafkaBroker, unique
from tests.support.kafka import topics

SOURCE = "runtime.connectors.file_source:FileStreamSourceTask"
SINK = "runtime.connectors.file_sink:FileStreamSinkTask"
_STRING = ConverterSpec("org.apache.kafka.connect.storage.StringConverter")
_HEADER = ConverterSpec("org.apache.kafka.connect.storage.SimpleHeaderConverter")


def task_spec(kind: str, task_class: str, config: dict[str, str], **more: Any) -> TaskSpec:
    """A spec with string converters and a short flush interval."""
    fields: dict[str, Any] = {
        "connector": unique("c"),
        "key_converter": _STRING,
        "value_converter": _STRING,
        "header_converter": _HEADER,
        "flush_interval": 0.2,
        **more,
    }
    return TaskSpec(task=0, epoch=1, type=kind, task_class=task_class, config=config, **fields)


def source_task(broker: KafkaBroker, task_class: str, config: dict[str, str], **more: Any) -> TaskSpec:
    """A source; its offsets topic is created unless given."""
    offsets_topic = more.pop("offsets_topic", None) or broker.create_topic(unique("offsets"), 1)
    producer = {"bootstrap.servers": broker.bootstrap}
    return task_spec("source", task_class, config, producer=producer, offsets_topic=offsets_topic, **more)


def exactly_once(spec: TaskSpec, **more: Any) -> TaskSpec:
    """The source with transactions."""
    name = f"group-{spec.connector}-{spec.task}"
    producer = {**spec.producer, "transactional.id": name}
    return replace(spec, producer=producer, producer_shared=False, transactional_id=name, **more)


def file_source(broker: KafkaBroker, file: Path, topic: str, **more: Any) -> TaskSpec:
    """A source that follows `file`."""
    config = {"file": str(file), "topic": topic, **more.pop("config", {})}
    return source_task(broker, more.pop("task_class", SOURCE), config, **more)


def filled_source(broker: KafkaBroker, folder: Path, content: bytes, **more: Any) -> tuple[Path, str, TaskSpec]:
    """A file with this content, a topic for its lines, and the source that follows the file."""
    file, topic = folder / "in.txt", broker.create_topic()
    file.write_bytes(content)
    return file, topic, file_source(broker, file, topic, **more)


def append(file: Path, content: bytes) -> None:
    with file.open("ab") as more:
        more.write(content)


def file_sink(broker: KafkaBroker, file: Path, *topics: str, **more: Any) -> TaskSpec:
    """A sink of `topics` into `file`, in its own group unless given."""
    group = more.pop("group", None) or unique("connect-g")
    consumer = {"bootstrap.servers": broker.bootstrap, "group.id": group}
    config = {"file": str(file), **more.pop("config", {})}
    return task_spec("sink", more.pop("task_class", SINK), config, consumer=consumer, topics=list(topics), **more)


def records(broker: KafkaBroker, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    """Keys and values of all records of a topic, in order."""
    return [(message.key(), message.value()) for message in messages(broker, topic)]


def messages(broker: KafkaBroker, topic: str) -> list[Any]:
    """All records of a topic, in order, without those of open and aborted transactions."""
    return topics.messages(broker.bootstrap, topic)


def source_offsets(broker: KafkaBroker, spec: TaskSpec) -> list[SourceOffset]:
    """The offsets that a worker would read from the offsets topic for the spec's connector."""
    newest: dict[bytes, bytes | None] = {}
    for key, value in records(broker, spec.offsets_topic):
        assert key is not None
        newest[key] = value
    return [
        SourceOffset(orjson.loads(key)[1], orjson.loads(value), key.decode())
        for key, value in newest.items()
        if value is not None and orjson.loads(key)[0] == spec.connector
    ]


def group_offsets(broker: KafkaBroker, spec: TaskSpec) -> dict[tuple[str, int], int]:
    """Committed offsets of a sink's group. (librdkafka's own request crashes while the coordinator loads.)"""
    group = spec.consumer["group.id"]
    return kafka_python.ask({"bootstrap.servers": broker.bootstrap}, group, kafka_python.committed(group), 20) or {}
