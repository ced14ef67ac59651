"""Conversion of JSON payloads to values of a schema. Scalars of another type are coerced, as in Java."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Collection
from decimal import Decimal
from typing import Any

from runtime.api.data.java_text import single_value
from runtime.api.data.logical import DATE, DECIMAL, TIME, TIMESTAMP, decimal_from_bytes, from_plain
from runtime.api.data.schema import Schema, Type
from runtime.api.data.validate import BOUNDS
from runtime.api.errors import DataError

_EXACT = 2.0**63  # JSON parsers may return larger whole numbers as floats
_GROUP = re.compile(r"[A-Za-z0-9+/]{2}(?:[A-Za-z0-9+/]{2}|[A-Za-z0-9+/]=|==)")
_BASE64 = re.compile(rf"[\0- ]*(?:{_GROUP.pattern}[\0- ]*)*\Z")
Reader = Callable[[Any], Any]
Check = Callable[[Any], None]


class InexactError(Exception):
    """A number has lost digits: parse the text again with loads_exactly()."""


def reader(schema: Schema, fill: bool) -> Reader:
    """A function that converts payloads; DataError if a payload is invalid. `fill`: nulls become the default."""
    read = _LOGICAL[schema.name](schema) if schema.name in _LOGICAL else _plain(schema, fill)
    return with_nulls(schema, read, schema.default if fill else None)


def with_nulls(schema: Schema, read: Reader, default: Any) -> Reader:
    """`read`, and the default (or null, if there is none) for nulls; DataError for a null that is not allowed."""
    if default is not None or schema.optional:
        return lambda value: default if value is None else read(value)
    message = f"Invalid null value for required {schema.type.name} field"

    def read_required(value: Any) -> Any:
        if value is None:
            raise DataError(message)
        return read(value)

    return read_required


def scalar_reader(schema: Schema) -> Reader:
    """As reader(), for values other than null that have no elements or fields."""
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name](schema)
    return _integer(BOUNDS[schema.type]) if schema.type in BOUNDS else _SCALARS[schema.type]


def _plain(schema: Schema, fill: bool) -> Reader:
    kind = schema.type
    if kind is Type.ARRAY:
        return _array(schema, fill)
    if kind is Type.MAP:
        return _map(schema, fill)
    return _struct(schema, fill) if kind is Type.STRUCT else scalar_reader(schema)


def _number(value: Any) -> int | float | Decimal:
    return value if isinstance(value, int | float | Decimal) and not isinstance(value, bool) else 0


def _integer(bound: int) -> Reader:
    def read(value: Any) -> int:
        if type(value) is int and -bound <= value < bound:
            return value
        if type(value) is float and abs(value) >= _EXACT:
            raise InexactError
        return (int(_number(value)) + bound) % (2 * bound) - bound

    return read


def _double(value: Any) -> float:
    return (value if type(value) is float else float(_number(value))) + 0.0  # -0.0 becomes 0.0


def _string(value: Any) -> str | None:
    return value if type(value) is str else None


def _bytes(value: Any) -> bytes | None:
    return decoded(value, "Invalid bytes field") if isinstance(value, str) else None


def decoded(text: str, message: str) -> bytes:
    """Base64 as Jackson reads it: padded groups of four, with blanks between groups only; a padded group need not be
    last."""
    try:
        if len(text) % 4 == 0 and "=" not in text[:-2]:
            return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        pass
    if _BASE64.match(text) is None:
        raise DataError(message)
    return b"".join(map(base64.b64decode, _GROUP.findall(text)))


_SCALARS: dict[Type, Reader] = {
    Type.STRING: _string,
    Type.BOOLEAN: lambda value: value is True,
    Type.FLOAT32: lambda value: single_value(_double(value)),
    Type.FLOAT64: _double,
    Type.BYTES: _bytes,
}


def _array(schema: Schema, fill: bool) -> Reader:
    item = reader(schema.element(), fill)
    return lambda value: [item(element) for element in elements(value)]


def elements(value: Any) -> Collection[Any]:
    """The elements of a payload for an array: also the values of an object; none of a scalar."""
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _map(schema: Schema, fill: bool) -> Reader:
    keys, values = reader(schema.key(), fill), reader(schema.element(), fill)
    if schema.key().type is not Type.STRING:
        return lambda value: {keys(key): values(element) for key, element in _pairs(value)}
    return object_reader(values)


def object_reader(values: Reader) -> Reader:
    """A reader of maps whose keys are strings; `values` reads their values."""

    def read(value: Any) -> dict[Any, Any]:
        if not isinstance(value, dict):
            raise DataError(f"Maps with string fields should be encoded as JSON objects, but found {json_kind(value)}")
        return {key: values(element) for key, element in value.items()}

    return read


def _pairs(value: Any) -> list[list[Any]]:
    if not isinstance(value, list):
        raise DataError(
            f"Maps with non-string fields should be encoded as JSON array of tuples, but found {json_kind(value)}"
        )
    for pair in value:
        if not isinstance(pair, list):
            raise DataError(f"Found invalid map entry instead of array tuple: {json_kind(pair)}")
        if len(pair) != 2:
            raise DataError(f"Found invalid map entry, expected length 2 but found :{len(pair)}")
    return value


def _struct(schema: Schema, fill: bool) -> Reader:
    plan = [(field.name, reader(field.schema, fill)) for field in schema.fields]
    checks = [(f.name, check) for f in schema.fields if (check := gap_check(f.schema, "field", f.name))]
    primitive = {f.name for f in schema.fields if f.schema.type.primitive}
    own = [(name, check) for name, check in checks if name in primitive]
    inner = [(name, check) for name, check in checks if name not in primitive]
    names = tuple(field.name for field in schema.fields)
    texts = (str,) * len(names)
    all_text = all(f.schema.type is Type.STRING and f.schema.name not in _LOGICAL for f in schema.fields)

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise DataError(f"Structs should be encoded as JSON objects, but found {json_kind(value)}")
        if all_text and tuple(value) == names and tuple(map(type, value.values())) == texts:
            return value
        get, made = value.get, {}
        try:
            for name, field in plan:
                made[name] = field(get(name))
            if None in made.values():
                for name, check in own:
                    check(made[name])
            for name, check in inner:
                check(made[name])
        except DataError:
            for name, check in checks:  # Java checks each field before it reads the next one
                if name in made:
                    check(made[name])
            raise
        return made

    return read


def gap_check(schema: Schema, what: str, field: str) -> Check | None:
    """A function that raises DataError for a null in a required string or bytes, at any depth; None if there is none in
    the schema. The reader converts payloads of other types to null, which a struct does not accept."""
    kind = schema.type
    if kind is Type.ARRAY:
        return _each_checked(gap_check(schema.element(), f"element of array {what}", field))
    if kind is Type.MAP:
        keys = _each_checked(gap_check(schema.key(), f"key of map {what}", field))
        values = _each_checked(gap_check(schema.element(), f"value of map {what}", field))
        return _map_checked(None if schema.key().type is Type.STRING else keys, values)
    if schema.optional or kind not in (Type.STRING, Type.BYTES) or schema.name in _LOGICAL:
        return None
    message = f'Invalid value: null used for required {what}: "{field}", schema type: {kind.name}'

    def check(value: Any) -> None:
        if value is None:
            raise DataError(message)

    return check


def _map_checked(keys: Check | None, values: Check | None) -> Check | None:
    if keys is None and values is None:
        return None

    def check(value: Any) -> None:
        if value is not None and keys is not None:
            keys(value)
        if value is not None and values is not None:
            values(value.values())

    return check


def _each_checked(check: Check | None) -> Check | None:
    if check is None:
        return None

    def each(value: Any) -> None:
        for element in value or ():
            check(element)

    return each


def _decimal(schema: Schema) -> Reader:
    def read(value: Any) -> Decimal:
        if isinstance(value, str):
            return _decimal_of_text(schema, value)
        if isinstance(value, float):
            raise InexactError
        if isinstance(value, int | Decimal) and not isinstance(value, bool):
            return Decimal(value) or Decimal(value).copy_abs()  # -0.0 becomes 0.0
        raise DataError(
            f"Invalid type for Decimal, underlying representation should be numeric or bytes but was {json_kind(value)}"
        )

    return read


def _decimal_of_text(schema: Schema, text: str) -> Decimal:
    message = "Invalid bytes for Decimal field"
    data = decoded(text, message)
    if not data:
        raise DataError(message)
    try:
        return decimal_from_bytes(schema, data)
    except DataError as error:
        raise DataError(message) from error


def _time(name: str, bits: int) -> Callable[[Schema], Reader]:
    """A reader of dates, times or timestamps from integers."""
    short, what = name.rpartition(".")[2], "integer" if bits == 32 else "integral"
    carrier = Schema(Type.INT64, name=name)
    bound = 1 << (bits - 1)

    def read(value: Any) -> Any:
        if type(value) is not int or not -bound <= value < bound:
            raise DataError(
                f"Invalid type for {short}, underlying representation should be {what} but was {json_kind(value)}"
            )
        return from_plain(carrier, value)

    return lambda schema: read


_LOGICAL: dict[str | None, Callable[[Schema], Reader]] = {
    DECIMAL: _decimal,
    DATE: _time(DATE, 32),
    TIME: _time(TIME, 32),
    TIMESTAMP: _time(TIMESTAMP, 64),
}

_KINDS = ((bool, "BOOLEAN"), (str, "STRING"), (dict, "OBJECT"), (list, "ARRAY"))


def json_kind(value: Any) -> str:
    """Jackson's name for the type of a JSON node."""
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "NUMBER")
