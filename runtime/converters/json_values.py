"""Values between Connect's data model and JSON payloads, guided by a schema."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any

from runtime.api.errors import DataError
from runtime.api.schema import Schema, Type

_BOUNDS = {Type.INT8: 1 << 7, Type.INT16: 1 << 15, Type.INT32: 1 << 31, Type.INT64: 1 << 63}
_LOGICAL = {f"org.apache.kafka.connect.data.{name}" for name in ("Decimal", "Date", "Time", "Timestamp")}


def to_payload(schema: Schema, value: Any, fill: bool) -> Any:
    """What JSON holds for the value; DataError when its schema says otherwise. `fill`: null becomes the default."""
    if value is None:
        return _null(schema, schema.default if fill else None, lambda default: to_payload(schema, default, fill))
    if schema.name in _LOGICAL:
        raise DataError(f"The logical type {schema.name} is not supported by this release")
    kind = schema.type
    if kind is Type.STRING and type(value) is str:
        return value if value.isascii() else _text(value)
    if kind in _BOUNDS:
        return _whole_number(schema, value)
    if kind in (Type.FLOAT32, Type.FLOAT64) and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if kind is Type.BOOLEAN and isinstance(value, bool):
        return value
    if kind is Type.BYTES and isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if kind is Type.ARRAY and isinstance(value, list | tuple) and schema.values is not None:
        return [to_payload(schema.values, item, fill) for item in value]
    if kind is Type.MAP and isinstance(value, Mapping):
        return _map_payload(schema, value, fill)
    if kind is Type.STRUCT and isinstance(value, Mapping):
        return {field.name: to_payload(field.schema, value.get(field.name), fill) for field in schema.fields}
    raise DataError(f"Invalid type for {kind.name}: {type(value).__name__}")


def _null(schema: Schema, default: Any, convert: Callable[[Any], Any]) -> Any:
    if default is not None:
        return convert(default)
    if schema.optional:
        return None
    raise DataError(f"Conversion error: null value for field that is required and has no default value ({schema.type})")


def _whole_number(schema: Schema, value: Any) -> int:
    bound = _BOUNDS[schema.type]
    if not isinstance(value, int) or isinstance(value, bool) or not -bound <= value < bound:
        raise DataError(f"Invalid value for {schema.type.name}: {value!r}")
    return value


def _map_payload(schema: Schema, value: Mapping[Any, Any], fill: bool) -> Any:
    """An object when keys are strings, otherwise an array of pairs."""
    keys, values = schema.keys, schema.values
    if keys is None or values is None:
        raise DataError("Map schema without the schemas of its keys and values")
    pairs = [(to_payload(keys, k, fill), to_payload(values, v, fill)) for k, v in value.items()]
    if keys.type is Type.STRING and not keys.optional:
        return dict(pairs)
    return [list(pair) for pair in pairs]


def from_payload(schema: Schema, found: Any, fill: bool) -> Any:
    """The value of a payload. Scalars of another kind are coerced as Java's reader does it, silently."""
    if found is None:
        return _null(schema, schema.default if fill else None, lambda default: from_payload(schema, default, fill))
    if schema.name in _LOGICAL:
        raise DataError(f"The logical type {schema.name} is not supported by this release")
    kind = schema.type
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        return scalar(found)
    if kind in _BOUNDS:
        return _wrapped(found, _BOUNDS[kind])
    if kind is Type.ARRAY and schema.values is not None:
        if not isinstance(found, list):
            raise DataError(f"Arrays must be JSON arrays, found {type(found).__name__}")
        return [from_payload(schema.values, item, fill) for item in found]
    if kind is Type.MAP:
        return _map_value(schema, found, fill)
    if not isinstance(found, dict):
        raise DataError(f"Structs must be JSON objects, found {type(found).__name__}")
    return {field.name: from_payload(field.schema, found.get(field.name), fill) for field in schema.fields}


def _number(found: Any) -> int | float:
    return found if isinstance(found, int | float) and not isinstance(found, bool) else 0


def _wrapped(found: Any, bound: int) -> int:
    """Java narrows a number that is too large; what is no number is 0."""
    return (int(_number(found)) + bound) % (2 * bound) - bound


def _bytes(found: Any) -> bytes:
    try:
        return base64.b64decode(found, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise DataError("Invalid bytes field: not base64") from error


_SCALARS: dict[Type, Callable[[Any], Any]] = {
    Type.STRING: lambda found: found if isinstance(found, str) else None,
    Type.BOOLEAN: lambda found: found is True,
    Type.FLOAT32: lambda found: float(_number(found)),
    Type.FLOAT64: lambda found: float(_number(found)),
    Type.BYTES: _bytes,
}


def _map_value(schema: Schema, found: Any, fill: bool) -> dict[Any, Any]:
    keys, values = schema.keys, schema.values
    if keys is None or values is None:
        raise DataError("Map schema without the schemas of its keys and values")
    if keys.type is Type.STRING and not keys.optional:
        if not isinstance(found, dict):
            raise DataError(f"Maps with string fields must be JSON objects, found {type(found).__name__}")
        return {key: from_payload(values, value, fill) for key, value in found.items()}
    if not isinstance(found, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in found):
        raise DataError("Maps with other keys than strings must be JSON arrays of pairs")
    return {from_payload(keys, key, fill): from_payload(values, value, fill) for key, value in found}


def infer_schema(found: Any) -> Schema | None:
    """The schema of a payload that comes without one, for scalars."""
    if isinstance(found, bool):
        return Schema(Type.BOOLEAN, optional=True)
    if isinstance(found, int):
        return Schema(Type.INT64, optional=True)
    if isinstance(found, float):
        return Schema(Type.FLOAT64, optional=True)
    if isinstance(found, str):
        return Schema(Type.STRING, optional=True)
    return None


def _text(value: str) -> str:
    """JSON is text: bytes that were not UTF-8 become U+FFFD, as in Java."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return value


def plain(value: Any) -> Any:
    """A value without a schema as JSON can hold it; DataError when it cannot."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value if value.isascii() else _text(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {_text(key): plain(item) for key, item in value.items()}
        return [[plain(key), plain(item)] for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    raise DataError(f"{type(value).__qualname__} is not a type of Connect's data")
