"""Java converters and header converters."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from runtime.api.converter import Converter, HeaderConverter, RawHeaders
from runtime.api.data.columns import Column, ValueBatch
from runtime.api.data.schema import Schema
from runtime.java.errors import HostLostError, java_error
from runtime.java.host.host import JavaClass, JavaHost, PluginObject
from runtime.java.wire.records import of_schema
from runtime.java.wire.writer import FrameWriter

_Data = tuple[Schema | None, Any]
R = TypeVar("R")


class JavaConverter(Converter):
    """A Java converter of keys or values.

    A call with a batch converts every value once, also if some fail: their results are kept for the calls with single
    values that follow."""

    def __init__(self, host: JavaHost, plugin: JavaClass) -> None:
        """Raises the exception of the Java constructor, or HostLostError."""
        self.plugin = host.create("converter", plugin, "converter")
        self.metrics_owner = self.plugin
        self.uses_headers = self.plugin.uses_headers
        self._written = _Outcomes[bytes | None]()
        self._read = _Outcomes[_Data]()

    def configure(self, config: Mapping[str, str], is_key: bool) -> None:
        """Without `converter.type`, which Connect passes to header converters only."""
        own = {name: text for name, text in config.items() if name != "converter.type"}
        self.plugin.call("configure", own, is_key)

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        call = partial(_from_connect, self.plugin, topic, None, ValueBatch(schema, [value]))
        return self._written.take((topic, id(schema), id(value)), lambda: _single(call()))

    def to_connect(self, topic: str, data: bytes | None) -> tuple[Schema | None, Any]:
        return self._read.take((topic, data), lambda: _single(_to_connect(self.plugin, topic, None, [data])))

    def from_connect_batch(self, topic: str, values: ValueBatch) -> Sequence[bytes | None]:
        self._written.clear()
        converted, failures = _from_connect(self.plugin, topic, None, values)
        if failures:
            rows = values.rows
            keys = [(topic, id(values.schema), id(value)) for value in rows]
            self._written.keep(keys, converted, failures, rows)
            raise java_error(failures[0][1])
        return converted

    def to_connect_batch(self, topic: str, data: Sequence[bytes]) -> ValueBatch | None:
        self._read.clear()
        converted, failures = _to_connect(self.plugin, topic, None, data)
        if not failures and isinstance(converted, ValueBatch):
            return converted
        self._read.keep([(topic, item) for item in data], _pairs(converted), failures, data)
        if failures:
            raise java_error(failures[0][1])
        return None

    def from_connect_with_headers(
        self, topic: str, headers: RawHeaders, schema: Schema | None, value: Any
    ) -> bytes | None:
        def write(frame: FrameWriter) -> None:
            frame.schema(schema)
            frame.batch(ValueBatch(schema, [value]))

        after, frame = self.plugin.exchange("from_connect_with_headers", topic, list(map(list, headers)), batch=write)
        headers[:] = [(name, data) for name, data in after]
        converted: bytes | None = frame.column(1)[0]
        return converted

    def to_connect_with_headers(self, topic: str, headers: RawHeaders, data: bytes | None) -> _Data:
        _, frame = self.plugin.exchange(
            "to_connect_with_headers", topic, list(map(list, headers)), batch=lambda writer: writer.value(data)
        )
        frame.u8()
        schema = frame.schema()
        return schema, frame.column(1, schema)[0]

    def close(self) -> None:
        close_plugin(self.plugin)


class JavaHeaderConverter(HeaderConverter):
    """A Java converter of header values."""

    def __init__(self, host: JavaHost, plugin: JavaClass) -> None:
        """Raises the exception of the Java constructor, or HostLostError."""
        self.plugin = host.create("header_converter", plugin, "header-converter")
        self.metrics_owner = self.plugin

    def configure(self, config: Mapping[str, str]) -> None:
        self.plugin.call("configure", dict(config))

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        converted: bytes | None = _single(_from_connect(self.plugin, topic, key, ValueBatch(schema, [value])))
        return converted

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> tuple[Schema | None, Any]:
        converted: _Data = _single(_to_connect(self.plugin, topic, key, [data]))
        return converted

    def close(self) -> None:
        close_plugin(self.plugin)


_Failures = Sequence[Sequence[Any]]
"""Place and error of each value that failed, in order. A place without an error: it and all behind were not tried."""


class _Outcomes(Generic[R]):
    """What a batch with failed values has yielded, until the next batch."""

    def __init__(self) -> None:
        self._known: dict[Any, tuple[R, Any]] = {}
        self._values: Any = None  # kept, since identities are part of the keys

    def keep(self, keys: Sequence[Any], converted: Sequence[R], failures: _Failures, values: Any) -> None:
        """Remember the results of all values that were tried."""
        errors = {place: error for place, error in failures if error is not None}
        tried = next((place for place, error in failures if error is None), len(keys))
        self._known = {keys[place]: (converted[place], errors.get(place)) for place in range(tried)}
        self._values = values

    def clear(self) -> None:
        """Forget everything."""
        self._known, self._values = {}, None

    def take(self, key: Any, call: Callable[[], R]) -> R:
        """The known result, or that of the call. A known error is raised once; a repetition calls the converter."""
        if not self._known or (outcome := self._known.get(key)) is None:
            return call()
        result, error = outcome
        if error is not None:
            del self._known[key]
            raise java_error(error)
        return result


def _single(outcome: tuple[Any, _Failures]) -> Any:
    converted, failures = outcome
    if failures:
        raise java_error(failures[0][1])
    return _pairs(converted)[0] if isinstance(converted, ValueBatch) else converted[0]


def _pairs(converted: ValueBatch | Sequence[_Data]) -> Sequence[_Data]:
    return [(converted.schema, value) for value in converted.rows] if isinstance(converted, ValueBatch) else converted


def _from_connect(plugin: PluginObject, topic: str, header: str | None, values: ValueBatch) -> tuple[Column, _Failures]:
    def write(frame: FrameWriter) -> None:
        frame.schema(values.schema)
        frame.batch(values)

    failures, frame = plugin.exchange("from_connect", topic, header, values.count, batch=write)
    return frame.column(values.count), failures


def _to_connect(
    plugin: PluginObject, topic: str, header: str | None, data: Sequence[bytes | None]
) -> tuple[ValueBatch | Sequence[_Data], _Failures]:
    """The values as a batch if their schemas are the same, otherwise each with its schema."""
    count = len(data)
    failures, frame = plugin.exchange("to_connect", topic, header, count, batch=lambda writer: writer.column(data))
    if frame.u8():
        schema = frame.schema() if count else None
        return frame.batch(count, schema), failures
    schemas = [frame.schema() for _ in range(count)]
    values = map(of_schema, frame.column(count), schemas)
    return list(zip(schemas, values, strict=True)), failures


def close_plugin(plugin: PluginObject) -> None:
    """Close a plugin and end its object; there is nothing to release if its JVM has ended."""
    try:
        with contextlib.suppress(HostLostError):
            plugin.call("close")
    finally:
        plugin.close()
