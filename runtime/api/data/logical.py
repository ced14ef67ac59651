"""Logical types: Decimal, Date, Time and Timestamp, and the plain types that encode them.

Connect stores times in milliseconds; smaller fractions are truncated.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from functools import lru_cache
from typing import Any

from runtime.api.data.schema import Schema, Type
from runtime.api.errors import DataError, NullPointerError

DECIMAL = "org.apache.kafka.connect.data.Decimal"
DATE = "org.apache.kafka.connect.data.Date"
TIME = "org.apache.kafka.connect.data.Time"
TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"

_PLAIN = {DECIMAL: Type.BYTES, DATE: Type.INT32, TIME: Type.INT32, TIMESTAMP: Type.INT64}

DATE_SCHEMA = Schema(Type.INT32, name=DATE, version=1)
TIME_SCHEMA = Schema(Type.INT32, name=TIME, version=1)
TIMESTAMP_SCHEMA = Schema(Type.INT64, name=TIMESTAMP, version=1)

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EPOCH_DAY = _EPOCH.toordinal()
_DAY_MS = 86_400_000
_MS = dt.timedelta(milliseconds=1)
EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Computes without rounding."""
_MOST_ZEROS = 1000
_SCALE = re.compile(r"[+-]?\d{1,19}\Z")


@lru_cache(maxsize=256)
def decimal_schema(scale: int) -> Schema:
    """The schema of decimals with `scale` digits after the decimal point."""
    return Schema(Type.BYTES, name=DECIMAL, version=1, parameters=(("scale", str(scale)),))


def logical_name(schema: Schema) -> str | None:
    """The name of the schema's logical type; None for a plain type."""
    name = schema.name
    return name if name in _PLAIN and schema.type is _PLAIN[name] else None


def scale_of(schema: Schema) -> int:
    """The scale of a Decimal schema; DataError if it is missing or invalid."""
    text = schema.parameter("scale")
    if text is None:
        kind = DataError if schema.parameters else NullPointerError
        raise kind("Invalid Decimal schema: scale parameter not found.")
    if _SCALE.match(text) and -(1 << 31) <= (scale := int(text)) < 1 << 31:
        return scale
    raise DataError("Invalid scale parameter found in Decimal schema: ")


def decimal_to_bytes(schema: Schema, value: Decimal) -> bytes:
    """The unscaled value in the fewest bytes, as big-endian two's complement; DataError for another scale."""
    scale = scale_of(schema)
    if not isinstance(value, Decimal) or not value.is_finite():
        raise DataError(f"Invalid value for Decimal: {value!r}")
    actual = -int(value.as_tuple().exponent)
    if actual != scale:
        raise DataError(f"Decimal value has mismatching scale for given Decimal schema. Schema has scale {scale}, "
                        f"value has scale {actual}.")  # fmt: skip
    unscaled = int(value.scaleb(scale, EXACT))
    return unscaled.to_bytes((8 + (unscaled if unscaled >= 0 else -1 - unscaled).bit_length()) // 8, "big", signed=True)


def decimal_from_bytes(schema: Schema, data: bytes) -> Decimal:
    """The inverse of decimal_to_bytes()."""
    return decimal_of(int.from_bytes(data, "big", signed=True), scale_of(schema))


def decimal_of(unscaled: int, scale: int) -> Decimal:
    """unscaled × 10^-scale, with exactly this scale."""
    return Decimal(unscaled).scaleb(-scale, EXACT)


def decimal_text(value: Any) -> str:
    """The digits of a decimal, with an exponent only in place of more than a thousand zeros: a scale has up to 31 bits,
    and so many zeros would fill the memory. The text of any other value."""
    return format(value, "f") if isinstance(value, Decimal) and abs(value.adjusted()) <= _MOST_ZEROS else str(value)


def to_plain(schema: Schema, value: Any) -> Any:
    """The encoded value: days, milliseconds or bytes; DataError for a value of another type."""
    name = schema.name
    if name == DECIMAL:
        return decimal_to_bytes(schema, value)
    if name == TIMESTAMP and isinstance(value, dt.datetime):
        return millis(value)
    if name == DATE and isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value.toordinal() - _EPOCH_DAY
    if name == TIME and isinstance(value, dt.time):
        return time_millis(value)
    if isinstance(value, dt.date | dt.time):
        return _of_instant(name, millis(instant(value)))
    raise DataError(f"Invalid value for {str(name).rpartition('.')[2]}: {value!r}")


def _of_instant(name: str | None, ms: int) -> int:
    """Accepts any of Python's three classes, since Java has one class for dates, times of day and timestamps."""
    if name == DATE and ms % _DAY_MS:
        raise DataError("Kafka Connect Date type should not have any time fields set to non-zero values.")
    if name == TIME and not 0 <= ms < _DAY_MS:
        raise DataError("Kafka Connect Time type should not have any date fields set to non-zero values.")
    return ms // _DAY_MS if name == DATE else ms


def from_plain(schema: Schema, value: Any) -> Any:
    """The inverse of to_plain(); DataError if Python cannot represent the value."""
    name = schema.name
    if name == DECIMAL:
        return decimal_from_bytes(schema, value)
    if name == TIMESTAMP:
        return datetime_of(value)
    return date_of(value) if name == DATE else time_of(value)


def millis(value: dt.datetime) -> int:
    """Milliseconds since 1970; a datetime without a zone is in UTC."""
    return ((value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)) - _EPOCH) // _MS


def datetime_of(ms: int) -> dt.datetime:
    """The time of milliseconds since 1970; DataError beyond Python's years 1 to 9999."""
    try:
        return _EPOCH + dt.timedelta(milliseconds=ms)
    except OverflowError as error:
        raise DataError(f"{ms} ms since 1970 is outside the years 1 to 9999") from error


def date_of(days: int) -> dt.date:
    """The date of days since 1970; DataError beyond Python's years 1 to 9999."""
    try:
        return dt.date.fromordinal(days + _EPOCH_DAY)
    except (ValueError, OverflowError) as error:
        raise DataError(f"Day {days} since 1970 is outside the years 1 to 9999") from error


def time_of(ms: int) -> dt.time:
    """The time of day of milliseconds since midnight; DataError for a day or more."""
    if not 0 <= ms < _DAY_MS:
        raise DataError("Time values must use number of milliseconds greater than 0 and less than 86400000")
    seconds, rest = divmod(ms, 1000)
    return dt.time(seconds // 3600, seconds // 60 % 60, seconds % 60, rest * 1000)


def time_millis(value: dt.time) -> int:
    """Milliseconds since midnight."""
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000


def _in_utc(value: dt.datetime) -> dt.datetime:
    """The same time in UTC; a time without a zone is UTC."""
    if value.tzinfo is None:
        return value.replace(tzinfo=dt.UTC)
    try:
        return value.astimezone(dt.UTC)
    except OverflowError as error:
        raise DataError(f"{value} is outside the years 1 to 9999 in UTC") from error


def instant(value: dt.date | dt.time | dt.datetime) -> dt.datetime:
    """The value as a java.util.Date: a date at midnight, or a time of day on January 1st 1970."""
    if isinstance(value, dt.datetime):
        return value if value.tzinfo is dt.UTC else _in_utc(value)
    if isinstance(value, dt.time):
        return dt.datetime.combine(_EPOCH.date(), value, dt.UTC)
    return dt.datetime.combine(value, dt.time(), dt.UTC)
