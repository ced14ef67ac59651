"""Parsing and narrowing of numbers as in Java."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal

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
