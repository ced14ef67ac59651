"""Converters with a schema registry, and a record that has every type."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any, TypeVar

from runtime.api.data.logical import DATE_SCHEMA, TIME_SCHEMA, TIMESTAMP_SCHEMA, decimal_schema
from runtime.api.data.schema import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT16_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    Field,
    Schema,
    Type,
)  # fmt: skip
from runtime.converters.avro.avro import AvroConverter, AvroFormat
from runtime.converters.registry.converter import RegistryConverter
from runtime.converters.registry.schemas import RegisteredSchema, SchemaId
from tests.support.servers.schema_registry import StubRegistry

Kind = TypeVar("Kind", bound=RegistryConverter)


def registry_converter(kind: type[Kind], stub: StubRegistry, is_key: bool = False, /, **config: str) -> Kind:
    """A configured converter. The keys of `config` have underscores in place of dots."""
    converter = kind()
    converter.configure({"schema.registry.url": stub.url, **_dotted(config)}, is_key)
    return converter


def avro_format(**config: str) -> AvroFormat:
    """The format of an AvroConverter with this configuration."""
    required = {"schema.registry.url": "http://registry", "converter.type": "value"}
    return AvroFormat(AvroConverter.config_def.parse({**required, **_dotted(config)}))


def registered(schema: Any) -> RegisteredSchema:
    """A schema, as text or as Avro's JSON, as if it came from a registry."""
    return RegisteredSchema(SchemaId(1), schema if isinstance(schema, str) else json.dumps(schema), {})


def _dotted(config: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "."): text for name, text in config.items()}


def record(*fields: tuple[str, Schema], name: str | None = "com.x.Order", **more: Any) -> Schema:
    return Schema(Type.STRUCT, name=name, fields=tuple(Field(n, s) for n, s in fields), **more)


ADDRESS = record(("street", STRING_SCHEMA), ("zip", OPTIONAL_STRING_SCHEMA), name="com.x.Address")
PLAIN = {
    "i8": INT8_SCHEMA, "i16": INT16_SCHEMA, "i32": INT32_SCHEMA, "i64": INT64_SCHEMA, "f32": FLOAT32_SCHEMA,
    "f64": FLOAT64_SCHEMA, "flag": BOOLEAN_SCHEMA, "text": STRING_SCHEMA, "raw": BYTES_SCHEMA,
    "price": decimal_schema(2), "day": DATE_SCHEMA, "time": TIME_SCHEMA, "at": TIMESTAMP_SCHEMA,
    "home": ADDRESS, "work": ADDRESS.replace(optional=True), "tags": Schema(Type.ARRAY, values=STRING_SCHEMA),
    "sizes": Schema(Type.MAP, keys=STRING_SCHEMA, values=INT32_SCHEMA),
    "by_number": Schema(Type.MAP, keys=INT32_SCHEMA, values=ADDRESS),
}  # fmt: skip
"""Fields of every type."""
DETAILED = {
    **PLAIN, "i64": INT64_SCHEMA.replace(doc="a long one"), "f64": FLOAT64_SCHEMA.replace(default=1.5),
    "text": STRING_SCHEMA.replace(default="none"), "at": TIMESTAMP_SCHEMA.replace(optional=True),
    "tags": Schema(Type.ARRAY, values=OPTIONAL_STRING_SCHEMA),
    "by_number": Schema(Type.MAP, keys=INT32_SCHEMA, values=ADDRESS, optional=True),
    "level": STRING_SCHEMA.replace(name="com.x.Level", version=3, parameters=(("a", "b"),)),
}  # fmt: skip
"""The same with docs, defaults, nulls and parameters."""
HOME = {"street": "Main", "zip": None}
VALUE: dict[str, Any] = {
    "i8": -1, "i16": 300, "i32": -(2**31), "i64": 2**63 - 1, "f32": 0.5, "f64": 1e300, "flag": True, "text": "Löve",
    "raw": b"\x00\xff", "price": Decimal("-12.30"), "day": dt.date(2024, 2, 29), "time": dt.time(23, 59, 59, 999000),
    "at": dt.datetime(2024, 1, 1, 12, 0, 0, 1000, dt.UTC), "home": HOME, "work": None, "tags": ["a", None],
    "sizes": {"s": 1}, "by_number": {7: HOME}, "level": "high",
}  # fmt: skip
"""A value of the fields DETAILED."""
