"""Batches of Avro records as columns, read and written by pyruhvro in one call through Arrow.

fastavro, which creates an object for each record and field, is many times slower. It reads and writes single values,
and those of schemas with types that pyruhvro does not have: bytes, fixed, decimals, times, unions of several types.
What pyruhvro refuses is converted again, value by value, so that errors are those of single values.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from runtime.api.data.arrow_column import ArrowColumn, arrow_array, arrow_columns
from runtime.api.data.columns import Column, ValueBatch, value_types
from runtime.api.data.schema import Schema, Type
from runtime.converters.avro.names import Avro, is_null

if TYPE_CHECKING:
    import pyarrow as pa

_FromArrow = Callable[[Any], Any]
_PYTHON: dict[Type, set[type]] = {
    Type.INT8: {int}, Type.INT16: {int}, Type.INT32: {int}, Type.INT64: {int}, Type.FLOAT32: {float},
    Type.FLOAT64: {float}, Type.BOOLEAN: {bool}, Type.STRING: {str},
}  # fmt: skip


_PRIMITIVE = frozenset({"int", "long", "float", "double", "boolean", "string"})


class _Unsupported(Exception):
    """pyruhvro does not read a type as fastavro does."""


class AvroColumnReader:
    """Reads records of one schema."""

    def __init__(self, text: str, converts: Mapping[str, _FromArrow | None]) -> None:
        self._text, self._converts = text, converts

    def read(self, data: Sequence[bytes]) -> dict[str, Column]:
        """A column for each field; ValueError if a message is malformed."""
        from pyruhvro import deserialize_array

        return arrow_columns(lambda: deserialize_array(list(data), self._text), self._converts)


class AvroColumnWriter:
    """Writes structs of one schema, whose fields are numbers, texts and truth values."""

    def __init__(self, schema: Schema, text: str) -> None:
        from pyruhvro import avro_to_arrow_schema

        self._text, self._arrow = text, avro_to_arrow_schema(text)
        self._allowed = {
            field.name: _PYTHON[field.schema.type] | ({type(None)} if field.schema.optional else set())
            for field in schema.fields
        }

    def write(self, values: ValueBatch) -> list[bytes] | None:
        """None if a value is not of its field's type."""
        import pyarrow as pa
        from pyruhvro import serialize_record_batch

        try:
            arrays = [self._array(values.columns[field.name], field) for field in self._arrow]
        except (TypeError, ValueError, OverflowError):  # of another type, out of range, or no Unicode
            return None
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._arrow)
        written: list[bytes] = serialize_record_batch(batch, self._text, 1)[0].to_pylist()
        return written

    def _array(self, column: Column, field: pa.Field) -> pa.Array:
        allowed = self._allowed[field.name]
        known = type(column) is ArrowColumn and column.is_of(field.type) and (field.nullable or not column.nulls)
        if not (known or value_types(column) <= allowed):
            raise TypeError(f"values of other types in field {field.name}")
        return arrow_array(column, field.type)


def column_reader(parsed: Avro) -> AvroColumnReader | None:
    """A reader for a schema that fastavro has parsed; None if pyruhvro does not read it in the same way, or is not
    installed."""
    if not _installed() or not isinstance(parsed, dict) or parsed["type"] != "record" or not parsed["fields"]:
        return None
    reading = _Reading()
    try:
        converts = {field["name"]: reading.of(field["type"]) for field in parsed["fields"]}
    except _Unsupported:
        return None
    return AvroColumnReader(_text(parsed), converts)


def column_writer(schema: Schema, parsed: Avro) -> AvroColumnWriter | None:
    """A writer for structs of a schema that fastavro has parsed; None for a union with null, or if pyruhvro is not
    installed."""
    return AvroColumnWriter(schema, _text(parsed)) if _installed() and schema.fields and type(parsed) is dict else None


def _installed() -> bool:
    from importlib.util import find_spec

    return find_spec("pyruhvro") is not None


def _text(parsed: Avro) -> str:
    return orjson.dumps(parsed).decode()


class _Reading:
    """What has to be done with the Python values that Arrow makes of each type; None: nothing."""

    def __init__(self) -> None:
        self._named: dict[str, _FromArrow | None] = {}

    def of(self, document: Avro) -> _FromArrow | None:
        if isinstance(document, list):
            return self._nullable(document)
        if isinstance(document, str):
            return self._by_name(document)
        logical = document.get("logicalType")
        if logical is not None:
            return self._logical(document["type"], logical)
        match document["type"]:
            case "array":
                return _each(self.of(document["items"]))
            case "map":
                return _entries(self.of(document["values"]))
            case "enum":
                return self._named.setdefault(document["name"], None)
            case "record":
                inner = {field["name"]: self.of(field["type"]) for field in document["fields"]}
                convert = _struct({name: convert for name, convert in inner.items() if convert is not None})
                return self._named.setdefault(document["name"], convert)
        return self.of(document["type"])

    def _nullable(self, branches: list[Avro]) -> _FromArrow | None:
        others = [branch for branch in branches if not is_null(branch)]
        if len(others) != 1 or len(branches) != 2:
            raise _Unsupported
        return self.of(others[0])

    def _by_name(self, name: str) -> _FromArrow | None:
        """Of a primitive type, or of one that has been defined before; not of one in another schema."""
        if name not in _PRIMITIVE and name not in self._named:
            raise _Unsupported
        return self._named.get(name)

    def _logical(self, kind: str, logical: str) -> _FromArrow | None:
        if (kind, logical) == ("int", "date"):
            return None
        if (kind, logical) == ("long", "timestamp-millis"):
            return _utc
        raise _Unsupported


def _utc(at: dt.datetime) -> dt.datetime:
    return at.replace(tzinfo=dt.UTC)


def _each(convert: _FromArrow | None) -> _FromArrow | None:
    return convert and (lambda values: [None if value is None else convert(value) for value in values])


def _entries(convert: _FromArrow | None) -> _FromArrow:
    if convert is None:
        return dict
    return lambda entries: {key: None if value is None else convert(value) for key, value in entries}


def _struct(converts: Mapping[str, _FromArrow]) -> _FromArrow | None:
    def convert(row: dict[str, Any]) -> dict[str, Any]:
        for name, inner in converts.items():
            if row[name] is not None:
                row[name] = inner(row[name])
        return row

    return convert if converts else None
