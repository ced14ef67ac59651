"""Columns of a source table: their schemas, and the conversion of their values to those of records."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from runtime.api.data.logical import DATE_SCHEMA, EXACT, TIME_SCHEMA, TIMESTAMP_SCHEMA, decimal_schema, decimal_text
from runtime.api.data.schema import Schema, Type
from runtime.connectors.jdbc.modes import Granularity, NumericMapping, ZeroDates
from runtime.connectors.jdbc.source.odd_times import present_time
from runtime.connectors.jdbc.types import (
    JSON_NAME,
    MICRO_TIMESTAMP_NAME,
    NANO_TIMESTAMP_NAME,
    TIMESTAMPS,
    UUID_NAME,
    ColumnInfo,
    DatabaseType,
    Kind,
    UndecodedText,
)

Column = Sequence[Any]
Convert = Callable[[Any], Any]
"""Converts one value that is not None."""

VALUE_ERRORS = (ValueError, TypeError, ArithmeticError)
"""What conversions raise for values that cannot be fields."""

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICRO = dt.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class ValueMapping:
    """The settings that choose schemas. `exact_driver`: the driver returns values of the columns' own types, so that
    only values that Connect has no type for are converted."""

    numeric: NumericMapping = NumericMapping.NONE
    granularity: Granularity = Granularity.CONNECT_LOGICAL
    zone: dt.tzinfo = dt.UTC
    exact_driver: bool = False
    zero_dates: ZeroDates = ZeroDates.FAIL


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column that is read: `as_text` selects its text instead of its value; `convert` is None for values that are
    used as they are."""

    name: str
    type: DatabaseType
    schema: Schema
    as_text: bool
    convert: Convert | None

    def values(self, column: Column) -> Column:
        """The values of the records."""
        convert = self.convert
        if convert is None:
            has_odd = self.type.kind in _TIMES and str in set(map(type, column))
            return list(map(present_time, column)) if has_odd else column
        return [None if value is None else convert(value) for value in column]

    def each(self, column: Column, failed: Callable[[int, Exception], object]) -> Column:
        """The values of the records, one by one; None for those that cannot be converted, whose indices and errors
        `failed` is called with."""
        values: list[Any] = []
        for index, value in enumerate(column):
            try:
                values += self.values([value])
            except VALUE_ERRORS as error:
                failed(index, error)
                values.append(None)
        return values


_PLAIN = {
    Kind.BOOLEAN: Type.BOOLEAN,
    Kind.INT8: Type.INT8,
    Kind.INT16: Type.INT16,
    Kind.INT32: Type.INT32,
    Kind.INT64: Type.INT64,
    Kind.FLOAT32: Type.FLOAT32,
    Kind.FLOAT64: Type.FLOAT64,
    Kind.BYTES: Type.BYTES,
}
_PYTHON: dict[Kind, Convert] = {
    Kind.BOOLEAN: lambda value: any(value) if isinstance(value, bytes) else bool(value),  # bytes: BIT(1) of MySQL
    Kind.INT8: int,
    Kind.INT16: int,
    Kind.INT32: int,
    Kind.INT64: int,
    Kind.FLOAT32: float,
    Kind.FLOAT64: float,
}
_TIMES = TIMESTAMPS | {Kind.DATE, Kind.TIME}
_CAST = frozenset({Kind.UUID, Kind.JSON, Kind.OTHER})


def source_column(info: ColumnInfo, mapping: ValueMapping) -> SourceColumn:
    """How this column is read."""
    schema, convert = _mapped(info.type, mapping)
    nullable = info.nullable
    if convert is not None and (info.type.kind in TIMESTAMPS or info.type.kind is Kind.DATE):
        convert = _with_zero_dates(convert, mapping.zero_dates)
        nullable |= mapping.zero_dates is ZeroDates.NULL
    if nullable:
        schema = schema.replace(optional=True)
    leaf = info.type.element.kind if info.type.element is not None else info.type.kind
    return SourceColumn(info.name, info.type, schema, leaf in _CAST, convert)


def _mapped(database_type: DatabaseType, mapping: ValueMapping) -> tuple[Schema, Convert | None]:
    kind, exact = database_type.kind, mapping.exact_driver
    if kind in _PLAIN:
        if kind is Kind.BYTES:
            return Schema(Type.BYTES), None if exact else bytes
        return Schema(_PLAIN[kind]), None if exact else _PYTHON[kind]
    if kind is Kind.DECIMAL:
        return _decimal(database_type, mapping)
    if kind in TIMESTAMPS:
        return _timestamp(kind, mapping)
    if kind is Kind.DATE:
        return DATE_SCHEMA, None if exact else as_date
    if kind is Kind.TIME:
        return TIME_SCHEMA, None if exact else as_time
    if kind is Kind.ARRAY and database_type.element is not None:
        return _array(database_type.element, mapping)
    name = {Kind.UUID: UUID_NAME, Kind.JSON: JSON_NAME}.get(kind)
    schema = Schema(Type.STRING, name=name, version=1 if name else None)
    return schema, None if exact else _valid_text


def _array(element: DatabaseType, mapping: ValueMapping) -> tuple[Schema, Convert | None]:
    schema, convert = _mapped(element, mapping)
    array = Schema(Type.ARRAY, values=schema.replace(optional=True))
    if convert is None and element.kind in _TIMES:
        convert = present_time

    def flat(value: Any) -> Any:
        """PostgreSQL declares no number of dimensions, so that only a value shows them."""
        if any(isinstance(item, list) for item in value):
            raise ValueError("it is an array of arrays, for which Connect has no schema; read it as text with query")
        return value if convert is None else [None if item is None else convert(item) for item in value]

    return array, flat


def _decimal(database_type: DatabaseType, mapping: ValueMapping) -> tuple[Schema, Convert | None]:
    precision, scale, numeric = database_type.precision, database_type.scale, mapping.numeric
    fitting = numeric in (NumericMapping.BEST_FIT, NumericMapping.BEST_FIT_EAGER_DOUBLE)
    if precision is None and scale is None:
        return (Schema(Type.FLOAT64), float) if fitting else (Schema(Type.STRING), decimal_text)
    scale = scale or 0
    small = precision is not None and precision < 19
    if numeric is not NumericMapping.NONE and scale == 0 and small:
        assert precision is not None
        return Schema(_integer(precision)), int
    eager = numeric is NumericMapping.BEST_FIT_EAGER_DOUBLE
    if scale > 0 and (eager or (numeric is NumericMapping.BEST_FIT and small)):
        return Schema(Type.FLOAT64), float
    if mapping.exact_driver and scale >= 0:
        return decimal_schema(scale), _finite
    unit = Decimal(1).scaleb(-scale)
    return decimal_schema(scale), lambda value: _rounded(value, unit)


def _integer(precision: int) -> Type:
    """The smallest type for integers of this many digits."""
    if precision < 3:
        return Type.INT8
    if precision < 5:
        return Type.INT16
    return Type.INT32 if precision < 10 else Type.INT64


def _finite(number: Decimal) -> Decimal:
    """PostgreSQL's NUMERIC has NaN and infinities, which a Decimal of Connect, an integer with a scale, has not."""
    if number.is_finite():
        return number
    raise ValueError(f"{number} has no Decimal in Connect; numeric.mapping=best_fit_eager_double keeps it as FLOAT64")


def _rounded(value: Any, unit: Decimal) -> Decimal:
    number = value if isinstance(value, Decimal) else Decimal(str(value))
    return _finite(number).quantize(unit, context=EXACT)


def _timestamp(kind: Kind, mapping: ValueMapping) -> tuple[Schema, Convert | None]:
    granularity, zone = mapping.granularity, zone_of(kind, mapping.zone)
    if granularity is Granularity.CONNECT_LOGICAL:
        plain = mapping.exact_driver and (kind is Kind.TIMESTAMP_TZ or mapping.zone is dt.UTC)
        return TIMESTAMP_SCHEMA, None if plain else lambda value: as_instant(value, zone)
    schema, of_micros = _GRANULARITIES[granularity]
    return schema, lambda value: of_micros(micros(as_instant(value, zone)))


_ZERO_DATE = re.compile(r"0000-|\d{4}-(00|\d\d-00)")


def is_zero_date(value: Any) -> bool:
    """Whether this is a date of MySQL without a year, month or day, of which drivers return the text."""
    return isinstance(value, str) and _ZERO_DATE.match(value) is not None


def _with_zero_dates(convert: Convert, treatment: ZeroDates) -> Convert:
    def date(value: Any) -> Any:
        if not is_zero_date(value):
            return convert(value)
        if treatment is ZeroDates.FAIL:
            raise ValueError(f"{value} is not a date; set zero.dates to null or epoch")
        return None if treatment is ZeroDates.NULL else convert(_EPOCH)

    return date


def zone_of(kind: Kind, zone: dt.tzinfo) -> dt.tzinfo:
    """The time zone of a driver's timestamps that have none; `zone` is that of columns without a time zone. Sessions
    are in UTC."""
    return dt.UTC if kind is Kind.TIMESTAMP_TZ else zone


def micros(moment: dt.datetime) -> int:
    """Microseconds since 1970."""
    return (moment - _EPOCH) // _MICRO


def from_micros(count: int) -> dt.datetime:
    """The inverse of micros(), in UTC."""
    return _EPOCH + dt.timedelta(microseconds=count)


def _iso(count: int) -> str:
    return from_micros(count).replace(tzinfo=None).isoformat("T", "microseconds")


_GRANULARITIES: dict[Granularity, tuple[Schema, Callable[[int], Any]]] = {
    Granularity.MICROS_LONG: (Schema(Type.INT64, name=MICRO_TIMESTAMP_NAME, version=1), int),
    Granularity.MICROS_STRING: (Schema(Type.STRING), str),
    Granularity.MICROS_ISO: (Schema(Type.STRING), _iso),
    Granularity.NANOS_LONG: (
        Schema(Type.INT64, name=NANO_TIMESTAMP_NAME, version=1),
        lambda count: count * 1000,
    ),
    Granularity.NANOS_STRING: (Schema(Type.STRING), lambda count: str(count * 1000)),
    Granularity.NANOS_ISO: (Schema(Type.STRING), lambda count: f"{_iso(count)}000"),
}


def as_instant(value: Any, zone: dt.tzinfo) -> dt.datetime:
    """A timestamp with a time zone, from a driver's value: a datetime, a text in ISO 8601 or milliseconds since 1970.
    ValueError for anything else."""
    if isinstance(value, int | float):
        return from_micros(round(value * 1000))
    moment = value if isinstance(value, dt.datetime) else dt.datetime.fromisoformat(str(value))
    return moment if moment.tzinfo is not None else _in_zone(moment, zone)


def _in_zone(moment: dt.datetime, zone: dt.tzinfo) -> dt.datetime:
    """A local time. One that occurs twice, since clocks are set back, is that after the change, as for Java and
    PostgreSQL."""
    local = moment.replace(tzinfo=zone)
    if zone is dt.UTC:
        return local
    again = local.replace(fold=1)
    before, after = local.utcoffset(), again.utcoffset()
    return again if before is not None and after is not None and after < before else local


def as_date(value: Any) -> dt.date:
    """A date, from a driver's value; ValueError if it is none."""
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, int | float):
        return from_micros(round(value * 1000)).date()
    return value if isinstance(value, dt.date) else dt.date.fromisoformat(str(value)[:10])


def as_time(value: Any) -> dt.time:
    """A time of day, from a driver's value; ValueError if it is none."""
    if isinstance(value, dt.timedelta):
        if not dt.timedelta() <= value < dt.timedelta(days=1):
            raise ValueError(f"{value} is not a time of day")
        return (dt.datetime.min + value).time()
    if isinstance(value, int | float):
        return from_micros(round(value * 1000)).time()
    return value if isinstance(value, dt.time) else dt.time.fromisoformat(str(value))


def _valid_text(value: Any) -> str:
    """As as_text(); ValueError for a text that is not UTF-8."""
    return value.decode() if isinstance(value, UndecodedText) else as_text(value)


def as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, dict | list):
        import orjson

        return orjson.dumps(value).decode()
    return str(value)


_INFERRED: dict[type, Kind] = {
    bool: Kind.BOOLEAN,
    int: Kind.INT64,
    float: Kind.FLOAT64,
    bytes: Kind.BYTES,
    dt.datetime: Kind.TIMESTAMP,
    dt.date: Kind.DATE,
    dt.time: Kind.TIME,
}


def inferred(name: str, column: Column) -> ColumnInfo:
    """A column whose type the database does not tell, from the values of a batch; text if they are of several types."""
    types = set(map(type, column)) - {type(None)}
    if types == {int, float}:
        return ColumnInfo(name, DatabaseType(Kind.FLOAT64))
    kind = _INFERRED.get(types.pop(), Kind.TEXT) if len(types) == 1 else Kind.TEXT
    if kind is Kind.TIMESTAMP and any(value is not None and value.tzinfo is not None for value in column):
        kind = Kind.TIMESTAMP_TZ
    return ColumnInfo(name, DatabaseType(kind))
