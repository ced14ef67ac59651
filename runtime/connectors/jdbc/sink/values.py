"""Values of records as parameters of statements, depending on the field's schema and the column's type."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import orjson

from runtime.api.data.logical import DATE, DECIMAL, TIME, TIMESTAMP, decimal_of, decimal_text
from runtime.api.data.schema import Schema, Type
from runtime.connectors.jdbc.types import INTEGERS, MICRO_TIMESTAMP_NAME, NANO_TIMESTAMP_NAME, DatabaseType, Kind

Convert = Callable[[Any], Any]
"""Converts one value that is not None."""

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_TEMPORAL = "io.debezium.time."
_TIMESTAMP_UNITS = {f"{_TEMPORAL}Timestamp": 1000, MICRO_TIMESTAMP_NAME: 1, NANO_TIMESTAMP_NAME: -1000}
_TIME_UNITS = {f"{_TEMPORAL}Time": 1000, f"{_TEMPORAL}MicroTime": 1, f"{_TEMPORAL}NanoTime": -1000}
"""Microseconds in a unit; negative: units in a microsecond."""
ZONED_TIMESTAMP = f"{_TEMPORAL}ZonedTimestamp"
VARIABLE_DECIMAL = "io.debezium.data.VariableScaleDecimal"


@dataclass(frozen=True, slots=True)
class ParameterStyle:
    """What a driver accepts. `zone` is that of timestamps without a time zone, `date_zone` that of dates of timestamps.
    `naive_text`: times and decimals are stored as texts (SQLite). `postgres`: lists are accepted as arrays, and the
    offset of times in UTC is ignored for columns without a time zone. `stores` tells which floating-point numbers the
    database has; None: all."""

    zone: dt.tzinfo
    date_zone: dt.tzinfo
    naive_text: bool = False
    postgres: bool = False
    stores: Callable[[float], bool] | None = None


def converter(schema: Schema | None, target: DatabaseType, style: ParameterStyle) -> Convert | None:
    """How values of a field are converted for a column; None if they are used as they are."""
    decode = decoder(schema)
    column = _for_column(schema, target, style)
    if decode is None:
        return column
    if column is None:
        return decode
    return lambda value: column(decode(value))


def decoder(schema: Schema | None) -> Convert | None:
    """Decodes values whose schema's name says what they are, as the change data connectors use it; None for others."""
    name = schema.name if schema is not None else None
    if name is not None and name in _TIMESTAMP_UNITS:
        unit = _TIMESTAMP_UNITS[name]
        return lambda value: _EPOCH + _micros(value, unit)
    if name is not None and name in _TIME_UNITS:
        part = _TIME_UNITS[name]
        return lambda value: _time_of_day(_micros(value, part))
    if name == f"{_TEMPORAL}Date":
        return lambda value: dt.date.fromordinal(value + _EPOCH.toordinal())
    if name == ZONED_TIMESTAMP:
        return dt.datetime.fromisoformat
    return _variable_decimal if name == VARIABLE_DECIMAL else None


def _micros(value: int, unit: int) -> dt.timedelta:
    return dt.timedelta(microseconds=value * unit if unit > 0 else value // -unit)


def _time_of_day(since_midnight: dt.timedelta) -> dt.time:
    """ValueError for PostgreSQL's 24:00, which would become 00:00, and for times beyond a day."""
    if not dt.timedelta() <= since_midnight < dt.timedelta(days=1):
        raise ValueError(f"{since_midnight} since midnight is not a time of day")
    return (_EPOCH + since_midnight).time()


def _variable_decimal(value: Mapping[str, Any]) -> Decimal:
    return decimal_of(int.from_bytes(value["value"], "big", signed=True), value["scale"])


def is_timestamp(schema: Schema | None) -> bool:
    """Whether the values are points in time."""
    return schema is not None and (schema.name in (TIMESTAMP, ZONED_TIMESTAMP) or schema.name in _TIMESTAMP_UNITS)


def is_time(schema: Schema | None) -> bool:
    """Whether the values are times of day."""
    return schema is not None and (schema.name == TIME or schema.name in _TIME_UNITS)


def is_date(schema: Schema | None) -> bool:
    """Whether the values are dates."""
    return schema is not None and schema.name in (DATE, f"{_TEMPORAL}Date")


def is_decimal(schema: Schema | None) -> bool:
    """Whether the values are decimals."""
    return schema is not None and schema.name in (DECIMAL, VARIABLE_DECIMAL)


def _for_column(schema: Schema | None, target: DatabaseType, style: ParameterStyle) -> Convert | None:
    kind = target.kind
    if is_timestamp(schema):
        return _timestamp(kind, style)
    if is_time(schema):
        return _iso if style.naive_text or kind in (Kind.TEXT, Kind.OTHER) else None
    if is_date(schema):
        return _iso if style.naive_text or kind is Kind.TEXT else None
    if is_decimal(schema):
        return decimal_text if style.naive_text or kind is Kind.TEXT else None
    if schema is None:
        return _without_schema(target, style)
    if schema.type is Type.BOOLEAN:
        return int if kind in INTEGERS else None
    if schema.type is Type.BYTES:
        return bytes
    if schema.type is Type.ARRAY:
        return _array(schema, target, style)
    if schema.type in (Type.MAP, Type.STRUCT):
        return json_text
    if schema.type in (Type.FLOAT32, Type.FLOAT64) and style.stores is not None:
        return partial(_stored_number, style.stores)
    return None


def _array(schema: Schema, target: DatabaseType, style: ParameterStyle) -> Convert | None:
    if target.kind is not Kind.ARRAY or not style.postgres or target.element is None:
        return json_text
    inner = converter(schema.values, target.element, style)
    if inner is None:
        return list
    of_element = inner
    return lambda value: [None if item is None else of_element(item) for item in value]


def _without_schema(target: DatabaseType, style: ParameterStyle) -> Convert:
    if target.kind is Kind.ARRAY and style.postgres:
        return lambda value: json_text(value) if isinstance(value, dict) else value
    is_json = target.kind is Kind.JSON

    def convert(value: Any) -> Any:
        if isinstance(value, dict | list) or (is_json and not isinstance(value, str)):
            return json_text(value)
        if isinstance(value, float) and style.stores is not None:
            return _stored_number(style.stores, value)
        return int(value) if isinstance(value, bool) and target.kind in INTEGERS else value

    return convert


def _stored_number(stores: Callable[[float], bool], value: float) -> float:
    if stores(value):
        return value
    raise ValueError(f"{value} is a number that the database cannot store")


def _timestamp(kind: Kind, style: ParameterStyle) -> Convert | None:
    if kind is Kind.TIMESTAMP_TZ:  # in UTC, as sessions are: the drivers of MySQL ignore the time zone
        return lambda value: value if value.tzinfo is dt.UTC else _aware(value).astimezone(dt.UTC)
    if kind is Kind.DATE:
        zone = style.date_zone
        return lambda value: _stored(_aware(value).astimezone(zone).date(), style)
    if kind in INTEGERS:
        return lambda value: (_aware(value) - _EPOCH) // dt.timedelta(milliseconds=1)
    if kind is Kind.TEXT and not style.naive_text:
        return lambda value: _aware(value).isoformat()
    zone = style.zone
    if zone is dt.UTC and style.postgres:
        return lambda value: value if value.tzinfo is dt.UTC else _aware(value).astimezone(dt.UTC).replace(tzinfo=None)
    return lambda value: _stored(_aware(value).astimezone(zone).replace(tzinfo=None), style)


def _stored(value: dt.datetime | dt.date, style: ParameterStyle) -> Any:
    if not style.naive_text:
        return value
    if not isinstance(value, dt.datetime):
        return value.isoformat()
    return value.isoformat(" ", "microseconds" if value.microsecond % 1000 else "milliseconds")


def _aware(value: dt.datetime) -> dt.datetime:
    return value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)


def _iso(value: dt.date | dt.time) -> str:
    return value.isoformat()


def json_text(value: Any) -> str:
    return orjson.dumps(value, default=_json_default, option=orjson.OPT_NON_STR_KEYS).decode()


def _json_default(value: Any) -> Any:
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        import base64

        return base64.b64encode(value).decode()
    raise TypeError(f"{type(value).__name__} cannot be part of JSON")
