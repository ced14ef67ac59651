"""HeaderFrom copies or moves fields of the key or value to headers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigType
from runtime.api.config.validators import one_of
from runtime.api.data.columns import BatchMetadata, Column, ConstantColumn, HashMapLayout, MixedBatchError, ValueBatch
from runtime.api.data.java_text import JavaMap
from runtime.api.data.record import Header, Headers
from runtime.api.data.schema import Schema, struct_schema
from runtime.api.data.schema_cache import SchemaCache
from runtime.api.errors import ConfigError, DataError, NullPointerError
from runtime.api.transformation import RecordPart, RecordT, Transformation
from runtime.transforms.definitions import REPLACE_NULL, key, non_empty_list
from runtime.transforms.fields.struct_copy import StructCopy, fill_nulls
from runtime.transforms.fields.type_checks import require_map, require_struct


class HeaderFromValue(Transformation):
    """A missing field becomes a null header without a schema, and an error with one."""

    java_name = "org.apache.kafka.connect.transforms.HeaderFrom$Value"
    part = RecordPart.VALUE
    config_def = ConfigDef(
        key("fields", "Fields to copy or move.", ConfigType.LIST, validator=non_empty_list),
        key("headers", "Names of the headers, one for each field.", ConfigType.LIST, validator=non_empty_list),
        key("operation", "move removes the fields, copy keeps them.", validator=one_of("move", "copy")),
        REPLACE_NULL,
    )

    def configure(self, config: Mapping[str, str]) -> None:
        parsed = self.config_def.parse(config)
        if len(parsed["fields"]) != len(parsed["headers"]):
            raise ConfigError("'fields' config must have the same number of elements as 'headers' config.")
        self._pairs = list(zip(parsed["fields"], parsed["headers"], strict=True))
        self._moved = frozenset(parsed["fields"])
        self._move: bool = parsed["operation"] == "move"
        self._purpose = f"header {parsed['operation']}"
        self._fill: bool = parsed["replace.null.with.default"]
        self._schemas = SchemaCache(self._rest)

    def apply(self, record: RecordT) -> RecordT | None:
        of_value = self.part is RecordPart.VALUE
        schema: Schema | None = record.value_schema if of_value else record.key_schema
        value: Any = record.value if of_value else record.key
        headers: Headers = list(record.headers or ())
        rest_schema: Schema | None = None
        if schema is None:
            fields: Mapping[str, Any] = require_map(value, self._purpose)
            headers += [(header, None, fields.get(name)) for name, header in self._pairs]
        else:
            fields = require_struct(schema, value, self._purpose)
        changed = self._move or schema is None
        if changed:
            rest = {name: item for name, item in fields.items() if not self._move or name not in self._moved}
            if schema is None:
                value = JavaMap(rest)
                value.copied, value.capacity = len(rest), _capacity(fields)
            else:
                rest_schema, copy = self._schemas.get(schema)
                value = copy.row(rest)
        if schema is not None:
            headers += self._typed(schema, fields)
        if changed:
            if of_value:
                record.value_schema, record.value = rest_schema, value
            else:
                record.key_schema, record.key = rest_schema, value
        record.headers = headers
        return record

    def apply_batch(self, values: ValueBatch, metadata: BatchMetadata) -> ValueBatch | None:
        of_value = self.part is RecordPart.VALUE
        part = values if of_value else metadata.keys
        columns, count = part.columns, part.count
        added = [self._column(part.schema, columns, count, *pair) for pair in self._pairs]
        if self._move or part.schema is None:
            rest = {name: column for name, column in columns.items() if not self._move or name not in self._moved}
            if part.schema is None:
                part = ValueBatch.maps(rest, count, HashMapLayout(len(rest), _capacity(columns)))
            else:
                rest_schema, copy = self._schemas.get(part.schema)
                part = ValueBatch.struct(rest_schema, copy.columns(rest), count)
        metadata.headers = _joined(metadata.headers, added)
        if of_value:
            return part
        metadata.keys = part
        return values

    def _column(
        self, schema: Schema | None, columns: Mapping[str, Column], count: int, name: str, header: str
    ) -> Iterable[Header]:
        """One header for each record."""
        if schema is None:
            column: Column = columns.get(name) or ConstantColumn(None, count)
        else:
            schema, column = schema.field(name), columns[name]
            if schema is None:
                raise MixedBatchError
            column = fill_nulls(column, schema.default) if self._fill else column
            if not schema.optional and None in column:
                raise MixedBatchError
        return zip(repeat(header), repeat(schema), column, strict=False)

    def _typed(self, schema: Schema, fields: Mapping[str, Any]) -> Headers:
        return [(header, *self._field(schema, fields, name)) for name, header in self._pairs]

    def _field(self, schema: Schema, fields: Mapping[str, object], name: str) -> tuple[Schema, object]:
        field_schema = schema.field(name)
        if field_schema is None:
            raise NullPointerError(f"Field does not exist: {name}")
        value = fields.get(name)
        if value is None and self._fill:
            value = field_schema.default
        if value is None and not field_schema.optional:
            raise DataError(f"A null value requires an optional schema but was {field_schema.java_text}")
        return field_schema, value

    def _rest(self, schema: Schema) -> tuple[Schema, StructCopy]:
        rest = struct_schema({f.name: f.schema for f in schema.fields if f.name not in self._moved}, schema)
        return rest, StructCopy(schema, self._fill, rest)


def _capacity(fields: Mapping[str, Any]) -> int:
    """Of Java's copy of a map, which both operations make."""
    return len(fields) * 4 // 3 + 1 if fields else 16


def _joined(headers: Sequence[Headers | None], added: list[Iterable[Header]]) -> list[Headers | None]:
    more = map(list, zip(*added, strict=True))
    if type(headers) is ConstantColumn and not headers.value:
        return list(more)
    return [[*old, *new] if old else new for old, new in zip(headers, more, strict=True)]


class HeaderFromKey(HeaderFromValue):
    java_name = "org.apache.kafka.connect.transforms.HeaderFrom$Key"
    part = RecordPart.KEY
