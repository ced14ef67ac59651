"""Conversion of Connect's values to the arguments of message classes, compiled once for each schema."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from runtime.api.data.logical import DATE, DECIMAL, TIME, date_of, instant, millis, to_plain
from runtime.api.data.schema import Schema, Type
from runtime.api.errors import DataError
from runtime.converters.protobuf.known import TYPE
from runtime.converters.protobuf.options import ProtobufOptions
from runtime.converters.protobuf.schema import LOGICAL, enum_parameter, is_union, is_wrapped, scrubbed

FromConnect = Callable[[Any], Any]
_BITS = {"uint32": 32, "fixed32": 32, "uint64": 64, "fixed64": 64}


class ValueWriter:
    """Converts values to arguments; for a struct a dictionary of its fields that have a value."""

    def __init__(self, options: ProtobufOptions) -> None:
        self._options = options

    def struct(self, schema: Schema) -> tuple[FromConnect, bool]:
        """A function that converts structs, and whether it leaves every value but null as it is."""
        plan = [
            (self._scrubbed(f.name), f.name, self.value(f.schema), self._default(f.schema), is_union(f.schema))
            for f in schema.fields
        ]
        unchanged = all(
            target == name and convert is None and default is None and not union
            for target, name, convert, default, union in plan
        )

        def convert_struct(struct: Any) -> dict[str, Any]:
            if not isinstance(struct, Mapping):
                raise DataError(f"Invalid value of type {type(struct).__name__} for a struct {schema.name or ''}")
            made = {}
            for target, name, convert, default, union in plan:
                value = struct.get(name)
                if value is None:
                    value = default
                    if value is None:
                        continue
                converted = value if convert is None else convert(value)
                if union:
                    made.update(converted)
                elif converted is not None:
                    made[target] = converted
            return made

        return convert_struct, unchanged

    def value(self, schema: Schema, in_union: bool = False) -> FromConnect | None:
        """A function that converts values other than null; None if no conversion is needed."""
        if schema.name in LOGICAL:
            return _logical(schema)
        if schema.type is Type.STRUCT:
            return self._union(schema) if is_union(schema) else self.struct(schema)[0]
        if schema.type is Type.ARRAY:
            return self._array(schema)
        if schema.type is Type.MAP:
            return self._map(schema)
        return self._wrapped(schema, self._scalar(schema), in_union)

    def _scalar(self, schema: Schema) -> FromConnect | None:
        parameter = enum_parameter(schema, self._options.generalized_sum_type_support)
        if parameter is not None and schema.type is Type.STRING:
            return _symbol(schema, parameter)
        if schema.type is Type.BYTES:
            return bytes
        bits = _BITS.get(schema.parameter(TYPE) or "") if schema.type is Type.INT64 else None
        if bits is None:
            return None
        mask = (1 << bits) - 1
        return lambda value: value & mask

    def _wrapped(self, schema: Schema, convert: FromConnect | None, in_union: bool) -> FromConnect | None:
        if not is_wrapped(schema, self._options, in_union):
            return convert
        if enum_parameter(schema, self._options.generalized_sum_type_support) is not None:
            return convert
        return lambda value: {"value": value if convert is None else convert(value)}

    def _array(self, schema: Schema) -> FromConnect | None:
        convert = self.value(schema.element())
        return convert and (lambda values: [convert(value) for value in values])

    def _map(self, schema: Schema) -> FromConnect:
        of_key, of_value = self.value(schema.key()), self.value(schema.element())

        def entry(key: Any, value: Any) -> dict[str, Any]:
            made = {}
            if key is not None:
                made["key"] = key if of_key is None else of_key(key)
            if value is not None:
                made["value"] = value if of_value is None else of_value(value)
            return made

        return lambda entries: [entry(key, value) for key, value in entries.items()]

    def _union(self, schema: Schema) -> FromConnect:
        """Converts a union to the argument of its first member with a value."""
        plan = [
            (f.name, self._scrubbed(f.name), self.value(f.schema, True), self._default(f.schema)) for f in schema.fields
        ]

        def convert(struct: Any) -> dict[str, Any]:
            for name, target, inner, default in plan:
                value = struct.get(name)
                value = default if value is None else value
                if value is not None:
                    return {target: value if inner is None else inner(value)}
            raise DataError("Cannot find non-null field")

        return convert

    def _default(self, schema: Schema) -> Any:
        return None if self._options.ignore_default_for_nullables else schema.default

    def _scrubbed(self, name: str) -> str:
        return scrubbed(name) if self._options.scrub_invalid_names else name


def _symbol(schema: Schema, parameter: str) -> FromConnect:
    numbers = {
        key[len(parameter) + 1 :]: int(number) for key, number in schema.parameters if key.startswith(f"{parameter}.")
    }

    def convert(symbol: Any) -> int:
        if symbol not in numbers:
            raise DataError(f"The enum {schema.name} has no symbol {symbol!r}")
        return numbers[symbol]

    return convert


def _logical(schema: Schema) -> FromConnect:
    if schema.name == DECIMAL:
        return _decimal
    if schema.name == DATE:
        return lambda value: _date(date_of(to_plain(schema, value)))
    if schema.name == TIME:
        return lambda value: _time(to_plain(schema, value))
    return _timestamp


def _decimal(value: Any) -> dict[str, Any]:
    if not isinstance(value, Decimal) or not value.is_finite():
        raise DataError(f"Invalid type for Decimal, expected BigDecimal but was {type(value).__name__}")
    sign, digits, exponent = value.as_tuple()
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    length = (8 + (unscaled if unscaled >= 0 else -1 - unscaled).bit_length()) // 8
    precision = len(str(abs(unscaled)))
    return {"value": unscaled.to_bytes(length, "big", signed=True), "precision": precision, "scale": -int(exponent)}


def _date(value: dt.date) -> dict[str, int]:
    return {"year": value.year, "month": value.month, "day": value.day}


def _time(ms: int) -> dict[str, int]:
    seconds, rest = divmod(ms, 1000)
    return {"hours": seconds // 3600, "minutes": seconds // 60 % 60, "seconds": seconds % 60, "nanos": rest * 1_000_000}


def _timestamp(value: Any) -> dict[str, int]:
    if not isinstance(value, dt.date | dt.time):
        raise DataError(f"Invalid type for Timestamp, expected Date but was {type(value).__name__}")
    seconds, ms = divmod(millis(instant(value)), 1000)
    return {"seconds": seconds, "nanos": ms * 1_000_000}
