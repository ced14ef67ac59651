"""Apache's classes in the scenarios, and configurations of converters and chains of transformations."""

from __future__ import annotations

from typing import Any

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
TRANSFORMS = "org.apache.kafka.connect.transforms."
PREDICATES = "org.apache.kafka.connect.transforms.predicates."
CONVERTERS = "org.apache.kafka.connect.converters."
JSON = "org.apache.kafka.connect.json.JsonConverter"
STRING = "org.apache.kafka.connect.storage.StringConverter"

Transform = tuple[str, str, dict[str, str]]
"""A name, a class below TRANSFORMS, and its configuration."""

HOIST: Transform = ("h", "HoistField$Value", {"field": "line"})
STATIC: Transform = ("s", "InsertField$Value", {"static.field": "st", "static.value": "v"})
VALUES_WITH_SCHEMAS = {"value.converter": JSON, "value.converter.schemas.enable": "true"}
KEYS_WITH_SCHEMAS = {"key.converter": JSON, "key.converter.schemas.enable": "true"}
STRING_VALUES = {"value.converter": STRING}


def chain(*transforms: Transform, **predicates: tuple[str, dict[str, str]]) -> dict[str, str]:
    """The configuration of a chain; predicates by name: a class below PREDICATES, and its configuration."""
    config = {"transforms": ",".join(name for name, _, _ in transforms)}
    for name, kind, own in transforms:
        config |= _prefixed(f"transforms.{name}.", {"type": TRANSFORMS + kind, **own})
    if predicates:
        config["predicates"] = ",".join(predicates)
    for name, (kind, own) in predicates.items():
        config |= _prefixed(f"predicates.{name}.", {"type": PREDICATES + kind, **own})
    return config


def _prefixed(prefix: str, config: dict[str, str]) -> dict[str, str]:
    return {prefix + key: value for key, value in config.items()}


def sink_offset(topic: Any, partition: Any = 0, offset: Any = 0) -> dict[str, Any]:
    """An entry of a sink's offsets; None resets."""
    at = {"kafka_topic": topic, "kafka_partition": partition}
    return {"partition": at, "offset": None if offset is None else {"kafka_offset": offset}}
