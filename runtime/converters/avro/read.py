"""Conversion of Avro's schemas and values, as fastavro reads them, to Connect's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.api.data.logical import (
    DATE_SCHEMA,
    DECIMAL,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    decimal_of,
    decimal_schema,
    logical_name,
    scale_of,
)
from runtime.api.data.schema import STRING_SCHEMA, Field, Schema, Type
from runtime.api.errors import DataError
from runtime.converters.avro import names
from runtime.converters.avro.defaults import default_value
from runtime.converters.avro.names import Avro, branch_names, is_null, referred, space_of, type_name
from runtime.converters.avro.schema import DECIMAL_TYPE, DEFAULT_PRECISION, ENTRY, NAMESPACE, PRECISION, UNNAMED

ToConnect = Callable[[Any], Any]
_PLAIN = {
    "int": Type.INT32, "long": Type.INT64, "float": Type.FLOAT32, "double": Type.FLOAT64, "boolean": Type.BOOLEAN,
    "string": Type.STRING, "bytes": Type.BYTES,
}  # fmt: skip
_LOGICAL = {
    ("int", "date"): DATE_SCHEMA, ("int", "time-millis"): TIME_SCHEMA, ("long", "timestamp-millis"): TIMESTAMP_SCHEMA,
}  # fmt: skip


def connect_schema(
    document: Avro, referred: Sequence[Avro], meta: bool = True, enhanced: bool = False
) -> tuple[Schema, ToConnect | None]:
    """The Connect schema of an Avro schema, and a function that converts values (None: no conversion needed).

    `referred` holds the schemas that this schema references; `meta`: interpret `connect.*` properties; `enhanced`: as
    for branch_names()."""
    reading = _Reading(meta, enhanced)
    for other in referred:
        reading.of(other, "")
    return reading.of(document, "")


class _Reading:
    def __init__(self, meta: bool, enhanced: bool) -> None:
        self._named: dict[str, tuple[Avro, str]] = {}  # with their enclosing namespace
        self._meta, self._enhanced = meta, enhanced
        self._open: set[str] = set()

    def of(self, document: Avro, space: str) -> tuple[Schema, ToConnect | None]:
        if isinstance(document, list):
            return self._union(document, space)
        if isinstance(document, str):
            return self._by_name(document, space)
        kind = document["type"]
        if isinstance(kind, dict | list):
            return self.of(kind, space)
        if kind in ("record", "error", "enum", "fixed"):
            return self._definition(document, space)
        if kind == "array":
            return self._array(document, space)
        if kind == "map":
            values, convert = self.of(document["values"], space)
            made = self._described(Schema(Type.MAP, keys=STRING_SCHEMA, values=values), document)
            return made, convert and (lambda entries: {key: convert(value) for key, value in entries.items()})
        if kind not in _PLAIN:
            return self._by_name(kind, space)
        if kind == "bytes" and document.get("logicalType") == DECIMAL_TYPE:
            return self._decimal(document)
        return self._simple(document), None

    def _by_name(self, name: str, space: str) -> tuple[Schema, ToConnect | None]:
        if name in _PLAIN:
            return Schema(_PLAIN[name]), None
        known = self._named.get(referred(name, space, self._named))
        if known is None:
            raise DataError(f"The Avro schema refers to the undefined type {name}")
        return self.of(*known)

    def _definition_of(self, document: Avro, space: str) -> tuple[Avro, str]:
        """The definition that a name refers to, with its enclosing namespace; other types as they are."""
        if not isinstance(document, str):
            return document, space
        return self._named.get(referred(document, space, self._named), (document, space))

    def _simple(self, document: Mapping[str, Any]) -> Schema:
        kind = str(document["type"])
        logical = document.get("logicalType")
        made = _LOGICAL.get((kind, str(logical))) or Schema(_PLAIN[kind])
        given = document.get("connect.type")
        if kind == "int" and logical is None and given in ("int8", "int16"):
            made = Schema(Type(given))
        return self._described(made, document)

    def _decimal(self, document: Mapping[str, Any]) -> tuple[Schema, ToConnect]:
        made = decimal_schema(int(document.get("scale") or 0))
        given = {}
        if (precision := int(document.get("precision") or DEFAULT_PRECISION)) != DEFAULT_PRECISION:
            given[PRECISION] = str(precision)
        if document["type"] == "fixed":
            given[names.FIXED_SIZE] = str(document["size"])
        made = self._described(made.replace(parameters=(*made.parameters, *given.items())), document)
        return made, _decimal(made)

    def _definition(self, document: Mapping[str, Any], space: str) -> tuple[Schema, ToConnect | None]:
        full = type_name(document, space)
        self._named[full] = document, space
        space = space_of(document, space)
        if document["type"] == "enum":
            symbols = tuple((f"{names.ENUM}.{symbol}", symbol) for symbol in document["symbols"])
            simple = full.rpartition(".")[2]
            given = (
                (names.ENUM_DOC + simple, document.get("doc")),
                (names.ENUM_DEFAULT + simple, document.get("default")),
            )
            texts = [(key, text) for key, text in given if text is not None and self._meta]
            parameters = (*texts, (names.ENUM, full), *symbols)
            return self._described(Schema(Type.STRING, name=full, parameters=parameters), document), None
        if document["type"] == "fixed":
            if document.get("logicalType") == DECIMAL_TYPE:
                return self._decimal(document)
            sized = Schema(Type.BYTES, name=full, parameters=((names.FIXED_SIZE, str(document["size"])),))
            return self._described(sized, document), None
        if full in self._open:
            raise DataError(f"The Avro schema {full} is recursive, which Connect does not support")
        self._open.add(full)
        try:
            return self._record(document, full, space)
        finally:
            self._open.discard(full)

    def _record(self, document: Mapping[str, Any], full: str, space: str) -> tuple[Schema, ToConnect | None]:
        fields, converts = [], []
        docs = [(names.RECORD_DOC, document.get("doc"))]
        for given in document["fields"]:
            schema, convert = self.of(given["type"], space)
            if given.get("default") is not None and not _is_nullable(given["type"]):
                schema = self._with_field_default(schema, given)
            if self._meta and names.FIELD_PARAMETERS in given:
                schema, convert = _with_parameters(schema, given[names.FIELD_PARAMETERS], convert)
            docs.append((names.FIELD_DOC + given["name"], given.get("doc")))
            fields.append(Field(given["name"], schema))
            if convert is not None:
                converts.append((given["name"], convert))
        name = None if full.startswith(f"{NAMESPACE}.{UNNAMED}") else full
        parameters = tuple((key, text) for key, text in docs if text is not None) if self._meta else ()
        made = Schema(Type.STRUCT, name=name, fields=tuple(fields), parameters=parameters)
        return self._described(made, document), _struct(converts) if converts else None

    def _with_field_default(self, schema: Schema, field: Mapping[str, Any]) -> Schema:
        kind = field["type"]
        if self._meta and not (isinstance(kind, dict) and "connect.default" in kind):
            schema = schema.replace(parameters=(*schema.parameters, (names.FIELD_DEFAULT, "true")))
        return _with_default(schema, field["default"])

    def _array(self, document: Mapping[str, Any], space: str) -> tuple[Schema, ToConnect | None]:
        items = document["items"]
        entry, inside = self._definition_of(items, space)
        if isinstance(entry, dict) and entry.get("type") == "record" and _is_entry(entry, inside):
            self._named[type_name(entry, inside)] = entry, inside
            inside = space_of(entry, inside)
            (key, key_convert), (value, convert) = (self.of(f["type"], inside) for f in entry["fields"])
            made = self._described(Schema(Type.MAP, keys=key, values=value), document)
            return made, _entries(key_convert, convert)
        values, convert = self.of(items, space)
        made = self._described(Schema(Type.ARRAY, values=values), document)
        return made, convert and (lambda items: [convert(value) for value in items])

    def _union(self, branches: list[Avro], space: str) -> tuple[Schema, ToConnect | None]:
        others = [branch for branch in branches if not is_null(branch)]
        optional = len(others) < len(branches)
        if len(others) == 1:
            schema, convert = self.of(others[0], space)
            return schema.replace(optional=optional), convert and (lambda v: None if v is None else convert(v))
        made = [self.of(branch, space) for branch in others]
        labels = branch_names(others, space, self._named, self._enhanced)
        fields = tuple(Field(n, schema.replace(optional=True)) for n, (schema, _) in zip(labels, made, strict=True))
        converts = {n: convert for n, (_, convert) in zip(labels, made, strict=True) if convert is not None}
        return Schema(Type.STRUCT, optional, name=names.UNION, fields=fields), _branches(converts) if converts else None

    def _described(self, schema: Schema, document: Mapping[str, Any]) -> Schema:
        """The schema with the metadata of its `connect.*` properties. The option `connect.meta.data` concerns doc and
        parameters only, as in Confluent's converter."""
        metadata: dict[str, Any] = {}
        if "connect.name" in document:
            metadata["name"] = document["connect.name"]
        if "connect.version" in document:
            metadata["version"] = int(document["connect.version"])
        if self._meta and "connect.doc" in document:
            metadata["doc"] = document["connect.doc"]
        if self._meta and "connect.parameters" in document:
            metadata["parameters"] = tuple({**dict(schema.parameters), **document["connect.parameters"]}.items())
        if properties := [key for key in document if key.startswith(names.AVRO_PROPERTY)]:
            own = dict(metadata.get("parameters", schema.parameters))
            metadata["parameters"] = tuple({**own, **{key: str(document[key]) for key in properties}}.items())
        made = schema.replace(**metadata) if metadata else schema
        default = document.get("connect.default")
        return made if default is None else _with_default(made, default)


def _is_entry(record: Mapping[str, Any], space: str) -> bool:
    """Whether a record holds an entry of a map whose keys are not texts."""
    return type_name(record, space) == f"{NAMESPACE}.{ENTRY}" or record.get("connect.internal.type") == ENTRY


def _is_nullable(document: Avro) -> bool:
    """Whether a field has a union of one type, usually with null. Confluent's converter ignores the default of such a
    field, so that its nulls remain null."""
    return isinstance(document, list) and sum(not is_null(branch) for branch in document) == 1


def _decimal(schema: Schema) -> ToConnect:
    scale = scale_of(schema)
    return lambda data: None if data is None else decimal_of(int.from_bytes(data, "big", signed=True), scale)


def _with_parameters(
    schema: Schema, own: Mapping[str, Any], convert: ToConnect | None
) -> tuple[Schema, ToConnect | None]:
    """The schema of a field that has parameters of its own, such as the scale of a decimal."""
    texts = {key: str(text) for key, text in own.items()}
    made = schema.replace(parameters=tuple({**dict(schema.parameters), **texts}.items()))
    return made, _decimal(made) if logical_name(made) == DECIMAL else convert


def _with_default(schema: Schema, default: Any) -> Schema:
    """The schema with a default in Avro's JSON; without it if the default is invalid."""
    try:
        return schema.replace(default=default_value(schema, default))
    except (DataError, ArithmeticError, AttributeError, KeyError, TypeError, ValueError):
        return schema


def _struct(converts: list[tuple[str, ToConnect]]) -> ToConnect:
    def convert(row: dict[str, Any]) -> dict[str, Any]:
        for name, inner in converts:
            row[name] = inner(row[name])
        return row

    return convert


def _entries(key: ToConnect | None, value: ToConnect | None) -> ToConnect:
    return lambda entries: {
        (e["key"] if key is None else key(e["key"])): (e["value"] if value is None else value(e["value"]))
        for e in entries
    }


def _branches(converts: dict[str, ToConnect]) -> ToConnect:
    """Converts the struct of a union, whose only key is its branch (see UnionCodec)."""

    def convert(row: dict[str, Any] | None) -> dict[str, Any] | None:
        if row is not None:
            for name in row.keys() & converts.keys():
                row[name] = converts[name](row[name])
        return row

    return convert
