"""Casts of Arrow's columns that refuse what Arrow itself would change without an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from runtime.api.errors import DataError
from runtime.connectors.files.arrow_types import MAX_PRECISION

_types = pa.types
_ROUNDING = {32: 2.0**-20, 64: 2.0**-48}
"""The most by which a floating-point number may differ from its decimal, in relation to its size: the error of a
binary fraction and of a few additions."""
_INTEGER_DIGITS = 20


def cast(column: Any, kind: Any) -> Any:
    """A column as another type that is not nested. DataError, or an error of Arrow, if a value does not fit."""
    given = column.type
    if _is_time_and_number(given, kind):
        raise DataError(
            "integers have no unit of time, so that they are not converted to timestamps, nor timestamps to integers: "
            "use the transformation TimestampConverter, or a query with timestamp_millis() or unix_micros()"
        )
    if _types.is_integer(given) and _types.is_date(kind):
        return column.cast(pa.int32()).cast(kind)  # days since 1970, as Connect's Date
    if _types.is_integer(given) and _types.is_decimal(kind):
        return column.cast(pa.decimal128(_INTEGER_DIGITS)).cast(kind)  # Arrow would ask for room for all integers
    if _types.is_string(given) and _types.is_floating(kind):
        made = column.cast(pa.float64())
        _refuse(made, column, kind, pc.and_(pc.is_inf(made), pc.invert(_names_infinity(column))))
        return cast(made, kind)
    made = (
        _shortest_decimals(column, kind) if _types.is_floating(given) and _types.is_decimal(kind) else column.cast(kind)
    )
    if (changed := _check(given, kind)) is not None:
        _refuse(made, column, kind, changed(made, column))
    return made


def _shortest_decimals(column: Any, kind: Any) -> Any:
    """As Spark, from the shortest text of each number: 0.1 is not 0.1000000000000000055."""
    digits = column.cast(pa.string()).cast(pa.decimal256(2 * MAX_PRECISION, kind.scale + MAX_PRECISION))
    return pc.round(digits, kind.scale).cast(kind)


def _is_time_and_number(given: Any, kind: Any) -> bool:
    return any(_types.is_timestamp(a) and _types.is_integer(b) for a, b in ((given, kind), (kind, given)))


def _check(given: Any, kind: Any) -> Callable[[Any, Any], Any] | None:
    """A function that returns which values of such a cast have changed; None if Arrow checks them."""
    if _types.is_boolean(kind) and (_types.is_integer(given) or _types.is_floating(given)):
        return _is_other_when_cast_back
    if _types.is_date(kind) and _types.is_timestamp(given):
        return _is_other_when_cast_back
    if _types.is_floating(kind) and (_types.is_floating(given) or _types.is_decimal(given)):
        return _left_the_range
    if _types.is_decimal(kind) and _types.is_floating(given):
        return _lost_digits
    return None


def _is_other_when_cast_back(made: Any, column: Any) -> Any:
    return pc.not_equal(made.cast(column.type), column)


def _left_the_range(made: Any, column: Any) -> Any:
    """Which numbers have become infinite or zero."""
    numbers = column.cast(pa.float64())
    endless = pc.and_(pc.is_inf(made), pc.invert(pc.is_inf(numbers)))
    return pc.or_(endless, pc.and_(pc.equal(made, 0), pc.not_equal(numbers, 0)))


def _lost_digits(made: Any, column: Any) -> Any:
    numbers, tolerance = column.cast(pa.float64()), _ROUNDING[max(column.type.bit_width, 32)]
    return pc.greater(pc.abs(pc.subtract(made.cast(pa.float64()), numbers)), pc.multiply(pc.abs(numbers), tolerance))


def _names_infinity(texts: Any) -> Any:
    return pc.match_substring(texts, "inf", ignore_case=True)


def _refuse(made: Any, column: Any, kind: Any, changed: Any) -> None:
    if made.null_count < len(made) and pc.any(changed).as_py():
        raise DataError(f"{column.filter(changed)[0].as_py()} cannot be stored as {kind} without a change")
