"""Conversion of Connect's schemas to JSON Schema, as in Confluent's converter."""

from __future__ import annotations

from typing import Any

import orjson

from runtime.api.data.java_text import map_order
from runtime.api.data.logical import DECIMAL
from runtime.api.data.schema import Schema, Type
from runtime.converters.json.text import dumps
from runtime.converters.json.write import WriteOptions, writer
from runtime.converters.json_schema.names import (
    ENUM,
    GENERAL_ENUM,
    INDEX,
    NAMESPACE,
    NULL_SYMBOL,
    NUMBERS,
    PARAMETERS,
    TYPE,
    VERSION,
    JsonSchemaOptions,
    is_union,
)

Json = dict[str, Any]
_NULL: Json = {"type": "null"}


class JsonSchemas:
    """Builds JSON schemas."""

    def __init__(self, options: JsonSchemaOptions, writing: WriteOptions) -> None:
        """`writing`: how defaults are written."""
        self._options, self._writing = options, writing

    def document(self, schema: Schema, index: int | None = None) -> Json:
        """The JSON schema; `index`: the position of a field in its struct."""
        if is_union(schema):
            members = [self._base(f.schema, n) for n, f in enumerate(schema.fields)]
            made: Json = {"oneOf": [*([_NULL] if schema.optional else ()), *members]}
        elif not schema.optional:
            return self._base(schema, index)
        else:
            made = {"oneOf": [_NULL, self._base(schema, None)]}
        return made if index is None else {**made, INDEX: index}

    def _base(self, schema: Schema, index: int | None) -> Json:
        """The type of values other than null."""
        if is_union(schema):
            return self.document(schema.replace(optional=False), index)
        made: Json = {}
        if schema.name is not None:
            made["title"] = schema.name
        if schema.doc is not None:
            made["description"] = schema.doc
        if schema.default is not None:
            made["default"] = orjson.loads(dumps(writer(schema, self._writing)(schema.default)))
        made |= self._type(schema)
        if schema.version is not None:
            made[VERSION] = schema.version
        parameters = {key: value for key, value in schema.parameters if not key.startswith(NAMESPACE)}
        if parameters:
            made[PARAMETERS] = parameters
        if index is not None:
            made[INDEX] = index
        return made

    def _type(self, schema: Schema) -> Json:
        if schema.type in NUMBERS:
            kind, connect = NUMBERS[schema.type]
            return {"type": kind, TYPE: connect}
        if schema.type is Type.BYTES:
            return {"type": "number" if schema.name == DECIMAL and self._options.numeric else "string", TYPE: "bytes"}
        if schema.type is Type.STRING:
            symbols = self._symbols(schema)
            return {"type": "string"} if symbols is None else {"enum": symbols}
        if schema.type is Type.ARRAY:
            return {"type": "array", "items": self.document(schema.element())}
        if schema.type is Type.MAP:
            return self._map(schema)
        return {"type": "boolean"} if schema.type is Type.BOOLEAN else self._struct(schema)

    def _symbols(self, schema: Schema) -> list[str | None] | None:
        """The symbols of an enum; None for other strings."""
        given = dict(schema.parameters)
        if ENUM not in given and GENERAL_ENUM not in given:
            return None
        prefix = f"{GENERAL_ENUM if self._options.general else ENUM}."
        symbols = [key[len(prefix) :] for key in given if key.startswith(prefix)]
        return [None if symbol == NULL_SYMBOL else symbol for symbol in symbols]

    def _map(self, schema: Schema) -> Json:
        if schema.key().type is Type.STRING and not schema.key().optional:
            return {"type": "object", "additionalProperties": self.document(schema.element()), TYPE: "map"}
        entry = {"key": self.document(schema.key(), 0), "value": self.document(schema.element(), 1)}
        return {"type": "array", "items": {"type": "object", "properties": entry}, TYPE: "map"}

    def _struct(self, schema: Schema) -> Json:
        fields = {field.name: self.document(field.schema, n) for n, field in enumerate(schema.fields)}
        made: Json = {"type": "object"}
        if fields:  # in the order of Java's HashMap, so that the text differs as little as possible
            made["properties"] = {name: fields[name] for name in map_order(fields)}
        if not self._options.additional_properties:
            made["additionalProperties"] = False
        return made
