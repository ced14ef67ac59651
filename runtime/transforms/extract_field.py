"""ExtractField replaces the key or value with one of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.config.definition import ConfigDef
from runtime.api.data.columns import BatchMetadata, Column, ConstantColumn, ValueBatch
from runtime.api.data.schema import Schema, Type
from runtime.api.data.schema_cache import SchemaCache
from runtime.api.errors import ConfigError, DataError, IllegalArgumentError
from runtime.api.transformation import KeyOrValueTransformation, Record, RecordPart, update_each
from runtime.transforms.definitions import FIELD_SYNTAX, MEDIUM, REPLACE_NULL, key
from runtime.transforms.fields.struct_copy import fill_nulls
from runtime.transforms.fields.type_checks import require_map, require_struct


class FieldPath:
    """Looks up a field in values and schemas."""

    def __init__(self, text: str, version: str = "V1") -> None:
        self.text = text
        self.steps = (text,) if version.upper() == "V1" else tuple(_steps(text))

    def _check(self) -> None:
        if not self.steps:
            raise IllegalArgumentError(f"Unknown field: {self.text}")

    def schema_in(self, schema: Schema) -> Schema | None:
        """The field's schema; None if it does not exist, DataError if the path leads through a scalar."""
        self._check()
        inner: Schema | None = schema
        for step in self.steps:
            if inner is None:
                return None
            if inner.type is not Type.STRUCT:
                raise DataError("Cannot look up fields on non-struct type")
            inner = inner.field(step)
        return inner

    def value_in_map(self, value: Mapping[str, Any]) -> Any:
        """The field's value; None if a step is missing."""
        self._check()
        inner: Any = value
        for step in self.steps[:-1]:
            inner = inner.get(step)
            if inner is None:
                return None
            inner = require_map(inner, "nested field access")
        return inner.get(self.steps[-1])

    def value_in_struct(self, schema: Schema, value: Mapping[str, Any], fill: bool) -> Any:
        """The field's value, or its default if it is null and `fill` is set."""
        inner: Any = value
        for step in self.steps:
            if inner is None:
                return None
            field = schema.field(step)
            if field is None:
                raise DataError(f"{step} is not a valid field name")
            inner = inner.get(step)
            if inner is None and fill:
                inner = field.default
            schema = field
        return inner


def _steps(text: str) -> list[str]:
    """`a.b` → a, b; "`a.b`.c" → a.b, c. A name in backticks ends at a backtick before a dot or the end, unless a
    backslash precedes that backtick."""
    steps: list[str] = []
    position = 0
    while position < len(text):
        if text[position] == "`":
            name, position = _wrapped(text, position)
        else:
            name = text[position:].partition(".")[0]
            position += len(name) + 1
        steps.append(name)
    return [*steps, ""] if text.endswith(".") else steps


def _wrapped(text: str, start: int) -> tuple[str, int]:
    """A name in backticks, and the position of the next step."""
    name, begin = "", start + 1
    end = text.find("`", begin)
    while end >= 0:
        escaped = text[end - 1] == "\\"
        last = end == len(text) - 1
        if last and escaped:
            break
        if last or (text[end + 1] == "." and not escaped):
            return name + text[begin:end], end + 2
        if escaped and text[end + 1] == ".":
            name += text[begin : end - 1] + "`"
            begin = end + 1
        end = text.find("`", end + 1)
    raise ConfigError(
        f"Incomplete backtick pair in path: [{text}], consider adding a backslash before backtick at position {start} "
        "to escape it"
    )


_PURPOSE = "field extraction"


class ExtractFieldValue(KeyOrValueTransformation):
    """Nulls are unchanged. A missing field is null without a schema, and an error with one."""

    java_name = "org.apache.kafka.connect.transforms.ExtractField$Value"
    config_def = ConfigDef(key("field", "Field to extract.", importance=MEDIUM), REPLACE_NULL, FIELD_SYNTAX)

    def configure(self, config: Mapping[str, str]) -> None:
        parsed = self.config_def.parse(config)
        self._path = FieldPath(parsed["field"], parsed["field.syntax.version"])
        self._fill: bool = parsed["replace.null.with.default"]
        self._schemas = SchemaCache(self._extracted)
        self._name = self._path.steps[0] if len(self._path.steps) == 1 else None

    def update(self, schema: Schema | None, value: Any, record: Record) -> tuple[Schema | None, Any]:
        if schema is None:
            return None, None if value is None else self._path.value_in_map(require_map(value, _PURPOSE))
        if value is None:
            return self._schemas.get(schema), None
        struct = require_struct(schema, value, _PURPOSE)
        extracted = self._schemas.get(schema)
        if self._name is not None:
            inner = struct.get(self._name)
            return extracted, extracted.default if inner is None and self._fill else inner
        return extracted, self._path.value_in_struct(schema, struct, self._fill)

    def update_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        schema, name, nothing = values.schema, self._name, ConstantColumn(None, values.count)
        if schema is None:
            if values.all_null:
                return values
            return (
                update_each(self.update, values)
                if name is None
                else ValueBatch(None, values.columns.get(name, nothing))
            )
        extracted = self._schemas.get(schema)
        if values.all_null:
            return ValueBatch(extracted, nothing)
        if name is None:
            return ValueBatch(extracted, [self._path.value_in_struct(schema, row, self._fill) for row in values.rows])
        column: Column = values.columns[name]
        return ValueBatch(extracted, fill_nulls(column, extracted.default) if self._fill else column)

    def _extracted(self, schema: Schema) -> Schema:
        inner = self._path.schema_in(schema)
        if inner is None:
            raise IllegalArgumentError(f"Unknown field: {self._path.text}")
        return inner


class ExtractFieldKey(ExtractFieldValue):
    java_name = "org.apache.kafka.connect.transforms.ExtractField$Key"
    part = RecordPart.KEY
