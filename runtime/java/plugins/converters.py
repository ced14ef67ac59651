"""Java converters and header converters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.api.converter import Converter, HeaderConverter
from runtime.api.data.columns import Column, ValueBatch
from runtime.api.data.schema import Schema
from runtime.java.host.host import JavaClass, JavaHost, PluginObject
from runtime.java.wire.writer import FrameWriter


class JavaConverter(Converter):
    """A Java converter of keys or values."""

    def __init__(self, host: JavaHost, plugin: JavaClass) -> None:
        """Raises the exception of the Java constructor, or HostLostError."""
        self.plugin = host.create("converter", plugin, "converter")

    def configure(self, config: Mapping[str, str], is_key: bool) -> None:
        self.plugin.call("configure", dict(config), is_key)

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        found: bytes | None = _from_connect(self.plugin, topic, None, ValueBatch(schema, [value]))[0]
        return found

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        schemas, values = _to_connect(self.plugin, topic, None, [data])
        return schemas[0], values[0]

    def from_connect_batch(self, topic: str, values: ValueBatch) -> Sequence[bytes | None]:
        return _from_connect(self.plugin, topic, None, values)

    def to_connect_batch(self, topic: str, data: Sequence[bytes]) -> ValueBatch | None:
        schemas, values = _to_connect(self.plugin, topic, None, data)
        return ValueBatch(schemas[0], values) if len(set(map(id, schemas))) == 1 else None


class JavaHeaderConverter(HeaderConverter):
    """A Java converter of header values."""

    def __init__(self, host: JavaHost, plugin: JavaClass) -> None:
        """Raises the exception of the Java constructor, or HostLostError."""
        self.plugin = host.create("header_converter", plugin, "header-converter")

    def configure(self, config: Mapping[str, str]) -> None:
        self.plugin.call("configure", dict(config))

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        found: bytes | None = _from_connect(self.plugin, topic, key, ValueBatch(schema, [value]))[0]
        return found

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> tuple[Schema | None, Any]:
        schemas, values = _to_connect(self.plugin, topic, key, [data])
        return schemas[0], values[0]


def _from_connect(plugin: PluginObject, topic: str, header: str | None, values: ValueBatch) -> Column:
    def write(frame: FrameWriter) -> None:
        frame.schema(values.schema)
        frame.batch(values)

    _, frame = plugin.exchange("from_connect", topic, header, values.count, batch=write)
    return frame.column(values.count)


def _to_connect(
    plugin: PluginObject, topic: str, header: str | None, data: Sequence[bytes | None]
) -> tuple[list[Schema | None], list[Any]]:
    """The schema of each value, and the values."""
    count = len(data)
    _, frame = plugin.exchange("to_connect", topic, header, count, batch=lambda writer: writer.column(data))
    schemas = [frame.schema() for _ in range(count)]
    first = schemas[0]
    if all(schema is first for schema in schemas):
        return schemas, list(frame.column(count, first))
    return schemas, list(frame.column(count))
