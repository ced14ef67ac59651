"""The schema and the conversion of each type of PostgreSQL, as Debezium's PostgreSQL connector maps them."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import orjson

from runtime.api.data.logical import (
    DATE_SCHEMA,
    EXACT,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    date_of,
    decimal_of,
    logical_name,
    time_of,
)
from runtime.api.data.schema import Field, Schema, Type
from runtime.connectors.postgres.catalog import PgType
from runtime.connectors.postgres.definition import ValueModes
from runtime.connectors.postgres.modes import Binary, Decimals, HStores, Intervals, TimePrecision
from runtime.connectors.postgres.values import names, nested, temporal
from runtime.connectors.unchanged import Placeholder

Convert = Callable[[bytes], Any]
"""From PostgreSQL's text to a value."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """A type's schema, without `optional` and default, and its conversion. `unchanged` stands for a large value that an
    update has not changed, None if nothing can; `missing` for a required value that PostgreSQL has not sent with a
    key."""

    schema: Schema
    convert: Convert
    unchanged: Any = None
    missing: Any = None


def mapped(kind: PgType, modifier: int, modes: ValueModes) -> Mapped | None:
    """The mapping of a column; None if its type is unknown, and such columns are left out."""
    modifier = modifier if modifier >= 0 else kind.modifier
    if kind.element is not None:
        return _array(kind.element, modifier, modes)
    if kind.kind == "e":
        schema = Schema(Type.STRING, name=names.ENUM, version=1, parameters=(("allowed", ",".join(kind.labels)),))
        return Mapped(schema, bytes.decode, modes.placeholder, "")
    if kind.name in _SIMPLE:
        of, convert, missing = _SIMPLE[kind.name]
        return Mapped(Schema(of), convert, modes.placeholder if of is Type.STRING else None, missing)
    if kind.name in _NAMED:
        schema = Schema(Type.STRING, name=_NAMED[kind.name], version=1)
        return Mapped(schema, bytes.decode, modes.placeholder, "")
    if kind.name in _BUILT:
        return _BUILT[kind.name](modifier, modes)
    return _binary(modes, bytes) if modes.unknown_types else None


def _boolean(text: bytes) -> bool:
    return text == b"t"


_TEXTS = (
    "text", "varchar", "bpchar", "char", "name", "citext", "inet", "cidr", "macaddr", "macaddr8", "int4range",
    "int8range", "numrange", "tsrange", "tstzrange", "daterange",
)  # fmt: skip
_SIMPLE: dict[str, tuple[Type, Convert, Any]] = {
    "bool": (Type.BOOLEAN, _boolean, False),
    "int2": (Type.INT16, int, 0),
    "int4": (Type.INT32, int, 0),
    "int8": (Type.INT64, int, 0),
    "oid": (Type.INT64, int, 0),
    "float4": (Type.FLOAT32, float, 0.0),
    "float8": (Type.FLOAT64, float, 0.0),
    **dict.fromkeys(_TEXTS, (Type.STRING, bytes.decode, "")),
}
_NAMED = {
    "json": names.JSON,
    "jsonb": names.JSON,
    "xml": names.XML,
    "uuid": names.UUID,
    "ltree": names.LTREE,
}


def _array(element: PgType, modifier: int, modes: ValueModes) -> Mapped | None:
    item = mapped(element, modifier, modes)
    if item is None or element.element is not None:
        return None
    schema = Schema(Type.ARRAY, values=item.schema.replace(optional=element.kind != "e"))
    convert = item.convert

    def converted(text: bytes) -> list[Any]:
        items = nested.elements(text.decode())
        if any(isinstance(part, list) for part in items):
            raise ValueError("it is an array of arrays, for which Debezium has no schema")
        return [None if part is None else convert(part.encode()) for part in items]

    return Mapped(schema, converted, _unchanged_array(item, Placeholder(modes.placeholder)), [])


def _unchanged_array(item: Mapped, placeholder: Placeholder) -> list[Any] | None:
    if item.schema.name == names.UUID:
        return [placeholder.uuid]
    if item.unchanged is not None:
        return [item.unchanged]
    if item.schema.type in (Type.FLOAT32, Type.FLOAT64):
        return [float(number) for number in placeholder.numbers]
    is_whole = item.schema.type in (Type.INT16, Type.INT32, Type.INT64) and logical_name(item.schema) is None
    return placeholder.numbers if is_whole else None


def numeric_scale(modifier: int) -> tuple[int, int]:
    """Precision and scale of numeric's modifier; the scale may be negative."""
    packed = modifier - 4
    return packed >> 16 & 0xFFFF, ((packed & 0x7FF) ^ 1024) - 1024


_VARIABLE = Schema(
    Type.STRUCT, name=names.VARIABLE_DECIMAL, version=1, doc="Variable scaled decimal",
    fields=(Field("scale", Schema(Type.INT32)), Field("value", Schema(Type.BYTES))),
)  # fmt: skip


def decimal_schema(scale: int, precision: int | None = None) -> Schema:
    """Connect's Decimal, with the precision that Debezium adds."""
    parameters = [("scale", str(scale))]
    if precision is not None:
        parameters.append(("connect.decimal.precision", str(precision)))
    return Schema(Type.BYTES, name="org.apache.kafka.connect.data.Decimal", version=1, parameters=tuple(parameters))


def _numeric(modifier: int, modes: ValueModes) -> Mapped:
    if modes.decimals is Decimals.DOUBLE:
        return Mapped(Schema(Type.FLOAT64), float, None, 0.0)
    precision, scale = numeric_scale(modifier) if modifier >= 0 else (0, 0)
    if modes.decimals is Decimals.STRING:
        return Mapped(Schema(Type.STRING), bytes.decode, modes.placeholder, str(Decimal(0).scaleb(-max(scale, 0))))
    if modifier < 0:
        return Mapped(_VARIABLE, _variable, None, _variable(b"0"))
    return Mapped(decimal_schema(scale, precision), partial(_decimal, scale), None, Decimal(0).scaleb(-scale))


def _finite(text: bytes) -> Decimal:
    number = Decimal(text.decode())
    if not number.is_finite():
        raise ValueError(f"{number} has no Decimal in Connect; decimal.handling.mode=double keeps it")
    return number


def _decimal(scale: int, text: bytes) -> Decimal:
    number = _finite(text)
    return number if scale >= 0 else decimal_of(int(number) // 10**-scale, scale)


def _variable(text: bytes) -> dict[str, Any]:
    """Without zeros at the end of the fraction."""
    sign, digits, exponent = _finite(text).as_tuple()
    assert isinstance(exponent, int)
    unscaled = int(Decimal((0, digits, 0)))
    while exponent < 0 and unscaled % 10 == 0:
        unscaled, exponent = unscaled // 10, exponent + 1
    if exponent > 0:
        unscaled, exponent = unscaled * 10**exponent, 0
    unscaled = -unscaled if sign else unscaled
    size = (8 + (unscaled if unscaled >= 0 else -1 - unscaled).bit_length()) // 8
    return {"scale": -exponent, "value": unscaled.to_bytes(size, "big", signed=True)}


def _money(_: int, modes: ValueModes) -> Mapped:
    unit = Decimal(1).scaleb(-modes.money_digits)

    def number(text: bytes) -> Decimal:
        return Decimal(text.decode().translate(_NO_CURRENCY)).quantize(unit, context=EXACT)

    if modes.decimals is Decimals.STRING:
        return Mapped(Schema(Type.STRING), lambda text: str(number(text)), None, str(Decimal(0).quantize(unit)))
    if modes.decimals is Decimals.DOUBLE:
        return Mapped(Schema(Type.FLOAT64), lambda text: float(number(text)), None, 0.0)
    return Mapped(decimal_schema(modes.money_digits), number, None, Decimal(0).quantize(unit))


_NO_CURRENCY = str.maketrans("", "", "$, ")

_ENCODINGS: dict[Binary, Callable[[bytes], Any]] = {
    Binary.BYTES: bytes,
    Binary.BASE64: lambda data: base64.b64encode(data).decode(),
    Binary.BASE64_URL: lambda data: base64.urlsafe_b64encode(data).decode(),
    Binary.HEX: bytes.hex,
}


def _binary(modes: ValueModes, decoded: Callable[[bytes], bytes]) -> Mapped:
    encode = _ENCODINGS[modes.binary]
    schema = Schema(Type.BYTES if modes.binary is Binary.BYTES else Type.STRING)
    unchanged = modes.placeholder.encode() if modes.binary is Binary.BYTES else modes.placeholder
    return Mapped(schema, lambda text: encode(decoded(text)), unchanged, encode(b""))


def _bytea(_: int, modes: ValueModes) -> Mapped:
    return _binary(modes, lambda text: bytes.fromhex(text[2:].decode()))


def _bits(modifier: int, modes: ValueModes) -> Mapped:
    if modifier == 1:
        return Mapped(Schema(Type.BOOLEAN), lambda text: text == b"1", None, False)
    length = modifier if modifier > 0 else (1 << 31) - 1
    return Mapped(Schema(Type.BYTES, name=names.BITS, version=1, parameters=(("length", str(length)),)), _bit_bytes,
                  None, b"")  # fmt: skip


def _bit_bytes(text: bytes) -> bytes:
    """In the order of java.util.BitSet: the last bit first, without bytes that are zero at the end."""
    number = int(text or b"0", 2)
    return number.to_bytes((number.bit_length() + 7) // 8, "little")


def _precision(modifier: int) -> int:
    """Digits of the second."""
    return modifier if 0 <= modifier <= 6 else 6


def _date(_: int, modes: ValueModes) -> Mapped:
    if modes.times is TimePrecision.CONNECT:
        return Mapped(DATE_SCHEMA, lambda text: date_of(temporal.days(text.decode())), None, dt.date(1970, 1, 1))
    return Mapped(Schema(Type.INT32, name=names.DATE, version=1), lambda text: temporal.days(text.decode()), None, 0)


def _time(modifier: int, modes: ValueModes) -> Mapped:
    def micros(text: bytes) -> int:
        return temporal.time_micros(text.decode())

    if modes.times is TimePrecision.CONNECT:
        return Mapped(TIME_SCHEMA, lambda text: time_of(micros(text) // 1000), None, dt.time())
    if modes.times is TimePrecision.ADAPTIVE and _precision(modifier) <= 3:
        return Mapped(Schema(Type.INT32, name=names.TIME, version=1), lambda text: micros(text) // 1000, None, 0)
    return Mapped(Schema(Type.INT64, name=names.MICRO_TIME, version=1), micros, None, 0)


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def _timestamp(modifier: int, modes: ValueModes) -> Mapped:
    def micros(text: bytes) -> int:
        return temporal.timestamp_micros(text.decode())

    def moment(text: bytes) -> dt.datetime:
        return _EPOCH + dt.timedelta(microseconds=micros(text))

    if modes.times is TimePrecision.CONNECT:
        return Mapped(TIMESTAMP_SCHEMA, moment, None, _EPOCH)
    if _precision(modifier) <= 3:
        return Mapped(Schema(Type.INT64, name=names.TIMESTAMP, version=1), lambda text: micros(text) // 1000, None, 0)
    return Mapped(Schema(Type.INT64, name=names.MICRO_TIMESTAMP, version=1), micros, None, 0)


def _timestamptz(modifier: int, modes: ValueModes) -> Mapped:
    digits = _precision(modifier)
    schema = Schema(Type.STRING, name=names.ZONED_TIMESTAMP, version=1)
    return Mapped(schema, lambda text: temporal.zoned_timestamp(text.decode(), digits), None, "1970-01-01T00:00:00Z")


def _timetz(_: int, modes: ValueModes) -> Mapped:
    schema = Schema(Type.STRING, name=names.ZONED_TIME, version=1)
    return Mapped(schema, lambda text: temporal.zoned_time(text.decode()), None, "00:00:00Z")


def _interval(_: int, modes: ValueModes) -> Mapped:
    if modes.intervals is Intervals.STRING:
        schema = Schema(Type.STRING, name=names.INTERVAL, version=1)
        return Mapped(schema, lambda text: temporal.interval_text(text.decode()), None, "P0Y0M0DT0H0M0S")
    schema = Schema(Type.INT64, name=names.MICRO_DURATION, version=1)
    return Mapped(schema, lambda text: temporal.interval_micros(text.decode()), None, 0)


def _point(_: int, modes: ValueModes) -> Mapped:
    fields = {"x": Schema(Type.FLOAT64), "y": Schema(Type.FLOAT64), "wkb": Schema(Type.BYTES, optional=True),
              "srid": Schema(Type.INT32, optional=True)}  # fmt: skip
    schema = Schema(
        Type.STRUCT, name=names.POINT, version=1, doc="Geometry (POINT)",
        fields=tuple(Field(name, schema) for name, schema in fields.items()),
    )  # fmt: skip
    return Mapped(schema, lambda text: nested.point(text.decode()), None, nested.point("(0,0)"))


def _hstore(_: int, modes: ValueModes) -> Mapped:
    placeholder = Placeholder(modes.placeholder)
    if modes.hstores is HStores.MAP:
        schema = Schema(Type.MAP, keys=Schema(Type.STRING), values=Schema(Type.STRING, optional=True))
        return Mapped(schema, lambda text: nested.pairs(text.decode()), placeholder.pairs, {})
    schema = Schema(Type.STRING, name=names.JSON, version=1)
    return Mapped(schema, lambda text: orjson.dumps(nested.pairs(text.decode())).decode(), placeholder.json_pairs, "{}")


_BUILT: dict[str, Callable[[int, ValueModes], Mapped]] = {
    "numeric": _numeric,
    "money": _money,
    "bytea": _bytea,
    "bit": _bits,
    "varbit": _bits,
    "date": _date,
    "time": _time,
    "timetz": _timetz,
    "timestamp": _timestamp,
    "timestamptz": _timestamptz,
    "interval": _interval,
    "point": _point,
    "hstore": _hstore,
}
