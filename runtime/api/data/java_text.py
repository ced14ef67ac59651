"""Values as Java's toString() prints them, as StringConverter and FileStreamSink write them."""

from __future__ import annotations

import datetime as dt
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from runtime.api.data.logical import instant, millis
from runtime.api.data.schema import Schema, Type

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def java_text(value: Any, schema: Schema | None = None) -> str:
    """`null`, `true`, `1.0E8`, `[1, a]`, `{a=1, b=x}` in the order of a HashMap, `Struct{a=1}`."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value, single=schema is not None and schema.type is Type.FLOAT32)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"[B@{hash(bytes(value)) & 0xFFFFFFFF:x}"  # as in Java, an identity instead of the content
    if isinstance(value, dt.date | dt.time):
        return date_text(value)
    if isinstance(value, Mapping):
        return _struct(value, schema) if schema is not None and schema.type is Type.STRUCT else _map(value, schema)
    if isinstance(value, Sequence):
        items = schema.values if schema is not None else None
        return "[" + ", ".join(java_text(item, items) for item in value) + "]"
    return str(value)


def _struct(value: Mapping[str, Any], schema: Schema) -> str:
    """Fields in the schema's order; null fields are omitted."""
    fields = []
    for field in schema.fields:
        field_value = value.get(field.name)
        if field_value is not None:
            fields.append(f"{field.name}={java_text(field_value, field.schema)}")
    return "Struct{" + ",".join(fields) + "}"


def _map(value: Mapping[Any, Any], schema: Schema | None) -> str:
    keys, values = (schema.keys, schema.values) if schema is not None else (None, None)
    pairs = [f"{java_text(key, keys)}={java_text(value[key], values)}" for key in map_order(value, keys)]
    return "{" + ", ".join(pairs) + "}"


class JavaMap(dict[Any, Any]):
    """A map that a transformation created, with the properties that determine its iteration order in Java.

    The first `copied` keys were copied from another map, `capacity` is the initial capacity if it was specified, and
    `order` returns the keys in order if the map is not a HashMap in Java."""

    __slots__ = ("capacity", "copied", "order")
    order: Callable[[], list[Any]]
    capacity: int
    copied: int

    @classmethod
    def copy_of(cls, value: Mapping[Any, Any]) -> JavaMap:
        """As `new HashMap(value)`."""
        made = cls(value)
        made.copied = len(value)
        return made

    @classmethod
    def sized(cls, capacity: int) -> JavaMap:
        """As `new HashMap(capacity)`."""
        made = cls()
        made.copied = 0
        made.capacity = capacity
        return made


def map_order(value: Mapping[Any, Any], keys: Schema | None = None) -> list[Any]:
    """The keys in the iteration order of a Java HashMap: by bucket, then by insertion. `keys` is their schema."""
    single = keys is not None and keys.type is Type.FLOAT32
    if type(value) is not JavaMap:
        return _by_bucket(list(value), 16, single)
    if hasattr(value, "order"):
        return value.order()
    items = list(value)
    buckets = 1
    default = value.copied * 4 // 3 + 1 if value.copied else 16
    capacity = value.capacity if hasattr(value, "capacity") else default
    while buckets < capacity:
        buckets *= 2
    return _by_bucket(_by_bucket(items[: value.copied], 16, single) + items[value.copied :], buckets, single)


def _by_bucket(keys: list[Any], buckets: int, single: bool) -> list[Any]:
    while len(keys) > buckets * 3 / 4:
        buckets *= 2
    return sorted(keys, key=lambda key: _spread_hash(key, single) & (buckets - 1))


def _spread_hash(key: Any, single: bool) -> int:
    code = _hash_code(key, single)
    return code ^ (code >> 16)


def _hash_code(key: Any, single: bool) -> int:
    if isinstance(key, bool):
        return 1231 if key else 1237
    if isinstance(key, int):
        return _folded(key)
    if isinstance(key, float):
        return _float_hash(key, single)
    if isinstance(key, Decimal):
        return _decimal_hash(key)
    if isinstance(key, dt.date | dt.time):
        return _folded(millis(instant(key)))
    code = 0
    units = java_text(key).encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code


def _folded(number: int) -> int:
    return (number ^ (number >> 32)) & 0xFFFFFFFF


def _float_hash(key: float, single: bool) -> int:
    if key != key:
        key = math.nan
    if single:
        return int.from_bytes(struct.pack(">f", key))
    (bits,) = struct.unpack(">q", struct.pack(">d", key))
    return _folded(int(bits))


def _decimal_hash(key: Decimal) -> int:
    sign, digits, exponent = key.as_tuple()
    left, code = int("".join(map(str, digits))), 0
    words = []
    while left:
        words.append(left & 0xFFFFFFFF)
        left >>= 32
    for word in reversed(words):
        code = 31 * code + word
    return (31 * (-code if sign else code) - int(exponent)) & 0xFFFFFFFF


def float_text(value: float, single: bool = False) -> str:
    """A double as Java prints it: `1000.0`, `1.0E8`, `1.5E-5`, `NaN`, `Infinity`."""
    if not single and (1e-3 <= value < _ALL_DIGITS or -_ALL_DIGITS < value <= -1e-3):
        return repr(value)  # Python and Java print the same text
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if single:
        value = single_value(value)
        if math.isinf(value):
            return float_text(value)
    if value == 0:
        return "-0.0" if str(value)[0] == "-" else "0.0"
    sign, digits, exponent = _decimal_of(value, single).as_tuple()
    text = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + int(exponent)  # digits before the decimal point
    minus = "-" if sign else ""
    if -3 < point <= 7:
        if point <= 0:
            return f"{minus}0.{'0' * -point}{text}"
        text = text.ljust(point, "0")
        return f"{minus}{text[:point]}.{text[point:] or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{point - 1}"


_ALL_DIGITS = 1e7  # Java prints larger whole numbers with more digits than needed


def _decimal_of(value: float, single: bool) -> Decimal:
    """The digits that Java 17 prints: the fewest that identify the value, but more for large whole numbers, down to
    half a unit in the last place."""
    if _ALL_DIGITS <= abs(value) < 2.0**63:
        exact = widened(value) if single else value
        if exact.is_integer():
            whole = int(exact)
            spare = abs(whole).bit_length() - 2 - (24 if single else 53)
            return Decimal(whole) if spare < 4 else _rounded(whole, len(str(1 << spare)) - 1)
    return Decimal(_shortest(value, single))


def _rounded(whole: int, digits: int) -> Decimal:
    """Rounds off the last digits; halves are rounded up."""
    kept, rest = divmod(abs(whole), 10**digits)
    kept += rest >= 10**digits // 2
    return Decimal((int(whole < 0), tuple(map(int, str(kept))), digits))


def _shortest(value: float, single: bool) -> str:
    """The fewest digits that identify the value, but at least two for the smallest values: `4.9E-324`."""
    text = repr(value)
    if abs(value) > (1e-43 if single else 1e-321) or "." in text:
        return text
    exact = struct.unpack(">f", struct.pack(">f", value))[0] if single else value
    return f"{exact:.1e}"


def shortest_single(value: float) -> str:
    """The fewest digits that identify a 32-bit float; OverflowError if the value is too large for one."""
    packed = struct.pack(">f", value)
    value = struct.unpack(">f", packed)[0]
    for digits in range(1, 9):
        text = f"{value:.{digits}g}"
        try:
            if struct.pack(">f", float(text)) == packed:
                return text
        except OverflowError:  # rounded up beyond the largest float
            continue
    return f"{value:.9g}"


def single_value(value: float) -> float:
    """The value rounded to a 32-bit float, as the double that has the same text."""
    if value != value or math.isinf(value):
        return value
    try:
        single = float(shortest_single(value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return single if abs(single) < _ALL_DIGITS else float(_decimal_of(single, True))


def single_of_whole(number: int) -> float:
    """A whole number as a 32-bit float. Converting it to a double first would round it twice."""
    spare = abs(number).bit_length() - 24
    if spare <= 0:
        return float(number)
    kept, rest = divmod(abs(number), 1 << spare)
    half = 1 << (spare - 1)
    kept += rest > half or (rest == half and kept & 1)
    return single_value(math.copysign(float(kept << spare), number))


def widened(value: float) -> float:
    """A 32-bit float with all the digits that it has as a double."""
    return float(struct.unpack(">f", struct.pack(">f", value))[0]) if math.isfinite(value) else value


def date_text(value: dt.date | dt.time | dt.datetime) -> str:
    """`Thu Jan 01 00:00:00 UTC 1970`, also for dates and times of day, which share a class in Java."""
    time = instant(value)
    day, month = _DAYS[time.weekday()], _MONTHS[time.month - 1]
    return f"{day} {month} {time.day:02} {time:%H:%M:%S} UTC {time.year}"


def iso_text(value: dt.date | dt.time | dt.datetime) -> str:
    """`2019-08-23`, `14:34:54.346Z` or `2019-08-23T14:34:54.346Z`; the time alone determines the format."""
    time = instant(value)
    date, clock = f"{time.year:04}-{time:%m-%d}", f"{time:%H:%M:%S}.{time.microsecond // 1000:03}Z"
    if time.year <= 1970 and (time.year < 1970 or time.timetuple().tm_yday == 1):
        return clock
    return date if clock == "00:00:00.000Z" else f"{date}T{clock}"
