"""MaskField replaces the values of fields."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigType
from runtime.api.config.validators import non_empty
from runtime.api.data.class_names import java_class
from runtime.api.data.columns import BatchMetadata, Column, ConstantColumn, HashMapLayout, ValueBatch, value_types
from runtime.api.data.java_text import JavaMap, map_order, single_value
from runtime.api.data.schema import Schema, Type
from runtime.api.data.schema_cache import SchemaCache
from runtime.api.data.validate import BOUNDS
from runtime.api.errors import DataError
from runtime.api.transformation import KeyOrValueTransformation, Record, RecordPart
from runtime.transforms.definitions import LOW, REPLACE_NULL, key, some_values
from runtime.transforms.fields.casting import big_decimal, low_bits
from runtime.transforms.fields.struct_copy import StructCopy
from runtime.transforms.fields.type_checks import require_map, require_struct

_PURPOSE = "mask fields"
_EMPTY_VALUES: dict[type, Any] = {
    bool: False,
    int: 0,
    float: 0.0,
    str: "",
    dt.datetime: dt.datetime(1970, 1, 1, tzinfo=dt.UTC),
    dt.date: dt.date(1970, 1, 1),
    dt.time: dt.time(),
    list: [],
    dict: {},
}


class MaskFieldValue(KeyOrValueTransformation):
    """Replaces each field with the empty value of its type (0, false, an empty string), or with a replacement."""

    java_name = "org.apache.kafka.connect.transforms.MaskField$Value"
    config_def = ConfigDef(
        key("fields", "Fields to mask.", ConfigType.LIST, validator=some_values),
        key(
            "replacement",
            "Replacement value, for numbers and strings only.",
            ConfigType.STRING,
            None,
            LOW,
            non_empty,
        ),
        REPLACE_NULL,
    )

    def configure(self, config: Mapping[str, str]) -> None:
        parsed = self.config_def.parse(config)
        self._fields: list[str] = map_order(dict.fromkeys(parsed["fields"]))  # in the order of Java's HashSet
        self._replacement: str | None = parsed["replacement"]
        self._fill: bool = parsed["replace.null.with.default"]
        self._schemas = SchemaCache(self._plan)

    def update(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if schema is None:
            new: dict[str, Any] = JavaMap.copy_of(require_map(value, _PURPOSE))
            for name in self._fields:
                new[name] = self._masked(new.get(name), None)
            return None, new
        masked, copy = self._schemas.get(schema)
        new = copy.row(require_struct(schema, value, _PURPOSE))
        for name, field in masked:
            new[name] = self._masked(new.get(name), field)
        return schema, new

    def update_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        schema = values.schema
        old = values.columns
        if schema is None:
            missing = ConstantColumn(None, values.count)
            masks = {name: self._column(old.get(name, missing), None) for name in self._fields}
            return ValueBatch.maps({**old, **masks}, values.count, HashMapLayout(len(old)))
        masked, copy = self._schemas.get(schema)
        old = copy.columns(old)
        masks = {name: self._column(old[name], field) for name, field in masked}
        return ValueBatch.struct(schema, {**old, **masks}, values.count)

    def _column(self, old: Column, schema: Schema | None) -> Column:
        if len(types := value_types(old)) == 1 and types <= {
            str,
            int,
            float,
        }:  # the result depends on the type alone
            return ConstantColumn(self._masked(old[0], schema), len(old))
        return [self._masked(value, schema) for value in old]

    def _plan(self, schema: Schema) -> tuple[list[tuple[str, Schema]], StructCopy]:
        masked = [(f.name, f.schema) for f in schema.fields if f.name in self._fields]
        return masked, StructCopy(schema, self._fill)

    def _masked(self, value: Any, schema: Schema | None) -> Any:
        if value is None:
            return None
        if self._replacement is not None:
            return self._replaced(value, schema)
        if isinstance(value, Decimal):
            return Decimal(0) if schema is None else Decimal(0).scaleb(int(value.as_tuple().exponent))
        empty = _EMPTY_VALUES.get(type(value))
        if empty is None or (schema is not None and schema.type is Type.STRUCT):
            raise DataError(f"Cannot mask value of type: class {java_class(value, schema)}")
        return empty if type(value) not in (list, dict) else type(value)()

    def _replaced(self, value: Any, schema: Schema | None) -> Any:
        text = self._replacement
        assert text is not None
        if type(value) is str:
            return text
        if type(value) not in (int, float, Decimal):
            raise DataError(f"Cannot mask value of type class {java_class(value, schema)} with custom replacement.")
        number = big_decimal(text)
        if number is None:
            a = "" if type(value) is Decimal else "a "
            raise DataError(f"Unable to convert {text} (class java.lang.String) to {a}number")
        if type(value) is Decimal:
            return number
        if type(value) is float:
            parsed = float(number) if number else 0.0
            return single_value(parsed) if schema is not None and schema.type is Type.FLOAT32 else parsed
        bound = BOUNDS[schema.type if schema is not None else Type.INT64]
        return (low_bits(number) + bound) % (2 * bound) - bound


class MaskFieldKey(MaskFieldValue):
    java_name = "org.apache.kafka.connect.transforms.MaskField$Key"
    part = RecordPart.KEY
