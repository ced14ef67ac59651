"""TimestampConverter converts times between strings, Unix time and Connect's logical types."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any, TypeVar

from runtime.api.config.definition import ConfigDef
from runtime.api.config.validators import one_of
from runtime.api.data.class_names import java_class
from runtime.api.data.columns import BatchMetadata, ConstantColumn, HashMapLayout, ValueBatch
from runtime.api.data.java_text import JavaMap
from runtime.api.data.logical import (
    DATE,
    DATE_SCHEMA,
    TIME,
    TIME_SCHEMA,
    TIMESTAMP,
    TIMESTAMP_SCHEMA,
    datetime_of,
    instant,
    millis,
    time_of,
)  # fmt: skip
from runtime.api.data.schema import INT64_SCHEMA, STRING_SCHEMA, Field, Schema, Type
from runtime.api.data.schema_cache import SchemaCache
from runtime.api.errors import ConfigError, ConnectError, DataError, NullPointerError
from runtime.api.java_compat.date_format import DatePattern
from runtime.api.transformation import KeyOrValueTransformation, Record, RecordPart, update_each
from runtime.transforms.definitions import LOW, MEDIUM, REPLACE_NULL, key
from runtime.transforms.fields.struct_copy import StructCopy, with_fields
from runtime.transforms.fields.type_checks import require_map, require_struct

_T = TypeVar("_T")

_PURPOSE = "converting timestamp formats"
_TARGETS = {
    "string": STRING_SCHEMA,
    "unix": INT64_SCHEMA,
    "Date": DATE_SCHEMA,
    "Time": TIME_SCHEMA,
    "Timestamp": TIMESTAMP_SCHEMA,
}
_LONG = 1 << 63
_DAY_MS = 86_400_000
_PER_SECOND = {"nanoseconds": 10**9, "microseconds": 10**6, "milliseconds": 1000, "seconds": 1}


class TimestampConverterValue(KeyOrValueTransformation):
    """Converts the whole key or value, or one field, in UTC. Nulls are unchanged."""

    java_name = "org.apache.kafka.connect.transforms.TimestampConverter$Value"
    config_def = ConfigDef(
        key("field", "Field with the time; empty for the whole key or value.", default=""),
        key("target.type", "Target type: string, unix, Date, Time or Timestamp.", validator=one_of(*_TARGETS)),
        key("format", "Format of strings: a pattern of Java's SimpleDateFormat.", default="",
            importance=MEDIUM),
        key("unix.precision", "Unit of Unix time: seconds, milliseconds, microseconds or nanoseconds.",
            default="milliseconds", importance=LOW, validator=one_of(*_PER_SECOND)),
        REPLACE_NULL,
    )  # fmt: skip

    def configure(self, config: Mapping[str, str]) -> None:
        parsed = self.config_def.parse(config)
        self._field: str = parsed["field"]
        self._target: str = parsed["target.type"]
        self._text: str = parsed["format"]
        self._fill: bool = parsed["replace.null.with.default"]
        self._per_second = _PER_SECOND[parsed["unix.precision"]]
        if self._target == "string" and not self._text.strip():
            raise ConfigError("TimestampConverter requires format option to be specified when using string timestamps")
        self._pattern = self._read_pattern() if self._text.strip() else None
        self._schemas = SchemaCache(self._field_changed if self._field else self._changed)

    def _read_pattern(self) -> DatePattern:
        try:
            return DatePattern(self._text)
        except ConfigError as error:
            raise ConfigError(
                f"Invalid value java.lang.IllegalArgumentException: {error} for configuration TimestampConverter "
                f"requires a SimpleDateFormat-compatible pattern for string timestamps: {self._text}"
            ) from error

    def update(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if schema is None:
            if value is None or not self._field:
                return None, self._converted(value)
            new: dict[str, Any] = JavaMap.copy_of(require_map(value, _PURPOSE))
            new[self._field] = self._converted(new.get(self._field))
            return None, new
        if not self._field:
            return self._schemas.get(schema)[0], self._converted(value)
        if value is None:
            return self._schemas.get(schema)[0], None
        old = require_struct(schema, value, _PURPOSE)
        changed, refused, copy = self._schemas.get(schema)
        new = copy.row(old)
        if refused is not None:
            _check_type(refused)
        if self._field in new:
            new[self._field] = self._converted(new[self._field])
        return changed, new

    def update_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        schema, field = values.schema, self._field
        if schema is None:
            return values if values.all_null else self._maps(values)
        changed, refused, copy = self._schemas.get(schema)
        if values.all_null:
            return values.with_schema(changed)
        if not field:
            return ValueBatch(changed, list(map(self._converted, values.rows)))
        if refused is not None:
            return None
        columns = copy.columns(values.columns)
        if field in columns:
            columns[field] = list(map(self._converted, columns[field]))
        return ValueBatch.struct(changed, columns, values.count)

    def _maps(self, values: ValueBatch) -> ValueBatch:
        field = self._field
        if not field:
            return update_each(self.update, values)
        old = values.columns
        times = list(map(self._converted, old[field])) if field in old else ConstantColumn(None, values.count)
        return ValueBatch.maps({**old, field: times}, values.count, HashMapLayout(len(old)))

    def _changed(self, schema: Schema) -> tuple[Schema, Schema | None, StructCopy]:
        _check_type(schema)
        return self._target_of(schema), None, StructCopy(schema, False)

    def _target_of(self, schema: Schema) -> Schema:
        return _TARGETS[self._target].replace(optional=schema.optional)

    def _field_changed(self, schema: Schema) -> tuple[Schema, Schema | None, StructCopy]:
        """The struct's new schema, the field's schema if it cannot hold a time, and the copy of the fields."""
        if schema.type is not Type.STRUCT:
            raise DataError("Cannot list fields on non-struct type")
        fields = [Field(f.name, self._target_of(f.schema)) if f.name == self._field else f for f in schema.fields]
        field_schema = schema.field(self._field)
        changed = with_fields(schema, fields)
        if field_schema is None or _holds_times(field_schema):
            return changed, None, StructCopy(schema, self._fill, changed)
        before = list(takewhile(lambda field: field.name != self._field, fields))  # their errors are reported first
        return changed, field_schema, StructCopy(schema, self._fill, changed.replace(fields=tuple(before)))

    def _converted(self, value: Any) -> Any:
        if value is None:
            return None
        target = self._target
        if target == "unix":
            return _long(_divided(self._read_millis(value) * self._per_second, 1000))
        if target == "Time":
            return time_of(self._read_millis(value) % _DAY_MS)
        time = self._read(value)
        if target == "string":
            assert self._pattern is not None
            return self._pattern.format(time)
        return time if target == "Timestamp" else time.date()

    def _read_millis(self, value: Any) -> int:
        """Milliseconds since 1970, in any year."""
        kind = type(value)
        if kind is int:
            return self._millis(value)
        return self._parsed(value, DatePattern.parse_millis) if kind is str else millis(_instant(value))

    def _read(self, value: Any) -> dt.datetime:
        """A time in UTC; DataError beyond Python's years 1 to 9999."""
        kind = type(value)
        if kind is int:
            return datetime_of(self._millis(value))
        return self._parsed(value, DatePattern.parse) if kind is str else _instant(value)

    def _millis(self, value: int) -> int:
        """Milliseconds since 1970. A number beyond 64 bits wraps around, as in Java's converters."""
        number = (value + _LONG) % (2 * _LONG) - _LONG
        return _long(_divided(number * 1000, self._per_second))

    def _parsed(self, text: str, parse: Callable[[DatePattern, str], _T]) -> _T:
        if self._pattern is None:
            raise NullPointerError(f"Could not parse timestamp: value ({text}), because format is not set")
        try:
            return parse(self._pattern, text)
        except OverflowError as error:  # such as 0000-00-00, 30 November of 2 BC in Java
            raise DataError(f"Could not parse timestamp: value ({text}) is outside the years 1 to 9999") from error
        except ValueError as error:
            raise DataError(
                f"Could not parse timestamp: value ({text}) does not match pattern ({self._text})"
            ) from error


def _instant(value: Any) -> dt.datetime:
    if isinstance(value, dt.date | dt.time):
        return instant(value)
    raise DataError(f"TimestampConverter does not support class {java_class(value)} objects as timestamps")


def _long(number: int) -> int:
    """Saturates at 64 bits, as Java's TimeUnit does."""
    return max(-_LONG, min(_LONG - 1, number))


def _divided(number: int, by: int) -> int:
    """Division that rounds towards zero, as in Java."""
    return number // by if number >= 0 else -(-number // by)


def _holds_times(schema: Schema) -> bool:
    return schema.name in (DATE, TIME, TIMESTAMP) or schema.type in (Type.STRING, Type.INT64)


def _check_type(schema: Schema) -> None:
    if not _holds_times(schema):
        raise ConnectError(f"Schema {schema.java_text} does not correspond to a known timestamp type format")


class TimestampConverterKey(TimestampConverterValue):
    java_name = "org.apache.kafka.connect.transforms.TimestampConverter$Key"
    part = RecordPart.KEY
