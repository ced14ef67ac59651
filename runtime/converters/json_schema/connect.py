"""Conversion of JSON Schema to Connect's schemas, as in Confluent's converter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from runtime.api.data.java_text import map_order
from runtime.api.data.schema import STRING_SCHEMA, Field, Schema, Type
from runtime.api.errors import DataError
from runtime.converters.json_schema.names import (
    ENUM,
    GENERAL_ENUM,
    GENERAL_UNION,
    INDEX,
    NULL_SYMBOL,
    NUMBERS,
    ONE_OF,
    PARAMETERS,
    TYPE,
    UNION_PREFIX,
    VERSION,
    JsonSchemaOptions,
)
from runtime.converters.json_schema.read import value_reader
from runtime.converters.json_schema.references import SchemaDocuments, SchemaPlace

_NUMBERS = {connect: made for made, (_, connect) in NUMBERS.items()} | {"bytes": Type.BYTES}
_COMBINED = ("allOf", "anyOf", "oneOf")
_OF_TYPES = {
    "object": ("properties", "additionalProperties", "patternProperties", "required", "minProperties", "maxProperties",
               "dependencies"),
    "array": ("items", "minItems", "maxItems", "uniqueItems", "additionalItems"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"),
}  # fmt: skip
"""Keywords that imply a type if the schema does not name one."""


class _Part(NamedTuple):
    """One of the kinds of a schema: `type`, `enum`, `const`, `$ref`, `allOf`, `anyOf`, `oneOf`."""

    kind: str
    document: Mapping[str, Any]
    place: SchemaPlace


class ConnectSchemas:
    """Builds the Connect schema of a JSON schema and the documents that it refers to."""

    def __init__(self, documents: SchemaDocuments, options: JsonSchemaOptions) -> None:
        self._documents, self._options = documents, options
        self._open: list[Any] = []
        self._unions = 0

    def root(self) -> Schema:
        return self._schema(self._documents.root, False)

    def _schema(self, place: SchemaPlace, optional: bool) -> Schema:
        """DataError if Connect cannot express the schema."""
        if any(place.document is other for other in self._open):
            raise DataError("The JSON schema is recursive, which Connect does not support")
        self._open.append(place.document)
        try:
            parts = list(_parts(place))
            if len(parts) > 1:
                return self._all_of(parts, optional)
            if not parts:
                raise DataError(f"The JSON schema {_short(place.document)} has no type, which Connect does not support")
            return self._of(parts[0], optional)
        finally:
            self._open.pop()

    def _of(self, part: _Part, optional: bool) -> Schema:
        place = part.place
        if part.kind == "$ref":
            return self._schema(self._documents.resolve(place), optional)
        if part.kind == "allOf":
            members = self._members(part)
            if len(members) == 1 and self._options.flatten_singletons:
                return self._schema(members[0], False)
            return self._all_of([inner for member in members for inner in _parts(member)], optional)
        if part.kind in ("anyOf", "oneOf"):
            return self._union(part, optional)
        if part.kind in ("enum", "const"):
            symbols = part.document["enum"] if part.kind == "enum" else [part.document["const"]]
            return self._described(self._enum(symbols), part.document, optional)
        return self._described(self._typed(part), part.document, optional)

    @staticmethod
    def _members(part: _Part) -> list[SchemaPlace]:
        """The alternatives of a combined schema; of a list of types, one for each."""
        given = part.document[part.kind]
        return [part.place.at(member) for member in given]

    def _union(self, part: _Part, optional: bool) -> Schema:
        members = self._members(part)
        if len(members) == 1 and self._options.flatten_singletons:
            return self._schema(members[0], False)
        others = [member for member in members if not _is_null(member.document)]
        if len(members) == 2 and len(others) == 1:
            return self._schema(others[0], True)
        name = ONE_OF
        if self._options.general:
            name, self._unions = f"{UNION_PREFIX}{self._unions}", self._unions + 1
        prefix = f"{UNION_PREFIX}field_" if self._options.general else f"{ONE_OF}.field."
        fields = tuple(Field(f"{prefix}{n}", self._schema(member, True)) for n, member in enumerate(others))
        parameters = ((GENERAL_UNION, name),) if self._options.general else ()
        made = Schema(Type.STRUCT, len(others) < len(members), name=name, fields=fields, parameters=parameters)
        return self._described(made, part.document, optional)

    def _enum(self, symbols: list[Any]) -> Schema:
        general = self._options.general
        parameter = GENERAL_ENUM if general else ENUM
        names = [NULL_SYMBOL if symbol is None else _text(symbol) for symbol in symbols]
        own = ((f"{parameter}.{name}", str(n) if general else name) for n, name in enumerate(names))
        return Schema(Type.STRING, parameters=((parameter, ""), *own))

    def _typed(self, part: _Part) -> Schema:
        document, given = part.document, part.document.get(TYPE)
        match _type_of(document):
            case "boolean":
                return Schema(Type.BOOLEAN)
            case "integer" | "number" as kind:
                if given is None:
                    return Schema(Type.INT64 if kind == "integer" else Type.FLOAT64)
                if given not in _NUMBERS:
                    raise DataError(f"Unsupported type {given}")
                return Schema(_NUMBERS[given])
            case "string":
                return Schema(Type.BYTES if given == "bytes" else Type.STRING)
            case "array":
                return self._array(part)
            case "object":
                return self._object(part)
            case other:
                raise DataError(f"Unsupported schema type {other}")

    def _array(self, part: _Part) -> Schema:
        items = part.document.get("items")
        if not isinstance(items, dict):
            raise DataError("Array schema did not specify the items type")
        if part.document.get(TYPE) == "map" and _type_of(items) == "object":
            entry = items["properties"]
            key, value = (self._schema(part.place.at(entry[name]), False) for name in ("key", "value"))
            return Schema(Type.MAP, keys=key, values=value)
        return Schema(Type.ARRAY, values=self._schema(part.place.at(items), False))

    def _object(self, part: _Part) -> Schema:
        document = part.document
        if document.get(TYPE) == "map":
            values = document.get("additionalProperties")
            if not isinstance(values, dict):
                raise DataError("The JSON schema of a map has no additionalProperties")
            return Schema(Type.MAP, keys=STRING_SCHEMA, values=self._schema(part.place.at(values), False))
        properties = document.get("properties") or {}
        by_index: dict[int, str] = {}
        for name in map_order(properties):
            by_index[_index(properties[name], len(by_index))] = name
        required = document.get("required") or ()
        fields = {by_index[n]: part.place.at(properties[by_index[n]]) for n in sorted(by_index)}
        return self._struct(fields, {name: name in required for name in fields})

    def _struct(self, fields: Mapping[str, SchemaPlace], required: Mapping[str, bool]) -> Schema:
        loose = self._options.optional_unless_required
        made = (Field(name, self._schema(place, loose and not required[name])) for name, place in fields.items())
        return Schema(Type.STRUCT, fields=tuple(made))

    def _all_of(self, parts: list[_Part], optional: bool) -> Schema:
        """Objects are merged; of other parts the most specific one counts."""
        properties: dict[str, SchemaPlace] = {}
        required: dict[str, bool] = {}
        for part in parts:
            self._collect(part, properties, required, [])
        if properties:
            return self._struct(properties, required).replace(optional=optional)
        by_kind = {_detailed(part): part for part in parts}
        text, number = by_kind.get("string"), by_kind.get("number")
        combined = [part for part in parts if part.kind in _COMBINED]
        if combined:
            return self._of(combined[-1], optional)
        if "const" in by_kind:
            chosen = text or number
        elif "enum" in by_kind:
            chosen = by_kind["enum"] if text else number
        elif text is not None and "format" in text.document:
            chosen = number or text
        else:
            chosen = by_kind.get("$ref")
        if chosen is None:
            raise DataError("Unsupported criterion allOf: Connect cannot express the JSON schema")
        return self._of(chosen._replace(document=_bare(chosen)), optional)

    def _collect(
        self, part: _Part, properties: dict[str, SchemaPlace], required: dict[str, bool], seen: list[Any]
    ) -> None:
        """The properties of objects in `allOf` and references."""
        if any(part.document is other for other in seen) and part.kind != "type":
            return
        seen.append(part.document)
        if part.kind == "allOf":
            for member in self._members(part):
                for inner in _parts(member):
                    self._collect(inner, properties, required, seen)
        elif part.kind == "$ref":
            for inner in _parts(self._documents.resolve(part.place)):
                self._collect(inner, properties, required, seen)
        elif part.kind == "type" and _type_of(part.document) == "object":
            given = part.document.get("properties") or {}
            for name in map_order(given):
                properties[name] = part.place.at(given[name])
                required[name] = name in (part.document.get("required") or ())

    def _described(self, schema: Schema, document: Mapping[str, Any], optional: bool) -> Schema:
        """With title, description, default and the `connect.*` keywords of its document."""
        made: dict[str, Any] = {}
        if schema.name is None and document.get("title") is not None:
            made["name"] = str(document["title"])
        if document.get(VERSION) is not None:
            made["version"] = int(document[VERSION])
        if document.get("description") is not None:
            made["doc"] = str(document["description"])
        if document.get(PARAMETERS):
            given = {str(key): str(value) for key, value in document[PARAMETERS].items()}
            made["parameters"] = tuple({**dict(schema.parameters), **given}.items())
        schema = schema.replace(**made)
        if document.get("default") is not None:
            schema = schema.replace(default=value_reader(schema)(document["default"]))
        return schema.replace(optional=schema.optional or optional)


def _parts(place: SchemaPlace) -> Iterator[_Part]:
    """The kinds of a schema, as if they were combined by `allOf`."""
    document = place.document
    if "$ref" in document:
        yield _Part("$ref", document, place)
        return
    for kind in _COMBINED:
        if kind in document:
            yield _Part(kind, document, place)
    for kind in ("enum", "const"):
        if kind in document:
            yield _Part(kind, document, place)
    if isinstance(document.get("type"), list):
        types = [{**document, "type": kind} for kind in document["type"]]
        plain = {key: value for key, value in document.items() if key not in _COMBINED}
        yield _Part("anyOf", {**plain, "anyOf": types}, place)
    elif _type_of(document) is not None:
        yield _Part("type", document, place)


def _bare(part: _Part) -> Mapping[str, Any]:
    """The part's own keywords: title, default and so on belong to the schema around it."""
    around = ("title", "description", "default", VERSION, PARAMETERS)
    if part.kind in ("enum", "const") or (part.kind == "type" and part.document is part.place.document):
        several = sum(kind in part.document for kind in (*_COMBINED, "enum", "const", "type")) > 1
        if several:
            return {key: value for key, value in part.document.items() if key not in around}
    return part.document


def _detailed(part: _Part) -> str:
    kind = (_type_of(part.document) or "") if part.kind == "type" else part.kind
    return "number" if kind == "integer" else kind


def _type_of(document: Mapping[str, Any]) -> str | None:
    given = document.get("type")
    if isinstance(given, str):
        return given
    return next((kind for kind, keywords in _OF_TYPES.items() if any(key in document for key in keywords)), None)


def _is_null(document: Any) -> bool:
    return isinstance(document, dict) and document.get("type") == "null"


def _index(document: Any, following: int) -> int:
    given = document.get(INDEX) if isinstance(document, dict) else None
    return following if given is None else int(given)


def _text(symbol: Any) -> str:
    return str(symbol).lower() if isinstance(symbol, bool) else str(symbol)


def _short(document: Any) -> str:
    return str(document)[:80]
