"""Casts values to other types with the results of Java's casts and parsers."""

from __future__ import annotations

import base64
import datetime as dt
import math
import re
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from runtime.api.data.java_text import float_text, iso_text, single_value, widened
from runtime.api.data.logical import DATE, millis, time_millis
from runtime.api.data.schema import Schema, Type
from runtime.api.errors import DataError

_BIG_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,10})?")
_LAST_BITS = 64


def big_decimal(text: str) -> Decimal | None:
    """The result of `new BigDecimal(text)`; None if the text is not a number."""
    if _BIG_DECIMAL.fullmatch(text) is None:
        return None
    number = Decimal(text)
    return number if abs(int(number.as_tuple().exponent)) < 1 << 31 else None


def low_bits(number: Decimal) -> int:
    """An integer with the same lowest 64 bits as the truncated number, without expanding a large exponent."""
    if number.adjusted() < 0 or int(number.as_tuple().exponent) >= _LAST_BITS:  # a multiple of 2^64
        return 0
    return int(number)


def nearest_single(value: int | Decimal) -> float:
    """The nearest 32-bit float. Rounding to a double first would round a number close to the midpoint of two floats as
    the midpoint."""
    try:
        double = float(value)
        [near] = struct.unpack(">f", struct.pack(">f", double))
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    if near == double or double == value:
        return float(near)
    neighbour = math.nextafter(double, math.inf if value > double else -math.inf)
    [odd] = [number for number in (double, neighbour) if struct.pack(">d", number)[-1] & 1]
    return float(struct.unpack(">f", struct.pack(">f", odd))[0])


_INTEGER = re.compile(r"[+-]?\d+\Z")  # digits of any script, as in Java, within the first 65,536 characters
_MAX_DIGITS = 400  # a number with more, without leading zeros, is out of range
_FLOAT = re.compile(r"[+-]?(NaN|Infinity|((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)[fFdD]?)\Z", re.ASCII)
_HEX_FLOAT = re.compile(r"[+-]?0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?\d+[fFdD]?\Z", re.ASCII)
_JAVA_BLANKS = "".join(map(chr, range(33)))

CASTABLE = (
    Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64, Type.BOOLEAN, Type.STRING,
)  # fmt: skip
"""Target types."""


def _range_error(value: Any) -> DataError:
    return DataError(f"Value ({value}) was out of range for requested data type")


def _wrap(number: int, bits: int) -> int:
    bound = 1 << (bits - 1)
    return (number + bound) % (2 * bound) - bound


def _saturate(number: float, bits: int) -> int:
    """A float as Java casts it to int or long: truncated, and saturated at the bounds."""
    if number != number:
        return 0
    bound = 1 << (bits - 1)
    if math.isinf(number) or not -bound <= number < bound:
        return bound - 1 if number > 0 else -bound
    return int(number)


def _integer_caster(bits: int) -> Callable[[Any], int]:
    bound = 1 << (bits - 1)

    def cast(value: Any) -> int:
        kind = type(value)
        if kind is int:
            return value if -bound <= value < bound else _wrap(value, bits)
        if kind is str:
            number = _parsed(value)
            if number is not None and -bound <= number < bound:
                return number
            raise _range_error(value)
        if kind is bool:
            return int(value)
        if kind is float:
            return _saturate(value, 64) if bits == 64 else _wrap(_saturate(value, 32), bits)
        if kind is Decimal:
            return _wrap(low_bits(value), bits)
        raise _unexpected(value)

    return cast


def _parsed(text: str) -> int | None:
    if _INTEGER.match(text) is None or max(text) > "\uffff":
        return None
    digits = text.lstrip("+-").lstrip("0")
    return int(text) if len(digits) < _MAX_DIGITS else None


def parse_double(text: str) -> float:
    """Java's Double.parseDouble(), which accepts surrounding white space, suffixes and hexadecimal numbers."""
    trimmed = text.strip(_JAVA_BLANKS)
    if _FLOAT.match(trimmed):
        return float(trimmed if trimmed[-1] in "Ny" else trimmed.rstrip("fFdD"))
    if _HEX_FLOAT.match(trimmed):
        return float.fromhex(trimmed.rstrip("fFdD") if "p" in trimmed.lower() else trimmed)
    raise _range_error(text)


def to_double(value: Any) -> float:
    """The value as a double; DataError if it cannot be cast."""
    if isinstance(value, str):
        return parse_double(value)
    if isinstance(value, bool | int | float | Decimal):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    raise _unexpected(value)


def to_single(value: Any) -> float:
    """The value as a 32-bit float, represented by the double with the same text."""
    double = to_double(value)
    if isinstance(value, str) and math.isfinite(double) and not _HEX_FLOAT.match(value.strip(_JAVA_BLANKS)):
        value = Decimal(value.strip(_JAVA_BLANKS).rstrip("fFdD"))
    return single_value(nearest_single(value) if type(value) in (int, Decimal) else double)


def to_boolean(value: Any) -> bool:
    """The value as a boolean; DataError if it cannot be cast."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.lower() == "true"
    if isinstance(value, int | float | Decimal):
        if isinstance(value, Decimal):
            return _wrap(low_bits(value), 64) != 0
        return (_saturate(value, 64) if isinstance(value, float) else value) != 0
    raise _unexpected(value)


def _unexpected(value: Any) -> DataError:
    from runtime.api.data.class_names import java_class

    return DataError(f"Unexpected type in Cast transformation: class {java_class(value)}")


def _to_string(schema: Schema | None, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value, single=schema is not None and schema.type is Type.FLOAT32)
    if isinstance(value, dt.date | dt.time):
        return iso_text(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    return str(value)


_CASTERS: dict[Type, Callable[[Any], Any]] = {
    Type.INT8: _integer_caster(8),
    Type.INT16: _integer_caster(16),
    Type.INT32: _integer_caster(32),
    Type.INT64: _integer_caster(64),
    Type.FLOAT32: to_single,
    Type.FLOAT64: to_double,
    Type.BOOLEAN: to_boolean,
}


def caster(schema: Schema | None, target: Type) -> Callable[[Any], Any]:
    """A function that casts values of this schema. Nulls are unchanged, even for types that cannot be cast."""
    if schema is not None and not schema.type.primitive:
        return _refusing(schema.type)
    cast = _CASTERS.get(target)

    def from_any(value: Any) -> Any:
        if value is None:
            return None
        if schema is None:
            _check_plain(value)
        elif isinstance(value, Decimal) and not value.is_finite():  # Java has no NaN or infinite decimals
            raise _range_error(value)
        if cast is None:
            return _to_string(schema, value)
        if isinstance(value, dt.date | dt.time):
            value = _encoded(value)
        elif schema is not None and schema.type is Type.FLOAT32 and type(value) is float:
            value = widened(value)
        return cast(value)

    return from_any


def _refusing(kind: Type) -> Callable[[Any], Any]:
    def refuse(value: Any) -> Any:
        if value is not None:
            raise _cannot(kind)

    return refuse


def _check_plain(value: Any) -> None:
    if isinstance(value, dict):
        raise _cannot(Type.MAP)
    if isinstance(value, list):
        raise _cannot(Type.ARRAY)
    if isinstance(value, dt.date | dt.time | Decimal):
        raise DataError(
            f"Cast transformation was passed a value of type {type(value).__name__} which is not supported by "
            "Connect's data API"
        )


def _cannot(kind: Type) -> DataError:
    return DataError(
        f"Cast transformation does not support casting from {kind.name}; supported types are "
        f"[{', '.join(k.name for k in (*CASTABLE, Type.BYTES))}]"
    )


def _encoded(value: dt.date | dt.time) -> int:
    from runtime.api.data.logical import to_plain

    if isinstance(value, dt.datetime):
        return millis(value)
    if isinstance(value, dt.time):
        return time_millis(value)
    return int(to_plain(Schema(Type.INT32, name=DATE), value))
